// An index's file on its way out and in. What a realm has under way here is its own: a save's
// version hangs, as a reader, on the realm's reference to the index; a load's index is nobody
// else's yet.
#include <cstddef>
#include <new>
#include <utility>

#include "handles.hpp"

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))

namespace vicinal::wasm {
namespace {

static_assert(sizeof(SaveBlock) == 48 && offsetof(SaveBlock, slice) == 40);
static_assert(sizeof(LoadBlock) == 72 && offsetof(LoadBlock, room) == 60);

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

}  // namespace
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
  return adopt(std::move(index).value(), &block.status);
}

VIC_EXPORT(vic_load_release) void vic_load_release(vic_address load) {
  auto* handle = at<LoadHandle>(load);
  std::free(handle->room);
  delete handle;
}

}  // extern "C"
