// One message, a writer that dies in the middle of completing it, its successor, and the producer,
// who gives the message up as soon as it is completed.
//
// The whole engine has these steps, too (engine.cpp, bereaved), but a death seldom comes between
// two of them there.
#include <memory>
#include <utility>

#include "engine/in_hand.hpp"
#include "platform/futex.hpp"
#include "quant/quantiser.hpp"
#include "simd/kernels.hpp"
#include "simulator/index.hpp"
#include "simulator/scenario.hpp"

namespace vicinal::sim {
namespace {

using engine::InHand;
using engine::Message;

// `enter` and `complete` have so many steps, the wake included.
constexpr std::uint64_t kStepsOfCompletion = 14;

const quant::Quantiser& quantiser() {
  static const std::unique_ptr<quant::Quantiser> made = std::move(
      quant::Quantiser::create(kDim, Metric::cosine, 4, 0, simd::best_kernels())).value();
  return *made;
}

void completing() {
  auto made = Message::create(quantiser(), engine::MessageKind::clear, 0, nullptr);
  check(made.ok(), "no message");
  Message* const message = made->release();
  InHand hand;
  const ThreadId producer = spawn([message] {
    const void* const word = message->completion.address();
    while (!message->completion.done()) platform::futex_wait(word, 0, 1000);
    Message::destroy(message);
  });
  hand.enter(*message);
  const ThreadId mortal =
      spawn_mortal(1 + pick(kStepsOfCompletion), [&] { hand.complete(*message); });
  join(mortal);
  (void)hand.recover();
  while (Message* left = hand.first()) hand.complete(*left);
  join(producer);
  hand.free_let_go();
}

const Scenario kCompleting("completing", completing);

}  // namespace
}  // namespace vicinal::sim
