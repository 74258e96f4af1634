#include "support/version_rows.hpp"

#include <cstdint>
#include <vector>

#include "base/bits.hpp"

namespace vicinal::test {
namespace {

void append_hex(std::string& text, std::uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[value >> shift & 15];
  }
}

void append_name(std::string& text, const segment::Version& version, std::uint64_t id) {
  if (!version.strings.any()) return;
  text += " =";
  for (const char byte : version.strings.text(segment::Handle{id})) {
    append_hex(text, static_cast<unsigned char>(byte), 2);
  }
}

}  // namespace

segment::Slot slot_of(const segment::Version& version, std::uint64_t id) {
  if (!version.strings.any()) return version.find(id);
  const segment::Handle handle{id};
  return version.find(segment::StringKey::of(version.strings.text(handle)));
}

std::string rows_of(const segment::Version& version, const quant::CodeLayout& layout) {
  std::string text = "sequence " + std::to_string(version.sequence) + '\n';
  std::vector<std::uint8_t> packed(layout.packed_row_bytes);
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const segment::SegmentView* view = version.view(number);
    for (std::uint32_t row = 0; view != nullptr && row < view->rows; ++row) {
      if (!view->is_live(row)) continue;
      text += std::to_string(segment::Slot::of(number, row).value) + ' ' +
              std::to_string(view->segment->ids()[row]) + ' ';
      const quant::RowFactors factors = view->segment->factors(row);
      for (const float factor : {factors.scale, factors.plane_scale, factors.plane_cosine2}) {
        append_hex(text, bit_cast<std::uint32_t>(factor), 8);
        text += ' ';
      }
      view->copy_packed_row(layout, row, packed.data());
      for (const std::uint8_t byte : packed) append_hex(text, byte, 2);
      append_name(text, version, view->segment->ids()[row]);
      text += '\n';
    }
  }
  return text;
}

}  // namespace vicinal::test
