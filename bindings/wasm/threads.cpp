// Stacks and thread-local areas for the realms that attach to the shared memory.
#include <cstdlib>

#include "exports.hpp"

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))

extern "C" void vicinal_set_may_block(int allowed);  // core/platform/wasm/may_block.hpp

namespace {

constexpr std::uint32_t kBootstrapStacks = 64;
constexpr std::uint32_t kBootstrapStackBytes = 16 << 10;
constexpr std::uint32_t kThreadStackBytes = 256 << 10;
constexpr std::uint32_t kAlignment = 64;

// A realm that dies in here costs one of the 64, for good where its thread's end is not known.
alignas(64) unsigned char bootstrap_stacks[kBootstrapStacks * kBootstrapStackBytes];
alignas(64) std::uint32_t bootstrap_claims[kBootstrapStacks];  // JavaScript's, by Atomics

std::uint32_t area_bytes(std::uint32_t tls_bytes) {
  // The TLS area lies below the stack, which grows down towards it.
  const std::uint32_t tls = (tls_bytes + kAlignment - 1) / kAlignment * kAlignment;
  return tls + kThreadStackBytes;
}

vic_address address_of(const void* object) { return reinterpret_cast<vic_address>(object); }

}  // namespace

extern "C" {

VIC_EXPORT(vic_bootstrap_claims) vic_address vic_bootstrap_claims() {
  return address_of(bootstrap_claims);
}
VIC_EXPORT(vic_bootstrap_stacks) vic_address vic_bootstrap_stacks() {
  return address_of(bootstrap_stacks);
}
VIC_EXPORT(vic_bootstrap_count) std::uint32_t vic_bootstrap_count() { return kBootstrapStacks; }
VIC_EXPORT(vic_bootstrap_stack_bytes) std::uint32_t vic_bootstrap_stack_bytes() {
  return kBootstrapStackBytes;
}

VIC_EXPORT(vic_thread_area_create) vic_address vic_thread_area_create(std::uint32_t tls_bytes) {
  return address_of(std::aligned_alloc(kAlignment, area_bytes(tls_bytes)));
}
VIC_EXPORT(vic_thread_area_bytes) std::uint32_t vic_thread_area_bytes(std::uint32_t tls_bytes) {
  return area_bytes(tls_bytes);
}
VIC_EXPORT(vic_thread_area_release) void vic_thread_area_release(vic_address area) {
  std::free(reinterpret_cast<void*>(area));
}

VIC_EXPORT(vic_set_may_block) void vic_set_may_block(std::uint32_t may_block) {
  vicinal_set_may_block(may_block != 0 ? 1 : 0);
}

}  // extern "C"
