// An index's file on its way out and in. What a realm has under way here is its own: a save's
// version hangs, as a reader, on the realm's reference to the index; a load's index is nobody
// else's yet.
#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "handles.hpp"

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))

namespace vicinal::wasm {
namespace {

static_assert(sizeof(SaveBlock) == 48 && offsetof(SaveBlock, slice) == 40);
static_assert(sizeof(FileBlock) == 64 && offsetof(FileBlock, ids) == 52);
static_assert(sizeof(FlushBlock) == 40 && offsetof(FlushBlock, asks) == 32);
static_assert(sizeof(LoadBlock) == 80 && offsetof(LoadBlock, room) == 60);

constexpr std::uint32_t kRoomBytes = 256 << 10;
static_assert(kRoomBytes >= Saver::kRoomBytesMin);

struct SaveHandle {
  SaveBlock block;  // first: its address is the handle
  Saver saver;
  std::byte* room;
};

struct LoadHandle {
  LoadBlock block;  // first: its address is the handle
  Loader loader;
  std::byte* room;
};

// Runs what may end with the realm in the middle of it, as a member (realms.hpp I2).
template <class Run>
void as_member(vic_address index, Run run) noexcept {
  auto* handle = at<IndexHandle>(index);
  auto owner = handle->weak.lock();
  if (!owner.ok()) return;
  Membership member(handle, std::move(owner).value());
  enlist(member);
  run(*member.index);
}

}  // namespace

IndexOptions index_options_of(const OptionsBlock& block) noexcept {
  IndexOptions wanted;
  wanted.dim = block.dim;
  wanted.metric = static_cast<Metric>(block.metric > 255 ? 255 : block.metric);
  wanted.bits = static_cast<std::uint8_t>(block.bits > 255 ? 255 : block.bits);
  wanted.originals = static_cast<Originals>(block.originals > 255 ? 255 : block.originals);
  wanted.seed = block.seed;
  wanted.memory_bytes_max = block.memory_bytes_max;
  wanted.retired_bytes_max = block.retired_bytes_max;
  wanted.ids = static_cast<IdKind>(block.ids > 255 ? 255 : block.ids);
  return wanted;
}

}  // namespace vicinal::wasm

using namespace vicinal::wasm;
using vicinal::Code;
using vicinal::Status;

extern "C" {

VIC_EXPORT(vic_save_create)
vic_address vic_save_create(vic_address reader, vic_address status) {
  auto* outcome = at<StatusBlock>(status);
  auto saver = reader_of(reader).saver();
  if (!saver.ok()) return refuse(outcome, saver.status());
  auto* room = allocate<std::byte>(kRoomBytes);
  auto* handle = room == nullptr
                     ? nullptr
                     : new (std::nothrow) SaveHandle{{}, std::move(saver).value(), room};
  if (handle == nullptr) {
    std::free(room);
    return refuse(outcome, Status(Code::full, kRoomBytes));
  }
  handle->block.total_bytes = handle->saver.bytes();
  handle->block.slice = address_of(room);
  store(outcome, Status());
  return address_of(handle);
}

VIC_EXPORT(vic_save_next) std::uint32_t vic_save_next(vic_address save) {
  auto* handle = at<SaveHandle>(save);
  SaveBlock& block = handle->block;
  const auto slice = handle->saver.next({handle->room, kRoomBytes});
  block.offset = slice.ok() ? slice->offset : 0;
  block.slice_bytes = slice.ok() ? static_cast<std::uint32_t>(slice->bytes) : 0;
  return finish(&block.status, slice.status());
}

VIC_EXPORT(vic_save_release) void vic_save_release(vic_address save) {
  auto* handle = at<SaveHandle>(save);
  std::free(handle->room);
  delete handle;
}

VIC_EXPORT(vic_load_create)
vic_address vic_load_create(vic_address options, std::uint32_t read_only, vic_address status) {
  auto* outcome = at<StatusBlock>(status);
  vicinal::OpenOptions wanted;
  wanted.read_only = read_only != 0;
  wanted.memory_bytes_max = at<const OptionsBlock>(options)->memory_bytes_max;
  auto loader = vicinal::Loader::create(wanted);
  if (!loader.ok()) return refuse(outcome, loader.status());
  auto* room = allocate<std::byte>(kRoomBytes);
  auto* handle = room == nullptr
                     ? nullptr
                     : new (std::nothrow) LoadHandle{{}, std::move(loader).value(), room};
  if (handle == nullptr) {
    std::free(room);
    return refuse(outcome, Status(Code::full, kRoomBytes));
  }
  handle->block.room = address_of(room);
  handle->block.room_bytes = kRoomBytes;
  store(outcome, Status());
  return address_of(handle);
}

VIC_EXPORT(vic_load_take)
std::uint32_t vic_load_take(vic_address load, std::uint32_t bytes) {
  auto* handle = at<LoadHandle>(load);
  LoadBlock& block = handle->block;
  if (bytes > kRoomBytes) return finish(&block.status, Status(Code::bad_option));
  const Status taken = handle->loader.take({handle->room, bytes});
  block.total_bytes = handle->loader.bytes();
  block.largest_id = handle->loader.largest_id();
  return finish(&block.status, taken);
}

VIC_EXPORT(vic_load_finish) vic_address vic_load_finish(vic_address load) {
  auto* handle = at<LoadHandle>(load);
  LoadBlock& block = handle->block;
  auto index = handle->loader.finish();
  if (!index.ok()) return refuse(&block.status, index.status());
  const vicinal::IndexOptions& options = index->options();
  block.seed = options.seed;
  block.dim = options.dim;
  block.metric = static_cast<std::uint32_t>(options.metric);
  block.bits = options.bits;
  block.ids = static_cast<std::uint32_t>(options.ids);
  block.originals = static_cast<std::uint32_t>(options.originals);
  if (block.largest_id == 0) block.largest_id = index->largest_id();  // of a log
  return adopt(std::move(index).value(), &block.status);
}

VIC_EXPORT(vic_load_release) void vic_load_release(vic_address load) {
  auto* handle = at<LoadHandle>(load);
  std::free(handle->room);
  delete handle;
}

VIC_EXPORT(vic_file_open)
vic_address vic_file_open(vic_address options, std::uint32_t create, std::uint32_t read_only,
                          vic_address path, std::uint32_t path_bytes, vic_address file) {
  auto* block = at<FileBlock>(file);
  *block = {};
  vicinal::OpenOptions wanted;
  wanted.read_only = read_only != 0;
  wanted.mapped = false;
  wanted.memory_bytes_max = at<const OptionsBlock>(options)->memory_bytes_max;
  if (create != 0) wanted.create = index_options_of(*at<const OptionsBlock>(options));
  auto index = vicinal::Index::open(std::string(at<const char>(path), path_bytes), wanted);
  if (!index.ok()) return refuse(&block->status, index.status());
  const vicinal::IndexOptions& found = index->options();
  block->largest_id = index->largest_id();
  block->seed = found.seed;
  block->dim = found.dim;
  block->metric = static_cast<std::uint32_t>(found.metric);
  block->bits = found.bits;
  block->ids = static_cast<std::uint32_t>(found.ids);
  block->originals = static_cast<std::uint32_t>(found.originals);
  return adopt(std::move(index).value(), &block->status);
}

VIC_EXPORT(vic_index_ask_flush)
std::uint32_t vic_index_ask_flush(vic_address index, vic_address status) {
  auto owner = at<IndexHandle>(index)->weak.lock();
  if (!owner.ok()) return refuse(at<StatusBlock>(status), owner.status());
  const auto asked = owner->ask_flush();
  if (!asked.ok()) return refuse(at<StatusBlock>(status), asked.status());
  store(at<StatusBlock>(status), Status());
  return *asked;
}

VIC_EXPORT(vic_index_serve_flush)
std::uint32_t vic_index_serve_flush(vic_address index, vic_address flush) {
  auto* block = at<FlushBlock>(flush);
  *block = {};
  as_member(index, [block](vicinal::Index& open) noexcept {
    const auto flushed = open.serve_flush();
    block->asks = flushed.asks;
    block->sequence = flushed.sequence;
    store(&block->status, flushed.status);
  });
  return block->asks;
}

VIC_EXPORT(vic_index_refresh) std::uint32_t vic_index_refresh(vic_address index) {
  std::uint32_t published = 0;
  as_member(index, [&published](vicinal::Index& open) noexcept {
    const auto refreshed = open.refresh();
    published = refreshed.ok() && *refreshed ? 1 : 0;
  });
  return published;
}

VIC_EXPORT(vic_index_close_file)
void vic_index_close_file(vic_address index, vic_address status) {
  store(at<StatusBlock>(status), Status());
  as_member(index, [status](vicinal::Index& open) noexcept {
    store(at<StatusBlock>(status), open.close_file());
  });
}

}  // extern "C"
