// What ends a command early: a code of the public surface, a sentence, and an exit status.
//
// Thread safety: values; a Failure may be thrown in one thread and looked at in another.
// I1: exit status 3 means that an index file is damaged or of another version, and nothing else.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "vicinal/status.hpp"

namespace vicinal::cli {

enum class Exit : int { ok = 0, failed = 1, usage = 2, corrupt = 3, interrupted = 130 };

class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string& message, Exit exit = Exit::failed)
      : std::runtime_error(message), code_(code), exit_(exit) {}

  [[nodiscard]] Code code() const noexcept { return code_; }
  [[nodiscard]] Exit exit() const noexcept { return exit_; }

 private:
  Code code_;
  Exit exit_;
};

// A command line that cannot be meant as it is written: BAD_OPTION, exit status 2.
[[nodiscard]] Failure usage_failure(const std::string& message);

// IO with the system's own words for `error_number`.
[[nodiscard]] Failure io_failure(std::string_view subject, int error_number);

// The failure that a Status of the library amounts to; `subject` is what it happened to, mostly a
// file.
[[nodiscard]] Failure status_failure(std::string_view subject, const Status& status);

void require(std::string_view subject, const Status& status);

template <class T>
[[nodiscard]] T require(std::string_view subject, Result<T>&& result) {
  if (!result.ok()) throw status_failure(subject, result.status());
  return std::move(result).value();
}

}  // namespace vicinal::cli
