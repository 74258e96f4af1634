// The heap of shared WebAssembly memory, for memory.cpp; everyone else calls malloc.
//
// Thread safety: any thread, attached or not: it needs a stack, but no thread-local storage.
#pragma once

#ifdef VICINAL_WASM_THREADS

#include "platform/lock_free_heap.hpp"

namespace vicinal::platform {

// The range from the end of the static data and stack to the end that the memory had at the first
// call.
[[nodiscard]] LockFreeHeap<> shared_heap() noexcept;

}  // namespace vicinal::platform

#endif  // VICINAL_WASM_THREADS
