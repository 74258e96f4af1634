#include "cli/ingest.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "cli/failure.hpp"
#include "cli/id_list.hpp"
#include "cli/interrupt.hpp"
#include "cli/option_checks.hpp"
#include "cli/terminal.hpp"

namespace vicinal::cli {
namespace {

constexpr std::size_t kSliceBytes = std::size_t{4} << 20;
constexpr std::uint64_t kPumpUs = 100'000;

[[nodiscard]] std::size_t slice_rows(std::size_t dim) {
  return std::max<std::size_t>(1, kSliceBytes / (dim * sizeof(float)));
}

// Deals out slices of rows with their ids.
class Slices {
 public:
  Slices(RowReader& rows, const std::string& ids_path, IdKind kind, std::uint64_t first_id)
      : rows_(rows), ids_path_(ids_path), first_id_(first_id) {
    if (!ids_path.empty()) ids_ = read_id_list(ids_path, kind);
  }

  // Rows and ids of the next slice; the number of its first row. False at the end.
  bool next(std::vector<float>& rows, IdList& ids, std::uint64_t& first) {
    check_interrupted();
    const std::size_t rows_max = slice_rows(rows_.dim());
    first = rows_.rows_done();
    const std::size_t count = rows_.read(rows_max, rows);
    if (ids_path_.empty()) {
      number(first, count, ids.numbers);
    } else {
      take(first, count, ids);
    }
    return count > 0;
  }

 private:
  void number(std::uint64_t first, std::size_t count, std::vector<std::uint64_t>& ids) const {
    constexpr std::uint64_t kIdMax = std::numeric_limits<std::uint64_t>::max();
    if (count > 0 && first + count - 1 > kIdMax - first_id_) {
      throw Failure(Code::bad_id, "no ids are left after the largest present one: give --ids");
    }
    ids.resize(count);
    std::iota(ids.begin(), ids.end(), first_id_ + first);
  }

  void take(std::uint64_t first, std::size_t count, IdList& ids) const {
    const std::uint64_t end = first + count;
    if (end > ids_.size() || (count == 0 && end != ids_.size())) {
      throw Failure(Code::bad_option, fmt::format("{} has {} ids, {} has {}{} rows", ids_path_,
                                                  ids_.size(), rows_.name(),
                                                  count == 0 ? "" : "at least ", end));
    }
    ids.assign(ids_, static_cast<std::size_t>(first), count);
  }

  RowReader& rows_;
  const std::string& ids_path_;
  std::uint64_t first_id_;
  IdList ids_;
};

// One run: threads that take a slice, encode it, and submit it when its turn comes.
class Pipeline {
 public:
  Pipeline(Slices& slices, Index& index, const std::string& name,
           std::optional<std::uint64_t> rows_total)
      : slices_(slices), index_(index), name_(name), progress_("rows", rows_total) {}

  std::uint64_t run(unsigned threads) {
    {
      std::vector<std::jthread> helpers;
      for (unsigned i = 1; i < threads; ++i) helpers.emplace_back([this] { work(); });
      work();
    }
    if (error_) std::rethrow_exception(error_);
    return rows_done_;
  }

 private:
  struct Slice {
    std::vector<float> rows;
    IdList ids;
    std::uint64_t first = 0;
  };

  void work() {
    WriteQueue queue = index_.write_queue();
    Slice slice;
    while (step(queue, slice)) {}
  }

  // False when there is nothing left to do. A failure of any part waits for its turn as well, so
  // that the first one in the order of the file is the one reported.
  bool step(WriteQueue& queue, Slice& slice) {
    std::uint64_t turn = 0;
    std::optional<PendingWrite> write;
    std::exception_ptr error;
    try {
      if (!take(slice, turn)) return false;
    } catch (...) {
      error = std::current_exception();
    }
    try {
      if (!error && slice.ids.size() != 0) write = encode(queue, slice);
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock lock(turn_mutex_);
    turn_came_.wait(lock, [&] { return turn_ == turn; });
    try {
      if (write && !error && !error_) commit(queue, *write);
    } catch (...) {
      error = std::current_exception();
    }
    if (error && !error_) error_ = error;
    ++turn_;
    turn_came_.notify_all();
    return !error_;
  }

  bool take(Slice& slice, std::uint64_t& turn) {
    const std::scoped_lock lock(slices_mutex_);
    if (ended_) return false;
    turn = next_turn_++;
    try {
      ended_ = !slices_.next(slice.rows, slice.ids, slice.first);
    } catch (...) {
      ended_ = true;
      throw;
    }
    return true;
  }

  PendingWrite encode(WriteQueue& queue, const Slice& slice) const {
    std::uint64_t text_bytes = 0;
    for (const std::string& text : slice.ids.texts) text_bytes += text.size();
    PendingWrite write =
        require(name_, queue.make(WriteKind::add, slice.ids.size(), text_bytes));
    std::copy(slice.ids.numbers.begin(), slice.ids.numbers.end(), write.ids().begin());
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < slice.ids.texts.size(); ++i) {
      const std::string& text = slice.ids.texts[i];
      std::copy(text.begin(), text.end(), write.text().begin() + end);
      write.string_ends()[i] = end += static_cast<std::uint32_t>(text.size());
    }
    const Status encoded = write.encode(0, slice.rows);
    if (encoded.code() == Code::not_finite) {
      throw status_failure(name_, Status(encoded.code(), slice.first + encoded.a(), encoded.b()));
    }
    require(name_, encoded);
    return write;
  }

  void commit(WriteQueue& queue, PendingWrite& write) {
    check_interrupted();
    require(name_, queue.submit(write));
    while (!write.done()) (void)index_.pump(kPumpUs);
    const Receipt receipt = require(name_, write.result());
    rows_done_ += receipt.count;
    progress_.show(rows_done_);
  }

  Slices& slices_;
  Index& index_;
  const std::string& name_;

  std::mutex slices_mutex_;
  bool ended_ = false;           // under slices_mutex_
  std::uint64_t next_turn_ = 0;  // under slices_mutex_

  std::mutex turn_mutex_;
  std::condition_variable turn_came_;
  std::uint64_t turn_ = 0;       // this and what follows: under turn_mutex_
  std::exception_ptr error_;
  std::uint64_t rows_done_ = 0;
  Progress progress_;
};

}  // namespace

void Ingest::attach(CLI::App& parser) {
  threads = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
  parser.add_option("--input", input, "Vectors: fvecs, f16vecs, bvecs or npy; - reads a pipe")
      ->required()
      ->type_name("FILE");
  add_format(parser, "--input", format);
  parser.add_option("--ids", ids,
                    "Ids of the rows: decimal lines or a .u64 file; strings: lines or .nul")
      ->type_name("FILE");
  parser.add_option("--threads", threads, "Threads; the result is the same for any number")
      ->check(CLI::Range(1u, kThreadsMax).description("1 to 64"))
      ->capture_default_str();
}

void Ingest::calibrate(Index& index) const {
  // What the library uses of a longer sample as well.
  constexpr std::uint64_t kSampleRows = 1024;
  RowReader rows(input, checked_format());
  const std::size_t dim = rows.dim();
  if (!rows.rows_total()) {
    throw usage_failure("--calibrate reads the input twice: it cannot be a pipe");
  }
  const std::uint64_t total = *rows.rows_total();
  const std::uint64_t kept = std::min(total, kSampleRows);
  std::vector<float> sample;
  std::vector<float> slice;
  std::uint64_t taken = 0;
  for (std::uint64_t first = 0; rows.read(slice_rows(dim), slice) > 0; first = rows.rows_done()) {
    check_interrupted();
    for (; taken < kept && taken * total / kept < rows.rows_done(); ++taken) {
      const auto row = static_cast<std::ptrdiff_t>((taken * total / kept - first) * dim);
      sample.insert(sample.end(), slice.begin() + row,
                    slice.begin() + row + static_cast<std::ptrdiff_t>(dim));
    }
  }
  (void)require(rows.name(), index.calibrate(sample));
}

Format Ingest::checked_format() const {
  if (input == "-" && ids == "-") {
    throw usage_failure("--input and --ids cannot both be standard input");
  }
  return vector_format(input, format);
}

std::uint64_t Ingest::run(RowReader& rows, Index& index, std::uint64_t first_id) const {
  const IdKind kind = index.options().ids;
  if (kind == IdKind::string && ids.empty()) {
    throw usage_failure("ids that are strings come from a file: give --ids");
  }
  Slices slices(rows, ids, kind, first_id);
  Pipeline pipeline(slices, index, rows.name(), rows.rows_total());
  return pipeline.run(threads);
}

}  // namespace vicinal::cli
