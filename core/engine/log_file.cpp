#include "engine/log_file.hpp"

#include <cerrno>
#include <cstring>

namespace vicinal::engine {

Status write_log_file(platform::File& file, const IndexOptions& options,
                      const quant::CodeLayout& layout, const segment::Version& version) noexcept {
  if (options.ids != IdKind::number) {
    return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::ids));
  }
  storage::Superblock superblock;
  platform::draw_random(superblock.uuid.bytes);
  superblock.dim = options.dim;
  superblock.metric = options.metric;
  superblock.bits = options.bits;
  superblock.originals = options.originals;
  superblock.seed = options.seed;
  superblock.coded_dim = layout.coded_dim;
  std::byte page[storage::kFilePageBytes];
  storage::write_superblock(page, superblock);
  Status written = file.write_at(0, page);
  if (!written.ok()) return written;
  LogWriter log(file, layout, {superblock.uuid});
  written = log.append_directory(version, LogWriter::Extents::cut_to_rows);
  if (!written.ok()) return written;
  storage::MetaSlot meta;
  meta.sequence = version.sequence;
  meta.end = log.place().end;
  meta.directory = log.record();
  meta.rows = version.live_rows;
  // Both, so that one may rot.
  for (meta.turn = 1; written.ok() && meta.turn <= storage::kMetaSlots; ++meta.turn) {
    const auto slot = static_cast<std::uint32_t>(meta.turn % storage::kMetaSlots);
    std::byte bytes[storage::kMetaBytes];
    storage::write_meta(bytes, superblock.uuid, slot, meta);
    written = file.write_at(storage::meta_position(slot), bytes);
  }
  return written.ok() ? file.sync() : written;
}

Status MemoryFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept {
  if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset) {
    return Status(Code::io, EIO);
  }
  if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
  return {};
}

}  // namespace vicinal::engine
