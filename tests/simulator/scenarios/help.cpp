// Searches that share jobs with helpers, any of which may die, while a writer frees: the jobs alone
// with tracked data, then the engine's.
#include <array>
#include <memory>
#include <vector>

#include "engine/core.hpp"
#include "engine/helpers.hpp"
#include "engine/reader.hpp"
#include "simulator/scenario.hpp"
#include "simulator/world.hpp"

namespace vicinal::sim {
namespace {

constexpr std::uint32_t kJobs = 1;
constexpr std::uint32_t kOwnersRealm = 20;

// What an owner fills in, and what the two helpers find.
struct Content {
  sync::Plain<const Version*> version;
  sync::Plain<std::uint64_t> found[2];
  sync::Atomic<std::uint32_t> done[2];
};

struct Shared {
  World world;
  Content content;
  [[nodiscard]] sync::HelpJobs& jobs() { return world.slots.jobs(); }
};

// `patience`: how often it waits for the first helper's result.
void search(Shared& shared, sync::ReaderSlot& slot, int patience) {
  const auto* version = static_cast<const Version*>(shared.world.root.enter(slot));
  const std::uint32_t job = shared.jobs().try_take(kJobs, version->sequence, kOwnersRealm);
  if (job != sync::HelpJobs::kNone) {
    Content& content = shared.content;
    content.version = version;
    for (auto& done : content.done) done.store(0, sync::relaxed);
    if (pick(8) == 0) {
      shared.jobs().give_back(job);
    } else {
      shared.jobs().open(job);
      World::look_at(*version);
      for (int turn = 0; turn < patience; ++turn) {
        if (content.done[0].load(sync::relaxed) == 0) pause();
      }
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (content.done[i].load(sync::acquire) == 0) continue;
        check(content.found[i] == version->sequence, "a result of another search");
      }
      shared.jobs().close(job);
    }
  }
  sync::VersionRoot::leave(slot);
}

void own(Shared& shared, int searches, int patience = 0) {
  const auto claimed = shared.world.slots.claim(kOwnersRealm);
  check(claimed.ok(), "no slot");
  sync::ReaderSlot& slot = shared.world.slots.slot(*claimed);
  for (int i = 0; i < searches; ++i) search(shared, slot, patience);
  shared.world.slots.release_slot(*claimed);
}

// `place`: where its results go.
void help(Shared& shared, std::uint32_t realm, std::uint32_t place, int turns) {
  const auto helper = shared.jobs().enlist(realm);
  check(helper.ok(), "no number");
  for (int i = 0; i < turns; ++i) {
    if (!shared.jobs().try_join(0, *helper)) {
      shared.jobs().set_idle(*helper, pick(2) == 0);
      continue;
    }
    Content& content = shared.content;
    const Version& version = *content.version;
    World::look_at(version);
    if (content.done[place].load(sync::relaxed) == 0) {
      content.found[place] = version.sequence;
      content.done[place].store(1, sync::release);
    }
    shared.jobs().leave(0, *helper);
  }
  shared.jobs().dismiss(*helper);
}

void write(Shared& shared) {
  for (int i = 0; i < 3; ++i) {
    shared.world.commit();
    shared.world.scan();
  }
}

void jobs() {
  Shared shared;
  spawn([&] { own(shared, 3); });
  spawn([&] { help(shared, 1, 0, 4); });
  spawn([&] { help(shared, 2, 1, 4); });
  spawn([&] { write(shared); });
  join_all();
  shared.world.scan();
  check(shared.world.reclaimer.count() == 0, "something that nobody holds is kept");
  check(shared.jobs().helpers() == 0, "a helper's number is lost");
  check(shared.jobs().try_take(kJobs, 1, 0) == 0, "a job is lost");
}

const Scenario kJobsAlone("help_jobs", jobs);

// Three owners in turn and one helper, who is often the last one in: what an owner has read of the
// job is over before the next one's helper writes there.
void jobs_in_turn() {
  Shared shared;
  for (int i = 0; i < 3; ++i) spawn([&] { own(shared, 1, 20); });
  spawn([&] { help(shared, 1, 0, 8); });
  join_all();
}

const Scenario kJobsInTurn("help_jobs_in_turn", jobs_in_turn);

// A search and a helper die, wherever they are; who joined them mends it.
void job_deaths() {
  Shared shared;
  const ThreadId owner = spawn_mortal(1 + pick(40), [&] { own(shared, 2); });
  const ThreadId helper = spawn_mortal(1 + pick(25), [&] { help(shared, 1, 0, 3); });
  spawn([&] { help(shared, 2, 1, 3); });
  spawn([&] { write(shared); });
  if (pick(2) == 0) {
    join(helper);
    shared.jobs().retire(1);
    spawn([&] { help(shared, 3, 0, 2); });
  }
  join(owner);
  shared.world.slots.retire_owned(kOwnersRealm, sync::Afterwards::keep);
  join_all();
  shared.jobs().retire(1);
  shared.world.scan();
  check(shared.world.reclaimer.count() == 0, "what the dead held is kept");
}

const Scenario kJobDeaths("help_job_deaths", job_deaths);

constexpr std::uint64_t kCost = 10;
constexpr std::uint32_t kDim = 8;
constexpr std::uint64_t kRows = 97;  // in four blocks, and a chunk is one block

std::shared_ptr<engine::Core> filled_core() {
  IndexOptions options;
  options.dim = kDim;
  auto made = engine::Core::create(options);
  check(made.ok(), "no index");
  std::shared_ptr<engine::Core> core = std::move(made).value();
  core->help().set_limits(2 + pick(2), {0, 0, 1});
  auto message = core->make_message(engine::MessageKind::add, kRows);
  check(message.ok(), "no message");
  std::vector<float> rows(kRows * kDim);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    (*message)->ids()[i] = i;
    rows[i * kDim + i % kDim] = 1 + static_cast<float>(i);
  }
  check((*message)->encode(0, rows.data(), kRows).ok(), "not encoded");
  check(core->write_and_wait(**message).ok(), "not added");
  return core;
}

void remove_row(engine::Core& core, std::uint64_t id) {
  auto message = core.make_message(engine::MessageKind::remove, 1);
  check(message.ok(), "no message");
  (*message)->ids()[0] = id;
  check(core.write_and_wait(**message).ok(), "not removed");
}

// Every row's score is 1 with the query of its axis: which one is best is the smallest id.
void find_axis(engine::ReaderCore& reader, std::uint64_t axis, std::uint64_t removed) {
  std::array<float, kDim> query = {};
  query[axis] = 1;
  SearchOptions options;
  options.k = 3;
  search::Found found;
  std::uint64_t sequence = 0;
  check(reader.search(query, options, nullptr, &found, &sequence).ok(), "a search failed");
  check(found.ids.size() == 3, "rows are missing");
  const bool gone = sequence > 1 && axis == removed;
  check(found.ids[0] == axis + (gone ? kDim : 0), "not the best row of the version");
}

void engine_help() {
  let_waits_end();
  std::shared_ptr<engine::Core> core = filled_core();
  check(core->slots().bytes() > 0 && core->help().bytes() == 0, "jobs without helpers");
  sync::Atomic<std::uint32_t> ended;
  std::vector<ThreadId> searching;
  for (std::uint32_t i = 0; i < 2; ++i) {
    searching.push_back(spawn([&core, i] {
      auto reader = engine::ReaderCore::open(core);
      check(reader.ok(), "no reader");
      find_axis(**reader, 1 + i, 1);
      find_axis(**reader, 1, 1);
    }));
  }
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      auto helper = engine::HelperCore::open(*core);
      check(helper.ok(), "no helper");
      do {
        (*helper)->help(1000);
      } while (ended.load(sync::acquire) == 0);
    });
  }
  searching.push_back(spawn([&] {
    remove_row(*core, 1);
    check(core->help().bytes() < (std::uint64_t{1} << 30), "too many bytes");
  }));
  for (const ThreadId thread : searching) join(thread);
  ended.store(1, sync::release);
  core->help().ring();
  join_all();
  check(core->help().helpers() == 0, "a helper is lost");
}

const Scenario kEngineHelp("engine_help", engine_help, kCost);

// The index's own threads come, help and go. Nobody waits for another writer, so that no wait needs
// its bound: a thread that does not hear that it should end is a failure.
void helper_threads() {
  std::shared_ptr<engine::Core> core = filled_core();
  std::vector<ThreadId> searching;
  for (std::uint32_t i = 0; i < 2; ++i) {
    searching.push_back(spawn([&core, i] {
      auto reader = engine::ReaderCore::open(core);
      check(reader.ok(), "no reader");
      for (int turn = 0; turn < 3; ++turn) find_axis(**reader, 1 + i, 1);
      check(core->help().bytes() < (std::uint64_t{1} << 30), "too many bytes");
    }));
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    searching.push_back(spawn([&core, i] {
      (void)core->helper_threads().set(1 + pick(2));
      if (i == 0) remove_row(*core, 1);
      if (pick(2) == 0) (void)core->helper_threads().set(pick(2));
    }));
  }
  for (const ThreadId thread : searching) join(thread);
  check(core->helper_threads().set(0).ok(), "helpers do not end");
}

const Scenario kHelperThreads("helper_threads", helper_threads, kCost);

}  // namespace
}  // namespace vicinal::sim
