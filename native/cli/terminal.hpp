// The three standard streams: results to standard output, progress and errors to standard error.
//
// Thread safety: one thread at a time.
// I1: nothing but write_output writes to standard output.
// I2: progress appears on a terminal only; colour only there and without NO_COLOR.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vicinal::cli {

// Thrown when whoever read our output has gone: no error, nothing more to say.
struct OutputClosed {};

// Gives each standard stream that was handed to us closed a placeholder, so that no file we open
// gets its number. Once, at the start.
void claim_standard_streams();

// Everything, or OutputClosed, or an IO failure.
void write_output(std::string_view text);

// "vicinal: MESSAGE" on standard error.
void write_error(std::string_view message);

// A line on standard error that is rewritten as work goes on.
class Progress {
 public:
  // `what`: the unit, for example "rows"; `total`: of it, where known.
  Progress(std::string what, std::optional<std::uint64_t> total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Removes the line.
  ~Progress();

  void show(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::optional<std::uint64_t> total_;
  bool on_terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace vicinal::cli
