// SIGINT and SIGTERM, turned into a condition that long work asks about.
//
// Thread safety: every function from any thread, after catch_interrupts().
// I1: the handler only writes to a pipe, and nothing ever reads it: once interrupted, always
//     interrupted.
// I2: a wait for input ends at a signal that comes at any moment, also just before the wait.
#pragma once

namespace vicinal::cli {

// Installs the handlers, and ignores SIGPIPE so that writing reports it. Once, before any thread.
void catch_interrupts();

[[nodiscard]] bool interrupted() noexcept;

// Throws ABORTED, exit status 130, when a signal came.
void check_interrupted();

// Waits until the descriptor can be read, or has ended. Throws as check_interrupted.
void wait_readable(int descriptor);

}  // namespace vicinal::cli
