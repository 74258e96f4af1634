// A frame that several hold and lock, and one takes away.
#include "simulator/buffer_headers.hpp"
#include "simulator/scenario.hpp"

namespace vicinal::sim {
namespace {

const Scenario kBufferHeader("buffer_header", Buffers<cache::BufferHeader>::run);

}  // namespace
}  // namespace vicinal::sim
