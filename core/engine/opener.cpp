#include "engine/opener.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/bits.hpp"
#include "engine/image.hpp"
#include "engine/journal.hpp"
#include "engine/log_file.hpp"
#include "quant/factor_limits.hpp"
#include "segment/segment_checks.hpp"
#include "segment/slab.hpp"

namespace vicinal::engine {

using platform::Access;
using platform::File;
using platform::FileSystem;
using simd::kBlockRows;

namespace {

// Each further turn follows a rewriting that came in between.
constexpr int kLockTurnsMax = 100;

[[nodiscard]] bool is_missing(const Status& status) noexcept {
  return status.code() == Code::io && status.a() == ENOENT;
}

Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

// I2.
struct MappedExtent : segment::MemoryOwner {
  void* memory = nullptr;
  std::size_t bytes = 0;

  static void end(segment::MemoryOwner* owner) noexcept {
    auto* mapped = static_cast<MappedExtent*>(owner);
    platform::unmap_file(mapped->memory, mapped->bytes);
    delete mapped;
  }
};

[[nodiscard]] Result<std::uint32_t> version_of(File& file) noexcept {
  const auto bytes = file.size();
  if (!bytes.ok()) return bytes.status();
  if (*bytes < storage::kFileStartBytes) return Status(Code::corrupt);
  std::byte start[storage::kFileStartBytes];
  const Status read = file.read_at(0, start);
  if (!read.ok()) return read;
  return storage::read_file_version(start);
}

[[nodiscard]] Result<std::shared_ptr<Core>> load_image(File& file,
                                                       std::uint64_t memory_bytes_max) noexcept {
  const auto bytes = file.size();
  if (!bytes.ok()) return bytes.status();
  if (memory_bytes_max != 0 && *bytes > memory_bytes_max) {
    return Status(Code::full, *bytes, memory_bytes_max);
  }
  if (*bytes > SIZE_MAX / 2) return Status(Code::full, *bytes);
  auto image = AlignedBuffer::create(static_cast<std::size_t>(*bytes));
  if (!image.ok()) return image.status();
  const Status read = file.read_at(0, {image->data(), image->size()});
  if (!read.ok()) return read;
  return Image::load({image->data(), image->size()}, memory_bytes_max);
}

// An empty index's file, unless somebody else makes one first.
Status create_file(FileSystem& files, const char* path, const IndexOptions& options) noexcept {
  const auto empty = Core::create(options);
  if (!empty.ok()) return empty.status();
  auto temporary = files.create_beside(path);
  if (!temporary.ok()) return temporary.status();
  const auto& version = static_cast<const segment::Version&>(*(*empty)->root().newest());
  const Status written = write_log_file(*temporary->file, (*empty)->options(),
                                        (*empty)->quantiser().layout(), version);
  if (!written.ok()) {
    files.discard(*temporary);
    return written;
  }
  const Status named = files.rename_new(*temporary);
  return named.code() == Code::io && named.a() == EEXIST ? Status() : named;
}

// Who has the lock: it says so in the live page.
[[nodiscard]] Status busy(File& file) noexcept {
  std::uint64_t process = 0;
  (void)file.read_at(storage::kLivePagePosition + storage::kLiveWriter,
                     std::as_writable_bytes(std::span(&process, 1)));
  return Status(Code::busy, process);
}

// I3.
[[nodiscard]] Result<std::unique_ptr<File>> open_locked(FileSystem& files,
                                                        const char* path) noexcept {
  for (int turn = 0; turn < kLockTurnsMax; ++turn) {
    auto file = files.open(path, Access::write);
    if (!file.ok()) return file;
    const Status locked = (*file)->lock();
    if (locked.code() == Code::busy) return busy(**file);
    if (!locked.ok()) return locked;
    const auto same = (*file)->is_at(path);
    if (!same.ok()) return same.status();
    if (*same) return file;
  }
  return Status(Code::busy);
}

Status check_same(const IndexOptions& wanted, const IndexOptions& found) noexcept {
  if (wanted.dim != found.dim) return bad_option(OptionName::dim);
  if (wanted.metric != found.metric) return bad_option(OptionName::metric);
  if (wanted.bits != found.bits) return bad_option(OptionName::bits);
  if (wanted.ids != found.ids) return bad_option(OptionName::ids);
  if (wanted.originals != found.originals) return bad_option(OptionName::originals);
  return wanted.seed == found.seed ? Status() : bad_option(OptionName::seed);
}

}  // namespace

Result<std::shared_ptr<Core>> Opener::open(FileSystem& files, const char* path,
                                           const Options& options) noexcept {
  const bool attaches = !options.read_only && !options.detached;
  const bool creates = options.create != nullptr && attaches;
  auto file = files.open(path, attaches ? Access::write : Access::read);
  if (is_missing(file.status()) && creates) {
    const Status created = create_file(files, path, *options.create);
    if (!created.ok()) return created;
    file = files.open(path, Access::write);
  }
  if (!file.ok()) return file.status();
  const auto version = version_of(**file);
  if (!version.ok()) return version.status();
  if (*version < storage::kLogVersion) {
    auto core = load_image(**file, options.memory_bytes_max);
    if (!core.ok() || !creates) return core;
    const Status same = check_same(*options.create, (*core)->options());
    if (!same.ok()) return same;
    return core;
  }
  if (attaches) {
    file = open_locked(files, path);
    if (!file.ok()) return file.status();
  }
  Opener opener(**file, options);
  auto core = opener.run();
  if (!core.ok() || !attaches) return core;
  if (creates) {
    const Status same = check_same(*options.create, (*core)->options());
    if (!same.ok()) return same;
  }
  const Status writes = opener.write_on(**core, std::move(file).value());
  if (!writes.ok()) return writes;
  return core;
}

Result<std::shared_ptr<Core>> Opener::load(std::span<const std::byte> bytes,
                                           std::uint64_t memory_bytes_max) noexcept {
  MemoryFile file(bytes);
  Options options;
  options.mapped = false;
  options.memory_bytes_max = memory_bytes_max;
  return Opener(file, options).run();
}

Result<std::shared_ptr<Core>> Opener::run() noexcept {
  const Status superblock = reader_.read_superblock();
  if (!superblock.ok()) return superblock;
  const storage::Superblock& block = reader_.superblock();
  IndexOptions options;
  options.dim = block.dim;
  options.metric = block.metric;
  options.bits = block.bits;
  options.originals = block.originals;
  options.seed = block.seed;
  options.memory_bytes_max = options_.memory_bytes_max;
  if (options_.create != nullptr) options.retired_bytes_max = options_.create->retired_bytes_max;
  auto core = Core::create(options);
  if (!core.ok()) return core.code() == Code::bad_option ? Status(Code::corrupt) : core.status();
  Status found = reader_.find_end();
  if (found.ok()) found = check_extents();
  if (found.ok()) found = (*core)->restore(reader_.sequence(), *this);
  if (!found.ok()) return found;
  return core;
}

Status Opener::check_extents() noexcept {
  GrowingBuffer extents;
  for (std::uint32_t number = 0; number < segment::kSegmentsMax; ++number) {
    const LogReader::FileSegment* at = reader_.segment(number);
    if (at == nullptr) continue;
    const Status kept = extents.append_value(at->extent);
    if (!kept.ok()) return kept;
  }
  const std::size_t count = extents.size() / sizeof(storage::Extent);
  auto* first = reinterpret_cast<storage::Extent*>(extents.data());
  std::sort(first, first + count, [](const storage::Extent& a, const storage::Extent& b) {
    return a.position < b.position;
  });
  for (std::size_t i = 1; i < count; ++i) {
    if (first[i - 1].end() > first[i].position) return Status(Code::corrupt, first[i].position);
  }
  return {};
}

Status Opener::apply(segment::Replay& replay, segment::Damage& damage) noexcept {
  std::uint64_t live_rows = 0;
  for (std::size_t i = 0; i < reader_.records(); ++i) {
    const auto record = reader_.record(i);
    if (!record.ok()) return record.status();
    live_rows = record->view.head().live_rows;
    const Status applied = apply_record(replay, damage, record->view);
    if (!applied.ok()) return applied;
  }
  Status entered = live_rows == 0 ? Status() : replay.expect_rows(live_rows);
  for (std::uint32_t number = 0; entered.ok() && number < segment::kSegmentsMax; ++number) {
    const LogReader::FileSegment* at = reader_.segment(number);
    if (at != nullptr) entered = replay.enter_hints(number, 0, at->rows);
  }
  return entered;
}

Status Opener::apply_record(segment::Replay& replay, segment::Damage& damage,
                            const storage::CommitView& view) noexcept {
  Status done;
  for (std::uint32_t i = 0; done.ok() && i < view.dropped().size(); ++i) {
    done = replay.drop(view.dropped()[i]);
  }
  if (done.ok() && view.has_origin()) {
    auto origin = AlignedBuffer::create(reader_.layout().dim * sizeof(float));
    if (!origin.ok()) return origin.status();
    view.copy_origin(origin->as<float>());
    done = replay.set_origin(view.origin_number(), origin->data());
    calibrated_ = true;
  }
  for (std::uint32_t i = 0; done.ok() && i < view.opened().size(); ++i) {
    done = attach(replay, damage, view.opened()[i]);
  }
  storage::InlineRowsCursor cursor(view);
  for (std::uint32_t i = 0; done.ok() && i < view.grown().size(); ++i) {
    const storage::GrownSegment grown = view.grown()[i];
    const auto rows = cursor.next(replay.rows_of(grown.number));
    if (!rows.ok()) return rows.status();
    segment::InlineRows unfinished;
    unfinished.count = rows->count();
    if (unfinished.count != 0) {
      unfinished.packed = reinterpret_cast<const std::byte*>(rows->packed_row(0));
      unfinished.factors = unfinished.packed - unfinished.count * sizeof(quant::RowFactors);
      unfinished.ids = unfinished.factors - unfinished.count * sizeof(std::uint64_t);
    }
    done = replay.show_rows(grown.number, grown.rows, unfinished);
  }
  for (std::uint32_t i = 0; done.ok() && i < view.dead().size(); ++i) {
    done = replay.kill(segment::Slot{view.dead()[i]});
  }
  for (std::uint32_t i = 0; done.ok() && i < view.live_pages().size(); ++i) {
    const storage::LivePageEntry page = view.live_pages()[i];
    done = replay.replace_page(page.number, page.page, page.words);
  }
  const storage::CommitHead& head = view.head();
  return done.ok() ? replay.counts_are(head.live_rows, head.dead_rows, head.rows_dropped) : done;
}

Status Opener::attach(segment::Replay& replay, segment::Damage& damage,
                      const storage::OpenedSegment& opened) noexcept {
  if (!segment::Replay::is_place(opened.number, opened.capacity)) return Status(Code::corrupt);
  const auto extent = reader_.extent_at(opened.extent);
  if (!extent.ok()) return extent.status();
  // One that a later record drops is shown to nobody: what is in it does not matter.
  const LogReader::FileSegment* last = reader_.segment(opened.number);
  const bool stays = last != nullptr && last->extent.position == extent->position;
  const std::uint32_t rows = stays ? last->rows : 0;
  auto made = options_.mapped && !options_.detached ? map(*extent, damage) : read(*extent, rows);
  if (!made.ok()) return made.status();
  const Status attached = replay.attach(*made);
  if (!attached.ok()) segment::Segment::destroy_segment(*made);
  return attached;
}

Result<segment::Segment*> Opener::map(const storage::Extent& extent,
                                      segment::Damage& damage) noexcept {
  auto* mapped = new (std::nothrow) MappedExtent;
  if (mapped == nullptr) return Status(Code::full, sizeof(MappedExtent));
  mapped->leave = MappedExtent::end;
  mapped->bytes = static_cast<std::size_t>(
      extent.slab_bytes + round_up(extent.sums_bytes(), storage::kFilePageBytes));
  auto memory = file_.map(extent.slab, mapped->bytes, platform::Mapping::private_write);
  if (!memory.ok()) {
    delete mapped;
    return memory.status();
  }
  mapped->memory = *memory;
  auto* start = static_cast<std::uint8_t*>(*memory);
  const quant::FactorLimits limits(reader_.layout().coded_dim, calibrated_,
                                   reader_.superblock().metric);
  segment::SegmentChecks::Place place;
  place.sums = reinterpret_cast<const storage::BlockSums*>(start + extent.slab_bytes);
  place.slab_position = extent.slab;
  place.uuid_head = storage::head_of(reader_.superblock().uuid);
  segment::ForeignSlab slab;
  slab.start = start;
  slab.writable = true;
  slab.owner = mapped;
  slab.checks = segment::SegmentChecks::create(place, limits, damage);
  segment::Segment* made =
      slab.checks == nullptr ? nullptr
                             : segment::Segment::over(reader_.layout(), extent.segment,
                                                      extent.capacity, slab);
  if (made != nullptr) return made;
  if (slab.checks != nullptr) segment::SegmentChecks::destroy(slab.checks);
  MappedExtent::end(mapped);
  return Status(Code::full, sizeof(segment::Segment));
}

Result<segment::Segment*> Opener::read(const storage::Extent& extent,
                                       std::uint32_t rows) noexcept {
  segment::Segment* made =
      segment::Segment::create(reader_.layout(), extent.segment, extent.capacity);
  if (made == nullptr) return Status(Code::full, extent.slab_bytes);
  BlockReader blocks(file_, reader_.layout(), reader_.superblock().uuid);
  const std::uint32_t whole = rows / kBlockRows;
  Status sound = blocks.read_into(made->mutable_slab(), extent, 0, whole);
  const quant::FactorLimits limits(reader_.layout().coded_dim, calibrated_,
                                   reader_.superblock().metric);
  for (std::uint32_t row = 0; sound.ok() && row < whole * kBlockRows; ++row) {
    if (!limits.hold_for(made->factors(row))) sound = Status(Code::corrupt, extent.slab);
  }
  if (sound.ok()) return made;
  segment::Segment::destroy_segment(made);
  return sound;
}

Status Opener::write_on(Core& core, std::unique_ptr<File> file) noexcept {
  if (reader_.end() < reader_.file_bytes()) {
    const Status cut = file->truncate(reader_.end());
    if (!cut.ok()) return cut;
  }
  Journal::State state;
  state.place = {reader_.superblock().uuid, reader_.end(), reader_.previous()};
  state.directory = reader_.directory();
  state.directory_bytes = reader_.directory_bytes();
  state.turn = reader_.turn();
  auto journal = Journal::create(core.root(), core.slots(), std::move(file),
                                 core.quantiser().layout(), state);
  if (!journal.ok()) return journal.status();
  const auto& version = static_cast<const segment::Version&>(*core.root().newest());
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const segment::SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    const segment::SegmentChecks* checks = view->segment->checks();
    const Status adopted =
        (*journal)->writer().adopt(*view, reader_.segment(number)->extent,
                                   checks == nullptr ? nullptr : checks->place().sums);
    if (!adopted.ok()) return adopted;
  }
  const Status started = (*journal)->start();
  if (started.ok()) core.attach(std::move(journal).value());
  return started;
}

}  // namespace vicinal::engine
