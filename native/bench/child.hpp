// Another process that does a part of a benchmark and tells what came of it.
//
// Thread safety: one thread at a time; no other thread may run when one is started.
// I1: parent and child take turns in steps: the child says that it is through with one, the parent
//     that the next may begin. A child whose parent is gone ends.
// I2: what goes between them are bytes of plain structs: they are the same program.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

namespace vicinal::bench {

// One end of the line between two processes. Failures end a child; in the parent they are thrown.
class Line {
 public:
  explicit Line(int number) noexcept : number_(number) {}
  Line(Line&& other) noexcept;
  Line& operator=(Line&& other) noexcept;
  ~Line();

  template <class T>
  void send(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof value);
  }
  template <class T>
  [[nodiscard]] T receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof value);
    return value;
  }
  template <class T>
  void send_all(const std::vector<T>& values) {
    send(values.size());
    send_bytes(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  [[nodiscard]] std::vector<T> receive_all() {
    std::vector<T> values(receive<std::size_t>());
    receive_bytes(values.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  void send_bytes(const void* bytes, std::size_t count);
  void receive_bytes(void* bytes, std::size_t count);

  int number_;
};

class Child {
 public:
  // Starts a process that does `work` and ends.
  explicit Child(const std::function<void(Line&)>& work);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // ends it

  [[nodiscard]] Line& line() noexcept { return line_; }

 private:
  Line line_{-1};
  pid_t process_ = -1;
};

// Memory of this process, from the system: what it has written to and nobody else has, and that
// with its share of all else, files that it maps included. Zeros where the system does not tell.
struct MemoryBytes {
  std::size_t alone = 0;
  std::size_t share = 0;
};
[[nodiscard]] MemoryBytes memory_of_process();

}  // namespace vicinal::bench
