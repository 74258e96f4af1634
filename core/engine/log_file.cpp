#include "engine/log_file.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "engine/live_copy.hpp"

namespace vicinal::engine {

using segment::SegmentView;
using segment::Version;
using simd::kBlockRows;

namespace {

constexpr int kSaveTurnsMax = 100;

// What becomes a uuid's second half.
constexpr std::uint64_t kUuidSeed = 0x7669636e616c2e33u;

// Originals have no records yet.
[[nodiscard]] Status check_kind(const IndexOptions& options) noexcept {
  if (options.originals == Originals::none) return {};
  return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::originals));
}

template <class T>
[[nodiscard]] std::uint64_t sum_value(const T& value, std::uint64_t seed) noexcept {
  return checksum64(&value, sizeof value, seed);
}

// Of all that a view's rows are, each array's sum the seed of the next one.
[[nodiscard]] std::uint64_t sum_rows(const SegmentView& view, const quant::CodeLayout& layout,
                                     std::span<std::uint8_t> packed, std::uint64_t seed) noexcept {
  const segment::Segment& segment = *view.segment;
  const std::uint32_t whole = view.rows / kBlockRows;
  std::uint64_t sum = sum_value(view.rows, seed);
  if (view.rows == 0) return sum;
  const std::size_t factor_bytes = view.rows * sizeof(float);
  sum = checksum64(segment.slab(), whole * layout.plane_block_bytes, sum);
  sum = checksum64(segment.rest(0), view.rows * layout.rest_bytes, sum);
  sum = checksum64(segment.scales(), factor_bytes, sum);
  sum = checksum64(segment.plane_scales(), factor_bytes, sum);
  sum = checksum64(segment.plane_cosines2(), factor_bytes, sum);
  sum = checksum64(segment.ids(), view.rows * sizeof(std::uint64_t), sum);
  for (std::uint32_t row = whole * kBlockRows; row < view.rows; ++row) {
    view.copy_packed_row(layout, row, packed.data());
    sum = checksum64(packed.data(), layout.sign_bytes, sum);
  }
  return sum;
}

}  // namespace

Result<std::unique_ptr<LogFileMaker>> LogFileMaker::create(
    platform::File& file, const storage::Uuid& uuid, const IndexOptions& options,
    const quant::CodeLayout& layout, const Version& version,
    LogWriter::Extents extents) noexcept {
  const Status kind = check_kind(options);
  if (!kind.ok()) return kind;
  std::unique_ptr<LogFileMaker> maker(new (std::nothrow) LogFileMaker(file, version, extents));
  if (maker == nullptr) return Status(Code::full, sizeof(LogFileMaker));
  maker->log_.reset(new (std::nothrow) LogWriter(file, layout, {uuid}));
  if (maker->log_ == nullptr) return Status(Code::full, sizeof(LogWriter));
  storage::Superblock superblock;
  superblock.uuid = uuid;
  superblock.dim = options.dim;
  superblock.metric = options.metric;
  superblock.bits = options.bits;
  superblock.originals = options.originals;
  superblock.id_kind = options.ids;
  superblock.seed = options.seed;
  superblock.coded_dim = layout.coded_dim;
  std::byte page[storage::kFilePageBytes];
  storage::write_superblock(page, superblock);
  Status written = file.write_at(0, page);
  // The live page is stored to through a mapping, where a disk without room would be fatal.
  const std::byte zeros[storage::kFilePageBytes] = {};
  if (written.ok()) written = file.write_at(storage::kLivePagePosition, zeros);
  if (!written.ok()) return written;
  return maker;
}

Result<bool> LogFileMaker::advance(std::uint64_t bytes) noexcept {
  const std::uint64_t before = log_->bytes_written();
  while (number_ < version_.segment_end) {
    const std::uint64_t spent = log_->bytes_written() - before;
    if (spent >= bytes) return false;
    const SegmentView* view = version_.view(number_);
    if (view == nullptr) {
      ++number_;
      continue;
    }
    const auto all = log_->write_ahead(*view, version_.sequence, extents_, bytes - spent);
    if (!all.ok()) return all.status();
    if (*all) ++number_;
    const Status synced = sync_now_and_then();
    if (!synced.ok()) return synced;
  }
  // Behind the rows, whose damage was met by now: which of the strings are live, they say.
  const std::uint64_t spent = log_->bytes_written() - before;
  const auto all = log_->write_strings(version_, bytes - std::min(bytes, spent));
  if (!all.ok()) return all.status();
  const Status synced = sync_now_and_then();
  if (!synced.ok()) return synced;
  return *all;
}

Status LogFileMaker::sync_now_and_then() noexcept {  // I2
  if (log_->bytes_written() - synced_ < kSyncBytes) return {};
  synced_ = log_->bytes_written();
  return file_.sync();
}

Status LogFileMaker::finish(const Version& newest) noexcept {
  Status written = log_->append_ids(version_);
  if (!written.ok()) return written;
  directory_ = log_->place().end;
  written = log_->append_directory(version_, extents_);
  if (!written.ok()) return written;
  directory_bytes_ = log_->place().end - directory_;
  if (newest.sequence != version_.sequence) written = log_->append_commit(version_, newest);
  if (written.ok()) written = write_metas(newest);
  return written.ok() ? file_.sync() : written;
}

// Both, so that one may rot.
Status LogFileMaker::write_metas(const Version& newest) noexcept {
  storage::MetaSlot meta;
  meta.sequence = newest.sequence;
  meta.end = log_->place().end;
  meta.directory = directory_;
  meta.rows = newest.live_rows;
  for (meta.turn = 1; meta.turn <= turn(); ++meta.turn) {
    const auto slot = static_cast<std::uint32_t>(meta.turn % storage::kMetaSlots);
    std::byte bytes[storage::kMetaBytes];
    storage::write_meta(bytes, log_->place().uuid, slot, meta);
    const Status written = file_.write_at(storage::meta_position(slot), bytes);
    if (!written.ok()) return written;
  }
  return {};
}

Status write_log_file(platform::File& file, const storage::Uuid& uuid, const IndexOptions& options,
                      const quant::CodeLayout& layout, const Version& version) noexcept {
  auto maker = LogFileMaker::create(file, uuid, options, layout, version,
                                    LogWriter::Extents::cut_to_rows);
  if (!maker.ok()) return maker.status();
  for (bool all = false; !all;) {
    const auto advanced = (*maker)->advance(LogFileMaker::kSyncBytes);
    if (!advanced.ok()) return advanced.status();
    all = *advanced;
  }
  return (*maker)->finish(version);
}

Result<storage::Uuid> uuid_of(const IndexOptions& options, const Version& version) noexcept {
  const quant::CodeLayout layout = quant::CodeLayout::of(options.dim, options.bits);
  auto packed = AlignedBuffer::create(layout.packed_row_bytes);
  if (!packed.ok()) return packed.status();
  const std::uint64_t kind[] = {options.dim, static_cast<std::uint64_t>(options.metric),
                                options.bits, static_cast<std::uint64_t>(options.originals),
                                options.seed, version.sequence};
  std::uint64_t sum = sum_value(kind, 0);
  if (version.calibration != nullptr) {
    sum = checksum64(version.calibration->origin(), options.dim * sizeof(float),
                     sum_value(version.calibration->number, sum));
  }
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    for (std::uint32_t block = 0; block < view->blocks(); ++block) {
      if (view->block_is_sound(block)) continue;
      return Status(Code::corrupt, view->segment->checks()->damage().where());
    }
    sum = sum_rows(*view, layout, {packed->as<std::uint8_t>(), packed->size()},
                   sum_value(number, sum));
  }
  if (version.strings.any()) {
    sum = sum_value(version.strings.end, sum);
    segment::StringCursor cursor(version.strings, 0);
    while (cursor.next()) sum = sum_value(cursor.hash(), sum_value(cursor.ordinal(), sum));
  }
  const std::uint64_t halves[] = {sum, sum_value(sum, kUuidSeed)};
  storage::Uuid uuid;
  static_assert(sizeof halves == sizeof uuid.bytes);
  std::memcpy(uuid.bytes.data(), halves, sizeof halves);
  return uuid;
}

Status busy_with_writer(platform::File& file) noexcept {
  std::uint64_t process = 0;
  (void)file.read_at(storage::kLivePagePosition + storage::kLiveWriter,
                     std::as_writable_bytes(std::span(&process, 1)));
  return Status(Code::busy, process);
}

Status save_version(platform::FileSystem& files, const char* path, const Core& core,
                    const Version& version, bool replaces) noexcept {
  const IndexOptions& options = core.options();
  const quant::CodeLayout& layout = core.quantiser().layout();
  const auto uuid = uuid_of(options, version);
  if (!uuid.ok()) return uuid.status();
  auto temporary = files.create_beside(path);
  if (!temporary.ok()) return temporary.status();
  const Status written = write_log_file(*temporary->file, *uuid, options, layout, version);
  if (written.ok()) {
    return replaces ? files.rename_over(*temporary) : files.rename_new(*temporary);
  }
  files.discard(*temporary);
  return written;
}

namespace {

// With the lock of the file that has the name, until the new one has it. Each further turn follows
// somebody who made or replaced a file there meanwhile.
Status save_locked(platform::FileSystem& files, const char* path, const Core& core,
                   const Version& version) noexcept {
  for (int turn = 0; turn < kSaveTurnsMax; ++turn) {
    const auto before = files.open(path, platform::Access::read);
    if (before.ok()) {
      if ((*before)->lock().code() == Code::busy) return busy_with_writer(**before);
      const auto same = (*before)->is_at(path);
      if (same.ok() && !*same) continue;
    }
    const bool missing = before.code() == Code::io && before.status().a() == ENOENT;
    const Status saved = save_version(files, path, core, version, !missing);
    if (!missing || saved.code() != Code::io || saved.a() != EEXIST) return saved;
  }
  return Status(Code::busy);
}

}  // namespace

Status save_log_file(platform::FileSystem& files, const char* path, ReaderCore& reader) noexcept {
  if (const Status kind = check_kind(reader.core().options()); !kind.ok()) return kind;
  return with_live_rows(reader, [&](const Core& core, const Version& version) {
    return save_locked(files, path, core, version);
  });
}

Status MemoryFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept {
  if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset) {
    return Status(Code::io, EIO);
  }
  if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
  return {};
}

}  // namespace vicinal::engine
