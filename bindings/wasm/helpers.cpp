// Realms that help long searches, of the shared-memory module.
#include <new>
#include <utility>

#include "exports.hpp"
#include "realms.hpp"
#include "vicinal/vicinal.hpp"

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))

extern "C" void vicinal_set_processors(std::uint32_t processors);  // core/platform/thread.hpp

namespace vicinal::wasm {
namespace {

struct HelperHandle {
  Helper helper;
};

void store(StatusBlock* block, const Status& status) noexcept {
  *block = {static_cast<std::uint32_t>(status.code()), 0, status.a(), status.b()};
}

// Through the realm's membership: by it the helper is found when the realm has died.
[[nodiscard]] Result<HelperHandle*> open_helper(IndexHandle* index) noexcept {
  auto member = join(index);
  if (!member.ok()) return member.status();
  auto helper = (*member)->through().helper();
  if (!helper.ok()) return helper.status();
  auto* handle = new (std::nothrow) HelperHandle{std::move(helper).value()};
  if (handle == nullptr) return Status(Code::full, sizeof(HelperHandle));
  return handle;
}

}  // namespace
}  // namespace vicinal::wasm

using namespace vicinal;
using namespace vicinal::wasm;

extern "C" {

VIC_EXPORT(vic_set_processors) void vic_set_processors(std::uint32_t processors) {
  vicinal_set_processors(processors);
}

VIC_EXPORT(vic_helper_open)
vic_address vic_helper_open(vic_address index, vic_address status) {
  const auto opened = open_helper(reinterpret_cast<IndexHandle*>(index));
  store(reinterpret_cast<StatusBlock*>(status), opened.status());
  return opened.ok() ? reinterpret_cast<vic_address>(*opened) : 0;
}

VIC_EXPORT(vic_helper_help)
std::uint32_t vic_helper_help(vic_address helper, std::uint32_t wait_us) {
  return reinterpret_cast<HelperHandle*>(helper)->helper.help(wait_us) ? 1 : 0;
}

VIC_EXPORT(vic_helper_close) void vic_helper_close(vic_address helper) {
  delete reinterpret_cast<HelperHandle*>(helper);
}

VIC_EXPORT(vic_index_wake_helpers) void vic_index_wake_helpers(vic_address index) {
  auto owner = reinterpret_cast<IndexHandle*>(index)->weak.lock();
  if (owner.ok()) owner->wake_helpers();
}

}  // extern "C"
