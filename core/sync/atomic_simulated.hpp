// Atomic and Plain of the simulator (tests/simulator): every operation is a call that names its
// place in the source and its order. Included by sync/atomic.hpp, when VICINAL_ATOMICS_SIMULATED
// is defined; the program that defines it brings the functions declared here.
//
// Thread safety: fibers of one thread, which change places only inside these functions.
// I1: an operation's place is its source location: two operations of one line differ in column.
// I2: the word in the object holds the value that comes last in the modification order; who loads
//     may be given an older one.
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace vicinal::sync {

namespace simulated {

using Place = std::source_location;

enum class Change : std::uint8_t { exchange, add, subtract, bit_or, bit_and };

void create(void* word, std::uint64_t value) noexcept;
void destroy(void* word) noexcept;
[[nodiscard]] std::uint64_t load(const void* word, Order order, const Place& place) noexcept;
void store(void* word, std::uint64_t value, Order order, const Place& place) noexcept;
// Returns the value before. The result keeps as many low bits as `bytes` have.
std::uint64_t change(void* word, Change what, std::uint64_t operand, std::size_t bytes,
                     Order order, const Place& place) noexcept;
// On failure `expected` holds the value seen.
bool compare_exchange(void* word, std::uint64_t& expected, std::uint64_t desired, Order success,
                      Order failure, const Place& place) noexcept;

// Plain data that the orders of Atomics protect.
void create_plain(const void* data) noexcept;
void read_plain(const void* data, const Place& place) noexcept;
void write_plain(const void* data, const Place& place) noexcept;

template <class T>
[[nodiscard]] std::uint64_t to_bits(T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace simulated

template <class T>
class Atomic {
  using Place = simulated::Place;

 public:
  Atomic() noexcept : Atomic(T{}) {}
  explicit Atomic(T value) noexcept : value_(value) {
    simulated::create(&value_, simulated::to_bits(value));
  }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  ~Atomic() { simulated::destroy(&value_); }

  [[nodiscard]] T load(Order order, Place place = Place::current()) const noexcept {
    return simulated::from_bits<T>(simulated::load(&value_, order, place));
  }
  void store(T value, Order order, Place place = Place::current()) noexcept {
    simulated::store(&value_, simulated::to_bits(value), order, place);
  }
  T exchange(T value, Order order, Place place = Place::current()) noexcept {
    return change(simulated::Change::exchange, value, order, place);
  }
  bool compare_exchange(T& expected, T desired, Order success, Order failure,
                        Place place = Place::current()) noexcept {
    std::uint64_t seen = simulated::to_bits(expected);
    const bool done = simulated::compare_exchange(&value_, seen, simulated::to_bits(desired),
                                                  success, failure, place);
    if (!done) expected = simulated::from_bits<T>(seen);
    return done;
  }
  T fetch_add(T value, Order order, Place place = Place::current()) noexcept {
    return change(simulated::Change::add, value, order, place);
  }
  T fetch_sub(T value, Order order, Place place = Place::current()) noexcept {
    return change(simulated::Change::subtract, value, order, place);
  }
  T fetch_or(T value, Order order, Place place = Place::current()) noexcept {
    return change(simulated::Change::bit_or, value, order, place);
  }
  T fetch_and(T value, Order order, Place place = Place::current()) noexcept {
    return change(simulated::Change::bit_and, value, order, place);
  }

  [[nodiscard]] const void* address() const noexcept { return &value_; }

 private:
  T change(simulated::Change what, T operand, Order order, const Place& place) noexcept {
    return simulated::from_bits<T>(
        simulated::change(&value_, what, simulated::to_bits(operand), sizeof(T), order, place));
  }

  T value_;
};

inline void note_read(const void* what,
                      const simulated::Place& place = simulated::Place::current()) noexcept {
  simulated::read_plain(what, place);
}
inline void note_write(const void* what,
                       const simulated::Place& place = simulated::Place::current()) noexcept {
  simulated::write_plain(what, place);
}

// Ends with the memory that it lies in (platform::release), so that what holds one stays trivially
// destructible.
template <class T>
class Plain {
  using Place = simulated::Place;

 public:
  Plain() noexcept : Plain(T{}) {}
  Plain(T value) noexcept : value_(value) { simulated::create_plain(&value_); }
  Plain(const Plain& other) noexcept : Plain(static_cast<T>(other)) {}
  Plain& operator=(const Plain& other) noexcept { return *this = static_cast<T>(other); }
  Plain& operator=(T value) noexcept {
    simulated::write_plain(&value_, Place::current());
    value_ = value;
    return *this;
  }
  operator T() const noexcept {
    simulated::read_plain(&value_, Place::current());
    return value_;
  }

 private:
  T value_;
};

}  // namespace vicinal::sync
