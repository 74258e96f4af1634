// What the opaque handles of vicinal.h are.
//
// Thread safety: as vicinal.h says for each handle.
#pragma once

#include <cstring>

#include "batch_rows.hpp"
#include "string_views.hpp"
#include "vicinal/vicinal.h"
#include "vicinal/vicinal.hpp"

struct vicinal_index {
  vicinal::Index index;
  vicinal::WriteQueue queue;  // of this handle, so that its messages keep their order
};

struct vicinal_reader {
  vicinal::Reader reader;
  std::uint32_t dim;
  bool strings;  // whether ids are
  vicinal::c::StringViews listed = {};  // the filter's of the last search
  vicinal::c::BatchRows batch = {};
};

struct vicinal_filter {
  vicinal::Filter filter;
};

struct vicinal_message {
  vicinal_index* index;
  vicinal::PendingWrite write;
};

namespace vicinal::c {

[[nodiscard]] inline vicinal_status to_c(const Status& status) noexcept {
  return {static_cast<std::uint32_t>(status.code()), 0, status.a(), status.b()};
}

// A code of the caller's, who may name one that does not exist.
[[nodiscard]] inline Code to_code(std::uint32_t code) noexcept {
  return static_cast<Code>(code <= 255 ? code : 255);
}

inline void set(vicinal_status* to, const Status& status) noexcept {
  if (to != nullptr) *to = to_c(status);
}

[[nodiscard]] inline Status bad_option(OptionName name) noexcept {
  return Status(Code::bad_option, static_cast<std::uint64_t>(name));
}

// A struct of an older caller is shorter; what it lacks keeps its default.
template <class T>
[[nodiscard]] Status read_options(const T* options, T* known) noexcept {
  if (options->struct_size > sizeof(T) || options->struct_size < sizeof options->struct_size) {
    return bad_option(OptionName::none);
  }
  std::memcpy(known, options, options->struct_size);
  return {};
}

// Values that no index has become ones that it refuses.
[[nodiscard]] Status index_options_of(const vicinal_index_options& options,
                                      IndexOptions* wanted) noexcept;

// A handle of its own for an index, or null with the reason.
[[nodiscard]] vicinal_index* make_handle(Result<Index> index, vicinal_status* status) noexcept;

}  // namespace vicinal::c
