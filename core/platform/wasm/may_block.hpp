// Whether the calling thread may sleep. JavaScript knows and says so once, when it has attached the
// thread: by the module's export, or through the bindings.
//
// Thread safety: each thread sets its own; needs the thread's TLS area.
// I1: a thread that was not told may not sleep.
#pragma once

extern "C" void vicinal_set_may_block(int allowed);
