#include "vicinal/status.hpp"

#include <cstddef>
#include <system_error>

#include "base/assert.hpp"

namespace vicinal {
namespace {

// By value of Code: appended to, never reordered.
constexpr const char* kCodeNames[] = {
    "OK",         "DIMENSION", "NOT_FINITE", "DUPLICATE_ID", "UNKNOWN_ID",  "BAD_ID",
    "BAD_OPTION", "CORRUPT",   "VERSION",    "BUSY",         "FULL",        "READ_ONLY",
    "CLOSED",     "ABORTED",   "UNSUPPORTED", "WOULD_BLOCK", "IO",
};
constexpr std::size_t kCodeCount = sizeof kCodeNames / sizeof kCodeNames[0];
static_assert(kCodeCount == static_cast<std::size_t>(Code::io) + 1);

// By value of OptionName.
constexpr const char* kOptionNames[] = {
    "an option", "dim",     "metric",    "bits",    "originals", "partitions",
    "seed",      "k",       "certainty", "min_score", "after",   "filter",
    "max_bytes", "readers", "ids_length", "handle", "path",
    "sample",    "calibrate", "write",    "helpers", "ids",
    "durable",   "rerank",
};
constexpr std::size_t kOptionCount = sizeof kOptionNames / sizeof kOptionNames[0];
static_assert(kOptionCount == static_cast<std::size_t>(OptionName::rerank) + 1);

// No system numbers its errors beyond this; what lies above is no error of one.
constexpr std::uint64_t kErrnoMax = 4095;

std::string number(std::uint64_t value) { return std::to_string(value); }

// The numbers come from anywhere, a file included: an unknown name is not our bug.
std::string option_sentence(std::uint64_t option) {
  if (option == static_cast<std::uint64_t>(OptionName::handle)) {
    return "the write is of another index, has rows that were not encoded, or was submitted before";
  }
  if (option == static_cast<std::uint64_t>(OptionName::sample)) {
    return "sample: fewer rows than a calibration needs (32)";
  }
  if (option == static_cast<std::uint64_t>(OptionName::calibrate)) {
    return "calibrate: the index has rows, whose codes would mean other vectors";
  }
  if (option == static_cast<std::uint64_t>(OptionName::stale_write)) {
    return "the index was calibrated after this write was made: make it again";
  }
  if (option == static_cast<std::uint64_t>(OptionName::after)) {
    return "after is no hit, or of a search that ranks by originals: all pages need rerank 0";
  }
  if (option == static_cast<std::uint64_t>(OptionName::rerank)) {
    return "rerank: the index keeps no originals";
  }
  const char* name = option < kOptionCount ? kOptionNames[option] : kOptionNames[0];
  return std::string(name) + " is outside its documented range";
}

// Which id, of an index whose ids are numbers or (`string_row` 1) strings.
std::string id_name(std::uint64_t id, std::uint64_t string_row) {
  return string_row == 0 ? "id " + number(id) : "the id of row " + number(id);
}

std::string bad_id_sentence(std::uint64_t row, std::uint64_t problem) {
  switch (problem) {
    case static_cast<std::uint64_t>(BadId::number_wanted):
      return "the ids of this index are numbers, not strings";
    case static_cast<std::uint64_t>(BadId::string_wanted):
      return "the ids of this index are strings, not numbers";
    case static_cast<std::uint64_t>(BadId::too_long):
      return "the id of row " + number(row) + " has more than 65,535 bytes";
    default: return "an id is not a non-negative integer of the allowed range";
  }
}

std::string limit_sentence(const char* what, std::uint64_t in_use, std::uint64_t limit) {
  if (limit == 0) return std::string(what) + " (" + number(in_use) + " asked for)";
  return std::string(what) + " (" + number(in_use) + " of " + number(limit) + " in use)";
}

// What an UNSUPPORTED is about, where that is an option.
std::string option_prefix(std::uint64_t option) {
  if (option == 0 || option >= kOptionCount) return {};
  return std::string(kOptionNames[option]) + ": ";
}

std::string unsupported_sentence(std::uint64_t option) {
  if (option == static_cast<std::uint64_t>(OptionName::originals)) {
    return "originals: an index that keeps originals cannot be saved yet";
  }
  return option_prefix(option) + "this build or platform cannot do it";
}

std::string system_sentence(std::uint64_t error_number) {
  if (error_number == 0 || error_number > kErrnoMax) return {};
  return ": " + std::generic_category().message(static_cast<int>(error_number));
}

}  // namespace

const char* code_name(Code code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < kCodeCount ? kCodeNames[index] : "UNKNOWN";
}

std::string Status::message() const {
  switch (code_) {
    case Code::ok: return "no error";
    case Code::dimension:
      return "a vector has " + number(a_) + " coordinates where " + number(b_) + " were expected";
    case Code::not_finite:
      return "coordinate " + number(b_) + " of row " + number(a_) +
             " is not finite or its magnitude is 1e16 or more (65,520 for originals of float16)";
    case Code::duplicate_id:
      return id_name(a_, b_) + " is already present, or comes twice in this write";
    case Code::unknown_id:
      return b_ == 0 ? "id " + number(a_) + " is not present" : "the id is not present";
    case Code::bad_id: return bad_id_sentence(a_, b_);
    case Code::bad_option: return option_sentence(a_);
    case Code::corrupt: return "the data is damaged: it fails its checksum or its bounds";
    case Code::version: return "the file was written by a newer version";
    case Code::busy:
      if (b_ == 0 && a_ != 0) return "process " + number(a_) + " has the file open for writing";
      return limit_sentence(
          "there are as many readers, helpers or waiting writes as there can be, or readers"
          " hold back too much memory",
          a_, b_);
    case Code::full: return limit_sentence("the memory budget is reached", a_, b_);
    case Code::read_only: return "the index cannot be written to any more";
    case Code::closed: return "the index or reader is closed";
    case Code::aborted: return "the caller's signal stopped the operation";
    case Code::unsupported: return unsupported_sentence(a_);
    case Code::would_block:
      if (b_ == 0) return "the operation would wait where waiting is not allowed";
      return "version " + number(b_) + " is not there yet: the newest here is " + number(a_);
    case Code::io:
      return "the operating system refused the operation (errno " + number(a_) +
             system_sentence(a_) + ")";
  }
  return "unknown error " + number(static_cast<std::uint64_t>(code_));
}

}  // namespace vicinal
