// Outcomes of operations that the outside world can make fail.
//
// Thread safety: values; nothing is shared.
// I1: an error carries numbers, never allocated text, so that reporting one needs no memory.
// I2: a Status or Result must be looked at; the compiler warns about one that is dropped.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

namespace vicinal {

// The codes of the public surface, the same in C++, in C and in TypeScript. Values are part of the
// C ABI and of the WebAssembly boundary: append, never renumber.
enum class Code : std::uint8_t {
  ok = 0,
  dimension = 1,      // a row or query of the wrong length
  not_finite = 2,     // NaN, infinity or a magnitude of 1e16 and more (float16: 65,520)
  duplicate_id = 3,   // add of an id that is present, or twice in one batch
  unknown_id = 4,     // an id that had to be present is not
  bad_id = 5,         // no id of this index: out of range, too long, or of the other kind
  bad_option = 6,     // an option outside its documented range
  corrupt = 7,        // bytes that fail their checksum or their bounds
  version = 8,        // a file of a newer format
  busy = 9,           // a bounded resource is taken: reader slots, retired memory, a file's writer
  full = 10,          // the memory budget is reached
  read_only = 11,     // the index cannot be written to any more
  closed = 12,        // use after close
  aborted = 13,       // stopped by the caller's signal
  unsupported = 14,   // this build or platform cannot do it
  would_block = 15,   // would have to wait where waiting is not allowed
  io = 16,            // the operating system refused
};

// The upper-case name of the public surface, for example "DUPLICATE_ID". Never null.
[[nodiscard]] const char* code_name(Code code) noexcept;

// What the two numbers of a Status mean, by code:
//   dimension: a = length found, b = length expected      not_finite: a = row, b = coordinate
//   duplicate_id, unknown_id: a = the id, b = 0; where ids are strings a = the row of the write
//     (0 for what is no write), b = 1
//   bad_id: a = the row, b = a BadId                       bad_option: a = an OptionName
//   busy, full: a = the amount in use, b = its limit       io: a = errno
//   unsupported: a = an OptionName or 0                    corrupt: a = a position in a file, or 0
//   full with b = 0: the system had no memory for the a bytes asked for
//   would_block of a search: a = the version's sequence, b = the one it had to reach; else zeros
class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  constexpr explicit Status(Code code, std::uint64_t a = 0, std::uint64_t b = 0) noexcept
      : a_(a), b_(b), code_(code) {}

  [[nodiscard]] constexpr bool ok() const noexcept { return code_ == Code::ok; }
  [[nodiscard]] constexpr Code code() const noexcept { return code_; }
  [[nodiscard]] constexpr std::uint64_t a() const noexcept { return a_; }
  [[nodiscard]] constexpr std::uint64_t b() const noexcept { return b_; }
  // One English sentence for people; allocates.
  [[nodiscard]] std::string message() const;

 private:
  std::uint64_t a_ = 0;
  std::uint64_t b_ = 0;
  Code code_ = Code::ok;
};

// What is wrong with an id.
enum class BadId : std::uint8_t {
  range,          // not a non-negative integer of the allowed range
  number_wanted,  // a string, of an index whose ids are numbers
  string_wanted,  // a number, of an index whose ids are strings
  too_long,       // a string of more than 65,535 bytes
};

// Which option a bad_option names.
enum class OptionName : std::uint8_t {
  none, dim, metric, bits, originals, partitions, seed, k, certainty, min_score, after, filter,
  max_bytes, readers, ids_length, handle, path, sample, calibrate, stale_write,
  helpers, ids, durable, rerank,
};

// A value or the Status that explains its absence. Reading the value of an error is a bug of the
// caller and ends the program.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(Status error) noexcept : status_(error) { check(!error.ok()); }  // NOLINT: implicit
  Result(T value) noexcept : has_value_(true) { new (&storage_) T(std::move(value)); }  // NOLINT
  Result(Result&& other) noexcept : status_(other.status_), has_value_(other.has_value_) {
    if (has_value_) new (&storage_) T(std::move(*other.pointer()));
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      this->~Result();
      new (this) Result(std::move(other));
    }
    return *this;
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (has_value_) pointer()->~T();
  }

  [[nodiscard]] bool ok() const noexcept { return has_value_; }
  explicit operator bool() const noexcept { return has_value_; }
  [[nodiscard]] Status status() const noexcept { return status_; }
  [[nodiscard]] Code code() const noexcept { return status_.code(); }
  [[nodiscard]] T& value() & noexcept { return check(has_value_), *pointer(); }
  [[nodiscard]] const T& value() const& noexcept { return check(has_value_), *pointer(); }
  [[nodiscard]] T&& value() && noexcept { return check(has_value_), std::move(*pointer()); }
  [[nodiscard]] T& operator*() & noexcept { return value(); }
  [[nodiscard]] const T& operator*() const& noexcept { return value(); }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() noexcept { return &value(); }
  [[nodiscard]] const T* operator->() const noexcept { return &value(); }

 private:
  static void check(bool held) noexcept {
    if (!held) std::abort();
  }
  T* pointer() noexcept { return std::launder(reinterpret_cast<T*>(&storage_)); }
  const T* pointer() const noexcept { return std::launder(reinterpret_cast<const T*>(&storage_)); }

  alignas(T) unsigned char storage_[sizeof(T)];
  Status status_;
  bool has_value_ = false;
};

// The same of something that lives elsewhere.
template <class T>
class [[nodiscard]] Result<T&> {
 public:
  Result(Status error) noexcept : status_(error) {  // NOLINT: implicit
    if (error.ok()) std::abort();
  }
  Result(T& value) noexcept : value_(&value) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] Status status() const noexcept { return status_; }
  [[nodiscard]] Code code() const noexcept { return status_.code(); }
  [[nodiscard]] T& value() const noexcept {
    if (value_ == nullptr) std::abort();
    return *value_;
  }
  [[nodiscard]] T& operator*() const noexcept { return value(); }
  [[nodiscard]] T* operator->() const noexcept { return &value(); }

 private:
  T* value_ = nullptr;
  Status status_;
};

}  // namespace vicinal
