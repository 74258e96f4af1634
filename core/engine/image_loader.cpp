#include "engine/image_loader.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "engine/opener.hpp"
#include "quant/calibration.hpp"
#include "quant/factor_limits.hpp"
#include "quant/original_row.hpp"

namespace vicinal::engine {
namespace {

// Room for another size; FULL. What was in there is gone.
Status make_room(AlignedBuffer& buffer, std::uint64_t bytes) noexcept {
  auto made = AlignedBuffer::create(static_cast<std::size_t>(bytes));
  if (made.ok()) buffer = std::move(made).value();
  return made.status();
}

}  // namespace

Result<std::unique_ptr<ImageLoader>> ImageLoader::create(std::uint64_t memory_bytes_max) noexcept {
  auto checksum = ChecksumStream::create();
  if (!checksum.ok()) return checksum.status();
  std::unique_ptr<ImageLoader> loader(
      new (std::nothrow) ImageLoader(memory_bytes_max, std::move(checksum).value()));
  if (loader == nullptr) return Status(Code::full, sizeof(ImageLoader));
  return loader;
}

ImageLoader::~ImageLoader() {
  // One by one: a chain of destructors would need stack for each.
  while (first_ != nullptr) delete std::exchange(first_, first_->next);
}

std::uint64_t ImageLoader::bytes() const noexcept {
  const std::uint64_t payload = header_.payload_bytes;
  return payload == 0 ? 0 : storage::kImageHeaderBytes + payload;
}

std::uint64_t ImageLoader::row_bytes() const noexcept {
  const quant::CodeLayout& layout = core_->quantiser().layout();
  return layout.packed_row_bytes +
         quant::original_row_bytes(core_->options().originals, layout.dim);
}

// CORRUPT for what no row as it was given can be.
Status ImageLoader::check_originals(std::uint64_t rows) const noexcept {
  const Originals kind = core_->options().originals;
  if (kind == Originals::none) return {};
  const quant::CodeLayout& layout = core_->quantiser().layout();
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto* row = rows_.as<std::uint8_t>() + i * row_bytes();
    if (!quant::is_original(kind, row + layout.packed_row_bytes, layout.dim)) {
      return Status(Code::corrupt);
    }
  }
  return {};
}

Status ImageLoader::take(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty() && failed_.ok()) {
    if (stage_ == Stage::log) {
      failed_ = log_.append(bytes.data(), bytes.size());
      break;
    }
    if (stage_ == Stage::done) {
      failed_ = Status(Code::corrupt);  // longer than it says
      break;
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), target_bytes_ - filled_));
    if (stage_ != Stage::skipped) std::memcpy(target_ + filled_, bytes.data(), count);
    if (stage_ != Stage::header) checksum_.update(bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ == target_bytes_) failed_ = advance();
  }
  return failed_;
}

Result<std::shared_ptr<Core>> ImageLoader::finish() noexcept {
  if (failed_.ok() && stage_ == Stage::log) {
    auto core = Opener::load(log_.bytes(), memory_bytes_max_);
    log_.release();
    failed_ = core.status();
    return core;
  }
  if (failed_.ok() && stage_ != Stage::done) failed_ = Status(Code::corrupt);
  if (!failed_.ok()) return failed_;
  return std::move(core_);
}

Status ImageLoader::advance() noexcept {
  switch (stage_) {
    case Stage::header: return take_header();
    case Stage::head: return take_head();
    case Stage::origin: return take_origin();
    case Stage::ids: return take_ids();
    case Stage::factors: return take_factors();
    case Stage::rows: return take_rows();
    case Stage::skipped:
    case Stage::log:
    case Stage::done: break;
  }
  return end();
}

void ImageLoader::want(Stage stage, void* target, std::uint64_t bytes) noexcept {
  VICINAL_ASSERT(bytes > 0);
  stage_ = stage;
  target_ = static_cast<std::byte*>(target);
  target_bytes_ = bytes;
  filled_ = 0;
}

Status ImageLoader::take_header() noexcept {
  const auto version = storage::read_file_version(header_bytes_);
  if (version.code() == Code::version) return version.status();
  if (storage::is_log(header_bytes_)) {
    stage_ = Stage::log;
    return log_.append(header_bytes_, sizeof header_bytes_);
  }
  const auto header = storage::read_header(header_bytes_);
  if (!header.ok()) return header.status();
  header_ = *header;
  if (header_.payload_bytes < sizeof head_) return Status(Code::corrupt);
  // Every byte of a payload but its head is a byte of the index at least.
  if (memory_bytes_max_ != 0 && header_.payload_bytes - sizeof head_ > memory_bytes_max_) {
    return Status(Code::full, header_.payload_bytes, memory_bytes_max_);
  }
  want(Stage::head, &head_, sizeof head_);
  return {};
}

Status ImageLoader::take_head() noexcept {
  if (head_.reserved8 != 0 || head_.reserved[0] != 0 || head_.reserved[1] != 0) {
    return Status(Code::corrupt);
  }
  IndexOptions options;
  options.dim = head_.dim;
  options.metric = static_cast<Metric>(head_.metric);
  options.bits = head_.bits;
  options.originals = static_cast<Originals>(head_.originals);
  options.seed = head_.seed;
  options.memory_bytes_max = memory_bytes_max_;
  const std::uint64_t left = header_.payload_bytes - sizeof head_;
  auto core = Core::create(options);
  if (core.code() == Code::unsupported && left > 0) {  // I3
    told_at_end_ = core.status();
    want(Stage::skipped, nullptr, left);
    return {};
  }
  if (!core.ok()) return core.code() == Code::bad_option ? Status(Code::corrupt) : core.status();
  core_ = std::move(core).value();
  // Before any size is computed from it, the count is bounded by what the payload can hold.
  if (head_.rows > left / (row_bytes() + sizeof(std::uint64_t) + sizeof(quant::RowFactors))) {
    return Status(Code::corrupt);
  }
  const bool calibrated = header_.version > storage::kImageVersionPlain;
  at_ = ImageLayout(calibrated ? options.dim * sizeof(float) : 0, head_.rows, row_bytes());
  if (at_.bytes != header_.payload_bytes) return Status(Code::corrupt);
  part_rows_ = std::max<std::uint64_t>(1, kPartBytes / (row_bytes() + sizeof(std::uint64_t)));
  if (!calibrated) return want_ids();
  // An ip index has none: told before a message for it is refused.
  if (options.metric == Metric::ip) return Status(Code::corrupt);
  const Status room = make_room(origin_, at_.ids - at_.origin);
  if (room.ok()) want(Stage::origin, origin_.data(), origin_.size());
  return room;
}

// CORRUPT unless it is an origin.
Status ImageLoader::take_origin() noexcept {
  const quant::Quantiser& quantiser = core_->quantiser();
  const std::uint32_t dim = quantiser.layout().dim;
  const auto* origin = origin_.as<float>();
  if (!quant::is_origin(origin, dim, quantiser.metric())) return Status(Code::corrupt);
  const std::byte* padding = origin_.data() + dim * sizeof(float);
  if (std::any_of(padding, static_cast<const std::byte*>(origin_.data() + origin_.size()),
                  [](std::byte byte) { return byte != std::byte{0}; })) {
    return Status(Code::corrupt);
  }
  auto message = core_->make_message(MessageKind::calibrate, quant::kSampleRowsMin);
  if (!message.ok()) return message.status();
  (*message)->take_origin(origin);
  const Status written = core_->write_and_wait(**message);
  return written.ok() ? want_ids() : written;
}

Status ImageLoader::want_ids() noexcept {
  if (rows_named_ == head_.rows) return first_ == nullptr ? end() : want_factors(first_);
  auto* part = new (std::nothrow) Part;
  if (part == nullptr) return Status(Code::full, sizeof(Part));
  (last_ == nullptr ? first_ : last_->next) = part;
  last_ = part;
  part->rows = std::min(part_rows_, head_.rows - rows_named_);
  const Status room = make_room(part->ids, part->rows * sizeof(std::uint64_t));
  if (room.ok()) want(Stage::ids, part->ids.data(), part->ids.size());
  return room;
}

Status ImageLoader::take_ids() noexcept {
  const auto* ids = last_->ids.as<std::uint64_t>();
  for (std::uint64_t i = 0; i < last_->rows; ++i) largest_id_ = std::max(largest_id_, ids[i]);
  rows_named_ += last_->rows;
  return want_ids();
}

Status ImageLoader::want_factors(Part* part) noexcept {
  part_ = part;
  if (part == nullptr) {
    const Status room = make_room(rows_, first_->rows * row_bytes());
    return room.ok() ? want_rows() : room;
  }
  const Status room = make_room(part->factors, part->rows * sizeof(quant::RowFactors));
  if (room.ok()) want(Stage::factors, part->factors.data(), part->factors.size());
  return room;
}

Status ImageLoader::take_factors() noexcept {
  const quant::FactorLimits limits(core_->quantiser().layout().coded_dim,
                                   header_.version > storage::kImageVersionPlain,
                                   core_->options().metric);
  const auto* factors = part_->factors.as<quant::RowFactors>();
  for (std::uint64_t row = 0; row < part_->rows; ++row) {
    if (!limits.hold_for(factors[row])) return Status(Code::corrupt);
  }
  return want_factors(part_->next);
}

Status ImageLoader::want_rows() noexcept {
  if (first_ == nullptr) return end();
  want(Stage::rows, rows_.data(), first_->rows * row_bytes());
  return {};
}

Status ImageLoader::take_rows() noexcept {
  Part& part = *first_;
  if (const Status originals = check_originals(part.rows); !originals.ok()) return originals;
  auto message = core_->make_message(MessageKind::add, part.rows);
  if (!message.ok()) return message.status();
  std::memcpy((*message)->ids(), part.ids.data(), part.ids.size());
  (*message)->take_packed(0, rows_.as<std::uint8_t>(), part.factors.as<quant::RowFactors>(),
                          part.rows);
  const Status added = core_->write_and_wait(**message);
  if (!added.ok()) return added.code() == Code::duplicate_id ? Status(Code::corrupt) : added;
  delete std::exchange(first_, part.next);
  return want_rows();
}

Status ImageLoader::end() noexcept {
  if (checksum_.sum() != header_.payload_checksum) return Status(Code::corrupt);
  stage_ = Stage::done;
  return told_at_end_;
}

}  // namespace vicinal::engine
