#include "engine/message.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "engine/in_hand.hpp"
#include "platform/memory.hpp"
#include "quant/calibration.hpp"
#include "quant/original_row.hpp"

namespace vicinal::engine {
namespace {

constexpr std::uint64_t kAlignment = 64;
// A count above this cannot be one allocation anywhere; it also keeps every size below 2^63.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 40;
// The ends of strings are numbers of 32 bits.
constexpr std::uint64_t kTextBytesMax = 0xffffffffu;

// What a message of a kind carries.
struct Contents {
  bool rows;        // packed rows
  bool sample;
  bool staged;      // vectors come through a staging area

  explicit Contents(MessageKind kind) noexcept
      : rows(kind == MessageKind::add || kind == MessageKind::upsert),
        sample(kind == MessageKind::calibrate),
        staged(rows || sample) {}
};

struct Parts {
  std::uint64_t ids, string_ends, text, replaced, factors, packed_rows, originals;
  std::uint64_t staging, origin, sample, column, scratch, bytes;

  Parts(const quant::Quantiser& quantiser, Contents has, bool with_origin, std::uint64_t count,
        std::uint64_t staging_rows, std::uint64_t sample_rows,
        const MessageCargo& cargo) noexcept {
    const quant::CodeLayout& layout = quantiser.layout();
    const std::uint64_t vector_bytes = layout.dim * sizeof(float);
    const std::uint64_t id_count = has.sample ? 0 : count;
    std::uint64_t at = round_up(sizeof(Message), kAlignment);
    const auto take = [&at](std::uint64_t bytes_wanted) {
      const std::uint64_t start = at;
      at = round_up(at + bytes_wanted, kAlignment);
      return start;
    };
    const bool strings = cargo.ids == IdKind::string;
    ids = take(strings ? 0 : id_count * sizeof(std::uint64_t));
    string_ends = take(strings ? id_count * sizeof(std::uint32_t) : 0);
    text = take(strings ? cargo.text_bytes : 0);
    replaced = take(id_count * sizeof(segment::Slot));
    factors = take(has.rows ? count * sizeof(quant::RowFactors) : 0);
    packed_rows = take(has.rows ? count * layout.packed_row_bytes : 0);
    originals =
        take(has.rows ? count * quant::original_row_bytes(cargo.originals, layout.dim) : 0);
    staging = take(has.staged ? staging_rows * vector_bytes : 0);
    origin = take(with_origin ? vector_bytes : 0);
    sample = take(sample_rows * vector_bytes);
    column = take(sample_rows * sizeof(float));
    scratch = take(has.rows ? quantiser.encode_scratch_bytes() : 0);
    bytes = at;
  }
};

Status check_sample(const quant::Quantiser& quantiser, std::uint64_t rows) noexcept {
  if (quantiser.metric() == Metric::ip) {
    return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::metric));
  }
  if (rows >= quant::kSampleRowsMin) return {};
  return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::sample));
}

}  // namespace

Result<Message::Owner> Message::create(const quant::Quantiser& quantiser, MessageKind kind,
                                       std::uint64_t count,
                                       const segment::Calibration* calibration,
                                       const MessageCargo& cargo) noexcept {
  const Contents has(kind);
  if (count > kCountMax) return Status(Code::full, count, kCountMax);
  if (cargo.text_bytes > kTextBytesMax) {
    return Status(Code::full, cargo.text_bytes, kTextBytesMax);
  }
  if (has.sample) {
    if (Status status = check_sample(quantiser, count); !status.ok()) return status;
  }
  const std::uint32_t dim = quantiser.layout().dim;
  const std::uint64_t staging_rows = std::clamp<std::uint64_t>(
      kStagingBytes / (dim * sizeof(float)), 1, std::max<std::uint64_t>(count, 1));
  const std::uint64_t sample_rows = has.sample ? quant::sample_rows_kept(dim, count) : 0;
  const bool measured = has.rows && calibration != nullptr;
  const Parts parts(quantiser, has, measured || has.sample, count, staging_rows, sample_rows,
                    cargo);
  auto* memory = parts.bytes <= static_cast<std::size_t>(-1) / 2
                     ? static_cast<std::byte*>(
                           platform::allocate(static_cast<std::size_t>(parts.bytes)))
                     : nullptr;
  if (memory == nullptr) return Status(Code::full, parts.bytes);
  auto* message = new (memory) Message;
  message->quantiser_ = &quantiser;
  message->kind_ = kind;
  message->count_ = count;
  message->bytes_ = parts.bytes;
  if (cargo.ids == IdKind::number) {
    message->ids_ = reinterpret_cast<std::uint64_t*>(memory + parts.ids);
  }
  if (cargo.ids == IdKind::string && (has.rows || kind == MessageKind::remove)) {
    message->string_ends_ = reinterpret_cast<std::uint32_t*>(memory + parts.string_ends);
    std::uninitialized_fill_n(message->string_ends_, count, 0u);
    message->text_ = reinterpret_cast<char*>(memory + parts.text);
    message->text_bytes_ = cargo.text_bytes;
  }
  message->replaced_ = reinterpret_cast<segment::Slot*>(memory + parts.replaced);
  if (has.staged) {
    message->staging_rows_ = static_cast<std::uint32_t>(staging_rows);
    message->staging_ = reinterpret_cast<float*>(memory + parts.staging);
  }
  if (has.rows) {
    message->packed_rows_ = reinterpret_cast<std::uint8_t*>(memory + parts.packed_rows);
    message->scratch_ = memory + parts.scratch;
    message->blank_rows(memory + parts.factors, memory + parts.originals, cargo.originals);
  }
  if (has.sample) {
    message->sample_rows_ = sample_rows;
    message->sample_ = reinterpret_cast<float*>(memory + parts.sample);
    std::uninitialized_fill_n(message->sample_, sample_rows * dim, 0.0f);
    message->column_ = reinterpret_cast<float*>(memory + parts.column);
  }
  if (has.sample || measured) message->origin_ = reinterpret_cast<float*>(memory + parts.origin);
  if (measured) {
    message->calibration_ = calibration->number;
    std::copy(calibration->origin(), calibration->origin() + dim, message->origin_);
  }
  return Owner(message);
}

// A row that nobody encodes is a zero vector, never whatever lay here.
void Message::blank_rows(std::byte* factors, std::byte* originals, Originals kind) noexcept {
  factors_ = reinterpret_cast<quant::RowFactors*>(factors);
  std::uninitialized_fill_n(factors_, count_, quant::RowFactors{});
  if (kind == Originals::none) return;
  original_kind_ = kind;
  original_bytes_ = quant::original_row_bytes(kind, dim());
  originals_ = reinterpret_cast<std::uint8_t*>(originals);
  std::uninitialized_fill_n(originals_, count_ * original_bytes_, std::uint8_t{0});
}

void Message::destroy(Message* message) noexcept {
  if (message->hand == nullptr || message->hand->let_go(*message)) free_memory(message);
}

void Message::free_memory(Message* message) noexcept {
  message->~Message();
  platform::release(message);
}

void Message::take_strings(std::span<const std::string_view> strings) noexcept {
  VICINAL_ASSERT(strings.size() == string_count());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    VICINAL_ASSERT(strings[i].size() <= text_bytes_ - end);
    std::copy(strings[i].begin(), strings[i].end(), text_ + end);
    end += strings[i].size();
    string_ends_[i] = static_cast<std::uint32_t>(end);
  }
}

Status Message::check_strings() const noexcept {
  std::uint32_t begin = 0;
  for (std::uint64_t i = 0; i < string_count(); ++i) {
    const std::uint32_t end = string_ends_[i];
    if (end < begin || end > text_bytes_ || end - begin > kStringBytesMax) {
      return Status(Code::bad_id, i, static_cast<std::uint64_t>(BadId::too_long));
    }
    begin = end;
  }
  return {};
}

Status Message::encode(std::uint64_t first, const float* vectors, std::uint64_t rows) noexcept {
  VICINAL_ASSERT(staging_ != nullptr);
  VICINAL_ASSERT(first <= count_ && rows <= count_ - first);
  const quant::CodeLayout& layout = quantiser_->layout();
  for (std::uint64_t i = 0; i < rows; ++i) {
    const float* vector = vectors + i * layout.dim;
    Status taken;
    if (kind_ == MessageKind::calibrate) {
      taken = quant::Quantiser::validate(vector, layout.dim, first + i);
      if (taken.ok()) keep(first + i, vector);
    } else {
      taken = encode_row(first + i, vector, scratch_);
    }
    if (!taken.ok()) return taken;
    ++rows_filled_;
  }
  return {};
}

Status Message::encode_apart(std::uint64_t first, const float* vectors, std::uint64_t rows,
                             std::byte* scratch) const noexcept {
  VICINAL_ASSERT(packed_rows_ != nullptr);
  VICINAL_ASSERT(first <= count_ && rows <= count_ - first);
  const quant::CodeLayout& layout = quantiser_->layout();
  for (std::uint64_t i = 0; i < rows; ++i) {
    const Status taken = encode_row(first + i, vectors + i * layout.dim, scratch);
    if (!taken.ok()) return taken;
  }
  return {};
}

Status Message::encode_row(std::uint64_t row, const float* vector,
                           std::byte* scratch) const noexcept {
  const quant::CodeLayout& layout = quantiser_->layout();
  Status valid = quant::Quantiser::validate(vector, layout.dim, row);
  if (valid.ok()) valid = quant::validate_original(original_kind_, vector, layout.dim, row);
  if (!valid.ok()) return valid;
  quantiser_->encode(vector, scratch, packed_rows_ + row * layout.packed_row_bytes,
                     factors_ + row, origin_);
  if (originals_ != nullptr) {  // I5
    quant::store_original(original_kind_, vector, layout.dim, originals_ + row * original_bytes_);
  }
  return {};
}

void Message::keep(std::uint64_t row, const float* vector) noexcept {
  const std::uint64_t place = quant::sample_place(row, count_, sample_rows_);
  if (place == sample_rows_) return;
  const std::uint32_t dim = quantiser_->layout().dim;
  quant::keep_sample_row(vector, dim, quantiser_->metric(), sample_ + place * dim);
}

void Message::take_origin(const float* origin) noexcept {
  VICINAL_ASSERT(kind_ == MessageKind::calibrate);
  std::copy(origin, origin + quantiser_->layout().dim, origin_);
  sample_rows_ = 0;
  rows_filled_ = count_;
}

const float* Message::fit() noexcept {
  VICINAL_ASSERT(kind_ == MessageKind::calibrate && rows_filled_ >= count_);
  if (sample_rows_ != 0) {
    quant::fit_origin(sample_, sample_rows_, quantiser_->layout().dim, column_, origin_);
  }
  return origin_;
}

void Message::take_packed(std::uint64_t first, const std::uint8_t* packed_rows,
                          const quant::RowFactors* factors, std::uint64_t rows) noexcept {
  VICINAL_ASSERT(packed_rows_ != nullptr);
  VICINAL_ASSERT(first <= count_ && rows <= count_ - first);
  const std::size_t row_bytes = quantiser_->layout().packed_row_bytes;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint8_t* row = packed_rows + i * (row_bytes + original_bytes_);
    std::copy(row, row + row_bytes, packed_rows_ + (first + i) * row_bytes);
    std::copy(row + row_bytes, row + row_bytes + original_bytes_,
              originals_ + (first + i) * original_bytes_);
  }
  std::copy(factors, factors + rows, factors_ + first);
  rows_filled_ += rows;
}

}  // namespace vicinal::engine
