#include "cli/failure.hpp"

#include <fmt/format.h>

#include <system_error>

namespace vicinal::cli {
namespace {

// The library's sentence, sharpened where a command line user can be told more.
std::string sentence(const Status& status) {
  switch (status.code()) {
    case Code::io: return std::generic_category().message(static_cast<int>(status.a()));
    case Code::version:
      return fmt::format("has format version {}, this program reads up to {}", status.a(),
                         status.b());
    case Code::corrupt: return "not an index, or damaged: it fails its checksum or its bounds";
    case Code::unsupported: return "this version of vicinal does not offer that";
    default: return status.message();
  }
}

}  // namespace

Failure usage_failure(const std::string& message) {
  return {Code::bad_option, message, Exit::usage};
}

Failure io_failure(std::string_view subject, int error_number) {
  return {Code::io,
          fmt::format("{}: {}", subject, std::generic_category().message(error_number))};
}

Failure status_failure(std::string_view subject, const Status& status) {
  const bool damaged = status.code() == Code::corrupt || status.code() == Code::version;
  return {status.code(), fmt::format("{}: {}", subject, sentence(status)),
          damaged ? Exit::corrupt : Exit::failed};
}

void require(std::string_view subject, const Status& status) {
  if (!status.ok()) throw status_failure(subject, status);
}

}  // namespace vicinal::cli
