#include "engine/opener.hpp"

#include <cerrno>
#include <new>
#include <utility>

#include "engine/image.hpp"
#include "engine/journal.hpp"
#include "engine/log_file.hpp"

namespace vicinal::engine {

using platform::Access;
using platform::File;
using platform::FileSystem;

namespace {

// Each further turn follows a rewriting that came in between.
constexpr int kLockTurnsMax = 100;

[[nodiscard]] bool is_missing(const Status& status) noexcept {
  return status.code() == Code::io && status.a() == ENOENT;
}

Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

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
  storage::Uuid uuid;
  platform::draw_random(uuid.bytes);
  const Status written = write_log_file(*temporary->file, uuid, (*empty)->options(),
                                        (*empty)->quantiser().layout(), version);
  if (!written.ok()) {
    files.discard(*temporary);
    return written;
  }
  const Status named = files.rename_new(*temporary);
  return named.code() == Code::io && named.a() == EEXIST ? Status() : named;
}

// I2.
[[nodiscard]] Result<std::unique_ptr<File>> open_locked(FileSystem& files,
                                                        const char* path) noexcept {
  for (int turn = 0; turn < kLockTurnsMax; ++turn) {
    auto file = files.open(path, Access::write);
    if (!file.ok()) return file;
    const Status locked = (*file)->lock();
    if (locked.code() == Code::busy) return busy_with_writer(**file);
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

// An image becomes a log. Somebody else may have done it first.
Status upgrade_file(FileSystem& files, const char* path, std::uint64_t memory_bytes_max) noexcept {
  const auto file = open_locked(files, path);
  if (!file.ok()) return file.status();
  const auto version = version_of(**file);
  if (!version.ok()) return version.status();
  if (*version >= storage::kLogVersion) return {};
  const auto core = load_image(**file, memory_bytes_max);
  if (!core.ok()) return core.status();
  return save_version(files, path, **core,
                      static_cast<const segment::Version&>(*(*core)->root().newest()));
}

}  // namespace

Result<bool> is_log_file(File& file) noexcept {
  const auto version = version_of(file);
  if (!version.ok()) return version.status();
  return *version >= storage::kLogVersion;
}

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
  if (*version < storage::kLogVersion && attaches && options.upgrade) {
    const Status upgraded = upgrade_file(files, path, options.memory_bytes_max);
    if (!upgraded.ok()) return upgraded;
  } else if (*version < storage::kLogVersion) {
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
  const auto slabs = options.mapped && !options.detached ? LogApplier::Slabs::mapped
                                                         : LogApplier::Slabs::read;
  std::unique_ptr<OpenLog> log(new (std::nothrow) OpenLog(std::move(file).value(), slabs));
  if (log == nullptr) return Status(Code::full, sizeof(OpenLog));
  Opener opener(*log, options);
  auto core = opener.run();
  if (!core.ok() || options.detached) return core;
  if (!attaches) {
    auto follower = Follower::create(files, path, std::move(log), slabs);
    if (!follower.ok()) return follower.status();
    (*core)->attach(std::move(follower).value());
    return core;
  }
  if (creates) {
    const Status same = check_same(*options.create, (*core)->options());
    if (!same.ok()) return same;
  }
  const Status writes = opener.write_on(**core, files, path, std::move(log->file));
  if (!writes.ok()) return writes;
  return core;
}

Result<std::shared_ptr<Core>> Opener::load(std::unique_ptr<File> file,
                                           const Options& options) noexcept {
  const auto version = version_of(*file);
  if (!version.ok()) return version.status();
  if (*version < storage::kLogVersion) return load_image(*file, options.memory_bytes_max);
  OpenLog log(std::move(file), LogApplier::Slabs::read);
  return Opener(log, options).run();
}

Result<std::shared_ptr<Core>> Opener::load(std::span<const std::byte> bytes,
                                           std::uint64_t memory_bytes_max) noexcept {
  std::unique_ptr<File> file(new (std::nothrow) MemoryFile(bytes));
  if (file == nullptr) return Status(Code::full, sizeof(MemoryFile));
  OpenLog log(std::move(file), LogApplier::Slabs::read);
  Options options;
  options.memory_bytes_max = memory_bytes_max;
  return Opener(log, options).run();
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
  options.ids = block.id_kind;
  options.seed = block.seed;
  options.memory_bytes_max = options_.memory_bytes_max;
  if (options_.create != nullptr) options.retired_bytes_max = options_.create->retired_bytes_max;
  auto core = Core::create(options);
  if (!core.ok()) return core.code() == Code::bad_option ? Status(Code::corrupt) : core.status();
  Status found = reader_.find_end();
  if (found.ok()) found = reader_.check_extents();
  const std::uint64_t most = options_.memory_bytes_max;
  if (found.ok() && most != 0 && (!options_.mapped || options_.detached) &&
      reader_.slab_bytes() > most) {
    found = Status(Code::full, reader_.slab_bytes(), most);  // before it is read
  }
  if (found.ok()) found = (*core)->restore(reader_.sequence(), *this, !options_.read_only);
  if (!found.ok()) return found;
  return core;
}

Status Opener::apply(segment::Replay& replay, segment::Damage& damage) noexcept {
  if (!options_.ids) applier_.leave_out_ids();
  return applier_.apply_all(replay, damage);
}

Status Opener::write_on(Core& core, FileSystem& files, const char* path,
                        std::unique_ptr<File> file) noexcept {
  auto name = files.full_name(path);
  if (!name.ok()) return name.status();
  if (reader_.end() < reader_.file_bytes()) {
    const Status cut = file->truncate(reader_.end());
    if (!cut.ok()) return cut;
  }
  Journal::State state;
  state.place = {reader_.superblock().uuid, reader_.end(), reader_.previous()};
  state.directory = reader_.directory();
  state.directory_bytes = reader_.directory_bytes();
  state.turn = reader_.turn();
  state.commit_on_flush = options_.commit_on_flush;
  auto journal = Journal::create(core.journal_source(),
                                 {files, std::move(name).value(), std::move(file)}, state);
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
  const LogApplier::Ids& ids = applier_.ids();
  (*journal)->writer().adopt_ids(version, ids.position, ids.bytes, ids.uncovered);
  const Status known = (*journal)->writer().adopt_strings(version, applier_.strings_records());
  if (!known.ok()) return known;
  const Status started = (*journal)->start();
  if (started.ok()) core.attach(std::move(journal).value());
  return started;
}

}  // namespace vicinal::engine
