// The public classes over the engine.
#include "base/assert.hpp"
#include "engine/core.hpp"
#include "engine/image.hpp"
#include "engine/reader.hpp"
#include "platform/file.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {
namespace {

constexpr int kAdd = static_cast<int>(engine::MessageKind::add);
constexpr int kUpsert = static_cast<int>(engine::MessageKind::upsert);

Result<Receipt> write(engine::Core& core, engine::Message& message) noexcept {
  const Status written = core.write_and_wait(message);
  if (!written.ok()) return written;
  return message.receipt;
}

}  // namespace

Index::Index(std::shared_ptr<engine::Core> core, bool read_only) noexcept
    : core_(std::move(core)), read_only_(read_only) {}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Result<Index> Index::create(const IndexOptions& options) {
  auto core = engine::Core::create(options);
  if (!core.ok()) return core.status();
  return Index(std::move(core).value(), false);
}

Result<Index> Index::from_bytes(std::span<const std::byte> bytes, const OpenOptions& options) {
  auto core = engine::Image::load(bytes, options.memory_bytes_max);
  if (!core.ok()) return core.status();
  return Index(std::move(core).value(), options.read_only);
}

Result<Index> Index::open(const std::string& path, const OpenOptions& options) {
  auto bytes = platform::read_file(path.c_str());
  if (!bytes.ok()) return bytes.status();
  return from_bytes({bytes->data(), bytes->size()}, options);
}

const IndexOptions& Index::options() const noexcept { return core_->options(); }

Result<Receipt> Index::write_rows(int kind, std::span<const std::uint64_t> ids,
                                  std::span<const float> rows) {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  const std::uint64_t dim = core_->options().dim;
  if (rows.size() % dim != 0 || rows.size() / dim != ids.size()) {
    return Status(Code::dimension, rows.size(), ids.size() * dim);
  }
  if (ids.empty()) return Receipt{core_->sequence(), 0};
  auto message = engine::Message::create(core_->quantiser(),
                                         static_cast<engine::MessageKind>(kind), ids.size());
  if (!message.ok()) return message.status();
  std::copy(ids.begin(), ids.end(), (*message)->ids());
  const Status encoded = (*message)->encode(0, rows.data(), ids.size());
  if (!encoded.ok()) return encoded;
  return write(*core_, **message);
}

Result<Receipt> Index::add(std::span<const std::uint64_t> ids, std::span<const float> rows,
                           const WriteOptions&) {
  return write_rows(kAdd, ids, rows);
}

Result<Receipt> Index::upsert(std::span<const std::uint64_t> ids, std::span<const float> rows,
                              const WriteOptions&) {
  return write_rows(kUpsert, ids, rows);
}

Result<Receipt> Index::remove(std::span<const std::uint64_t> ids, const WriteOptions&) {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  if (ids.empty()) return Receipt{core_->sequence(), 0};
  auto message =
      engine::Message::create(core_->quantiser(), engine::MessageKind::remove, ids.size());
  if (!message.ok()) return message.status();
  std::copy(ids.begin(), ids.end(), (*message)->ids());
  return write(*core_, **message);
}

Result<Receipt> Index::clear(const WriteOptions&) {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  auto message = engine::Message::create(core_->quantiser(), engine::MessageKind::clear, 0);
  if (!message.ok()) return message.status();
  return write(*core_, **message);
}

Reader Index::reader() const {
  auto opened = engine::ReaderCore::open(core_);
  if (!opened.ok()) return Reader(nullptr, opened.status());
  return Reader(std::move(opened).value(), Status());
}

Result<std::vector<std::byte>> Index::to_bytes() const {
  auto reader = engine::ReaderCore::open(core_);
  if (!reader.ok()) return reader.status();
  auto image = engine::Image::save(**reader);
  if (!image.ok()) return image.status();
  return std::vector<std::byte>(image->data(), image->data() + image->size());
}

Status Index::save(const std::string& path) const {
  auto reader = engine::ReaderCore::open(core_);
  if (!reader.ok()) return reader.status();
  auto image = engine::Image::save(**reader);
  if (!image.ok()) return image.status();
  return platform::write_file(path.c_str(), {image->data(), image->size()});
}

Result<Stats> Index::stats() const {
  if (core_->closed()) return Status(Code::closed);
  return core_->stats();
}

void Index::close() noexcept { core_->close(); }

Reader::Reader(std::unique_ptr<engine::ReaderCore> core, Status status) noexcept
    : core_(std::move(core)), status_(status) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Status Reader::status() const noexcept {
  if (core_ == nullptr) return status_.ok() ? Status(Code::closed) : status_;
  return core_->core().closed() ? Status(Code::closed) : Status();
}

Result<Hits> Reader::search(std::span<const float> query, const SearchOptions& options) {
  if (core_ == nullptr) return status();
  search::Found found;
  std::uint64_t sequence = 0;
  const Status searched = core_->search(query, options, &found, &sequence);
  if (!searched.ok()) return searched;
  Hits hits(found.ids, found.scores, sequence);
  hits.rows_estimated = found.rows_estimated;
  hits.rows_scored = found.rows_scored;
  return hits;
}

Result<BatchHits> Reader::search_batch(std::span<const float> queries,
                                       const SearchOptions& options) {
  if (core_ == nullptr) return status();
  BatchHits batch;
  const Status searched = core_->search_each(
      queries, options,
      [&](std::size_t, const search::Found& found) {
        batch.ids_.insert(batch.ids_.end(), found.ids.begin(), found.ids.end());
        batch.scores_.insert(batch.scores_.end(), found.scores.begin(), found.scores.end());
        batch.ends_.push_back(batch.ids_.size());
      },
      &batch.sequence_);
  if (!searched.ok()) return searched;
  return batch;
}

bool Reader::has(std::uint64_t id) {
  bool found = false;
  std::uint64_t sequence = 0;
  return core_ != nullptr && core_->has(id, &found, &sequence).ok() && found;
}

Result<std::vector<float>> Reader::get(std::uint64_t id) {
  if (core_ == nullptr) return status();
  std::vector<float> vector(core_->core().options().dim);
  bool found = false;
  std::uint64_t sequence = 0;
  const Status got = core_->get(id, vector.data(), &found, &sequence);
  if (!got.ok()) return got;
  if (!found) return Status(Code::unknown_id, id);
  return vector;
}

std::uint64_t Reader::size() {
  std::uint64_t rows = 0;
  std::uint64_t sequence = 0;
  return core_ != nullptr && core_->count(&rows, &sequence).ok() ? rows : 0;
}

std::uint64_t Reader::sequence() {
  std::uint64_t rows = 0;
  std::uint64_t sequence = 0;
  return core_ != nullptr && core_->count(&rows, &sequence).ok() ? sequence : 0;
}

Reader Reader::snapshot() {
  if (core_ == nullptr) return Reader(nullptr, status());
  auto copy = core_->snapshot();
  if (!copy.ok()) return Reader(nullptr, copy.status());
  return Reader(std::move(copy).value(), Status());
}

}  // namespace vicinal
