#include "storage/strings_format.hpp"

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "vicinal/types.hpp"

namespace vicinal::storage {
namespace {

struct ListHead {
  std::uint64_t first;
  std::uint32_t count;
  std::uint32_t listed;  // 1: the ordinals are
  std::uint32_t text_bytes;
  std::uint32_t reserved;
};
static_assert(sizeof(ListHead) == 24);

constexpr std::uint64_t list_bytes(std::uint64_t count, bool listed,
                                   std::uint64_t text_bytes) noexcept {
  const std::uint64_t numbers = count * sizeof(std::uint32_t) * (listed ? 2 : 1);
  return round_up(sizeof(ListHead) + numbers + text_bytes, std::uint64_t{kListAlignment});
}

}  // namespace

Result<StringsView> StringsView::parse(std::span<const std::byte> bytes) noexcept {
  ListHead head;
  if (bytes.size() < sizeof head) return Status(Code::corrupt);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.first == 0 || head.first >= kFileOrdinalsMax || head.count == 0 ||
      head.count > kFileStringsMax || head.listed > 1 || head.text_bytes > kFileTextBytesMax ||
      head.reserved != 0) {
    return Status(Code::corrupt);
  }
  const bool listed = head.listed != 0;
  if (bytes.size() != list_bytes(head.count, listed, head.text_bytes)) {
    return Status(Code::corrupt);
  }
  const std::size_t numbers = head.count * sizeof(std::uint32_t);
  StringsView view;
  view.first_ = head.first;
  view.count_ = head.count;
  view.ordinals_ = listed ? bytes.data() + sizeof head : nullptr;
  view.ends_ = bytes.data() + sizeof head + (listed ? numbers : 0);
  view.text_ = view.ends_ + numbers;
  const auto used = static_cast<std::size_t>(view.text_ - bytes.data()) + head.text_bytes;
  if (!view.ascends(head.text_bytes) || !is_zero(bytes.subspan(used))) {
    return Status(Code::corrupt);
  }
  return view;
}

bool StringsView::ascends(std::uint32_t text_bytes) const noexcept {
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const std::uint32_t next = number(ends_, i);
    if (next < end || next - end > kStringBytesMax || next > text_bytes) return false;
    end = next;
    if (ordinals_ == nullptr) continue;
    const std::uint32_t offset = number(ordinals_, i);
    if (i == 0 ? offset != 0 : offset <= number(ordinals_, i - 1)) return false;
  }
  // The list is only there where something is missing in between.
  if (ordinals_ != nullptr && last() - first_ + 1 == count_) return false;
  return end == text_bytes && last() < kFileOrdinalsMax;
}

void StringsWriter::clear() noexcept {
  first_ = last_ = 0;
  count_ = 0;
  ordinals_.clear();
  ends_.clear();
  text_.clear();
}

bool StringsWriter::fits(std::uint64_t ordinal, std::size_t text_bytes) const noexcept {
  if (count_ == 0) return true;
  return count_ < kFileStringsMax && text_.size() + text_bytes <= kFileTextBytesMax &&
         ordinal - first_ <= ~std::uint32_t{0};
}

Status StringsWriter::add(std::uint64_t ordinal, std::string_view text) noexcept {
  VICINAL_ASSERT(fits(ordinal, text.size()) && text.size() <= kStringBytesMax);
  VICINAL_ASSERT(ordinal > last_ && ordinal < kFileOrdinalsMax);
  const std::uint64_t first = count_ == 0 ? ordinal : first_;
  Status room = ordinals_.reserve(sizeof(std::uint32_t));
  if (room.ok()) room = ends_.reserve(sizeof(std::uint32_t));
  if (room.ok()) room = text_.append(text.data(), text.size());
  if (!room.ok()) return room;
  (void)ordinals_.append_value(static_cast<std::uint32_t>(ordinal - first));
  (void)ends_.append_value(static_cast<std::uint32_t>(text_.size()));
  first_ = first;
  last_ = ordinal;
  ++count_;
  return {};
}

std::size_t StringsWriter::bytes() const noexcept {
  return static_cast<std::size_t>(list_bytes(count_, !dense(), text_.size()));
}

Status StringsWriter::append_to(GrowingBuffer& to) const noexcept {
  VICINAL_ASSERT(count_ != 0 && to.size() % kListAlignment == 0);
  const Status room = to.reserve(bytes());
  if (!room.ok()) return room;
  // Nothing of this can fail: the room is there.
  const std::size_t end = to.size() + bytes();
  (void)to.append_value(ListHead{first_, count_, dense() ? 0u : 1u,
                                 static_cast<std::uint32_t>(text_.size()), 0});
  if (!dense()) (void)to.append(ordinals_.data(), ordinals_.size());
  (void)to.append(ends_.data(), ends_.size());
  (void)to.append(text_.data(), text_.size());
  (void)to.append_zeros(end - to.size());
  return {};
}

Result<std::uint64_t> StringsWriter::write_record(GrowingBuffer& to, const Uuid& uuid,
                                                  std::uint64_t position, std::uint64_t sequence,
                                                  std::uint64_t previous) const noexcept {
  to.clear();
  RecordHeader header;
  header.kind = RecordKind::strings;
  header.position = position;
  header.body_bytes = bytes();
  header.bytes = record_bytes(header.body_bytes);
  header.sequence = sequence;
  header.previous = previous;
  const Status room = to.reserve(static_cast<std::size_t>(header.bytes));
  if (!room.ok()) return room;
  (void)to.append_zeros(kRecordHeaderBytes);
  (void)append_to(to);
  const auto body = to.bytes().subspan(kRecordHeaderBytes);
  VICINAL_DEBUG_ASSERT(StringsView::parse(body).ok());
  header.body_sum = checksum64(body.data(), body.size());
  (void)to.pad_to(kRecordAlignment);
  VICINAL_ASSERT(to.size() == header.bytes);
  return write_record_header(
      std::span<std::byte, kRecordHeaderBytes>(to.data(), kRecordHeaderBytes), uuid, header);
}

}  // namespace vicinal::storage
