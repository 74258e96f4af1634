#include "engine/message.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "platform/memory.hpp"

namespace vicinal::engine {
namespace {

constexpr std::uint64_t kAlignment = 64;
// A count above this cannot be one allocation anywhere; it also keeps every size below 2^63.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 40;

struct Parts {
  std::uint64_t ids, replaced, factors, packed_rows, staging, scratch, bytes;

  Parts(const quant::Quantiser& quantiser, bool rows, std::uint64_t count,
        std::uint64_t staging_rows) noexcept {
    const quant::CodeLayout& layout = quantiser.layout();
    std::uint64_t at = round_up(sizeof(Message), kAlignment);
    const auto take = [&at](std::uint64_t bytes_wanted) {
      const std::uint64_t start = at;
      at = round_up(at + bytes_wanted, kAlignment);
      return start;
    };
    ids = take(count * sizeof(std::uint64_t));
    replaced = take(count * sizeof(segment::Slot));
    factors = take(rows ? count * sizeof(quant::RowFactors) : 0);
    packed_rows = take(rows ? count * layout.packed_row_bytes : 0);
    staging = take(rows ? staging_rows * layout.dim * sizeof(float) : 0);
    scratch = take(rows ? quantiser.encode_scratch_bytes() : 0);
    bytes = at;
  }
};

}  // namespace

Result<Message::Owner> Message::create(const quant::Quantiser& quantiser, MessageKind kind,
                                       std::uint64_t count) noexcept {
  const bool rows = kind == MessageKind::add || kind == MessageKind::upsert;
  if (count > kCountMax) return Status(Code::full, count, kCountMax);
  const std::uint64_t row_bytes = quantiser.layout().dim * sizeof(float);
  const std::uint64_t staging_rows =
      std::clamp<std::uint64_t>(kStagingBytes / row_bytes, 1, std::max<std::uint64_t>(count, 1));
  const Parts parts(quantiser, rows, count, staging_rows);
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
  message->ids_ = reinterpret_cast<std::uint64_t*>(memory + parts.ids);
  message->replaced_ = reinterpret_cast<segment::Slot*>(memory + parts.replaced);
  if (rows) {
    message->staging_rows_ = static_cast<std::uint32_t>(staging_rows);
    message->factors_ = reinterpret_cast<quant::RowFactors*>(memory + parts.factors);
    // A row that nobody encodes is a zero vector, never whatever lay here.
    std::uninitialized_fill_n(message->factors_, count, quant::RowFactors{});
    message->packed_rows_ = reinterpret_cast<std::uint8_t*>(memory + parts.packed_rows);
    message->staging_ = reinterpret_cast<float*>(memory + parts.staging);
    message->scratch_ = memory + parts.scratch;
  }
  return Owner(message);
}

void Message::destroy(Message* message) noexcept {
  message->~Message();
  platform::release(message);
}

Status Message::encode(std::uint64_t first, const float* vectors, std::uint64_t rows) noexcept {
  VICINAL_ASSERT(packed_rows_ != nullptr);
  VICINAL_ASSERT(first <= count_ && rows <= count_ - first);
  const quant::CodeLayout& layout = quantiser_->layout();
  for (std::uint64_t i = 0; i < rows; ++i) {
    const float* vector = vectors + i * layout.dim;
    const Status valid = quant::Quantiser::validate(vector, layout.dim, first + i);
    if (!valid.ok()) return valid;
    quantiser_->encode(vector, scratch_, packed_rows_ + (first + i) * layout.packed_row_bytes,
                       factors_ + first + i);
    ++rows_filled_;
  }
  return {};
}

void Message::take_packed(std::uint64_t first, const std::uint8_t* packed_rows,
                          const quant::RowFactors* factors, std::uint64_t rows) noexcept {
  VICINAL_ASSERT(packed_rows_ != nullptr);
  VICINAL_ASSERT(first <= count_ && rows <= count_ - first);
  const std::size_t row_bytes = quantiser_->layout().packed_row_bytes;
  std::copy(packed_rows, packed_rows + rows * row_bytes, packed_rows_ + first * row_bytes);
  std::copy(factors, factors + rows, factors_ + first);
  rows_filled_ += rows;
}

}  // namespace vicinal::engine
