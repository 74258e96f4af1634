#include "bench/environment.hpp"

#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#include "bench/commit.hpp"
#include "bench/cores.hpp"
#include "bench/index.hpp"

namespace vicinal::bench {
namespace {

std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    if (at != std::string::npos) return line.substr(at);
  }
  return "unknown";
}

std::string kernel() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release;
}

Value load() {
  double minute = 0;
  return ::getloadavg(&minute, 1) == 1 ? Value(minute) : Value();
}

}  // namespace

Row environment() {
  return {{"commit", std::string(kCommit)},
          {"machine", machine()},
          {"cores", core_count()},
          {"kernel", kernel()},
          {"simd", std::string(make_index(8, 4).stats().kernel)},
          {"compiler", std::string(VICINAL_COMPILER)},
          {"load_1m", load()}};
}

}  // namespace vicinal::bench
