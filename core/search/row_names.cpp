#include "search/row_names.hpp"

#include <cstring>

#include "search/buffers.hpp"

namespace vicinal::search {

Status name_rows(const segment::Version& version, Scratch& scratch, Found* found) noexcept {
  if (!version.strings.any()) return {};
  Scratch::Buffers& buffers = scratch.buffers();
  const std::size_t count = found->ids.size();
  if (Status status = reserve(buffers.text_offsets, (count + 1) * sizeof(std::uint64_t));
      !status.ok()) {
    return status;
  }
  auto* offsets = buffers.text_offsets.as<std::uint64_t>();
  offsets[0] = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const segment::Strings::Place place = version.strings.find(segment::Handle{found->ids[i]});
    if (place.chunk == nullptr) return Status(Code::corrupt);  // strings.hpp I5
    const std::string_view text = place.chunk->text(place.entry);
    const auto end = static_cast<std::size_t>(offsets[i]) + text.size();
    if (Status status = reserve_keeping(buffers.text, end); !status.ok()) return status;
    if (!text.empty()) {
      std::memcpy(buffers.text.data() + offsets[i], text.data(), text.size());
    }
    offsets[i + 1] = end;
  }
  found->text = buffers.text.as<char>();
  found->text_offsets = offsets;
  return {};
}

Hit place_of(const segment::Version& version, const StringHit& hit) noexcept {
  if (hit.id.data() == nullptr) return {0, hit.score};
  const segment::Slot slot = version.find(segment::StringKey::of(hit.id));
  if (!slot.valid()) return {0, hit.score};
  return {version.view(slot.segment())->segment->ids()[slot.row()], hit.score};
}

}  // namespace vicinal::search
