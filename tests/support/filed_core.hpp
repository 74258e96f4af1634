// The heart of an index whose segments lie in a file on paper.
//
// Thread safety: as what it holds; made and ended by one thread.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "engine/core.hpp"
#include "engine/reader.hpp"
#include "support/index_world.hpp"
#include "support/paper_file.hpp"

namespace vicinal::engine {

// What an opening does to a core that nobody else has yet.
struct CoreSteps {
  [[nodiscard]] static segment::VersionBuilder& builder(Core& core) { return core.builder_; }
  static void publish(Core& core) {
    core.root_.publish(core.builder_.finish(),
                       [&core] { core.builder_.retire_replaced(core.reclaimer_); });
    core.builder_.reopen(static_cast<const segment::Version&>(*core.root_.newest()));
  }
};

}  // namespace vicinal::engine

namespace vicinal::test {

// One message about the ids from `first` on.
inline Status write_rows(engine::Core& core, std::uint64_t first, std::uint64_t rows,
                         engine::MessageKind kind = engine::MessageKind::add) {
  const auto ids = ids_from(first, rows);
  auto message = core.make_message(kind, rows);
  if (!message.ok()) return message.status();
  std::copy(ids.begin(), ids.end(), (*message)->ids());
  if (kind == engine::MessageKind::add || kind == engine::MessageKind::upsert) {
    const auto vectors = rows_of(ids, core.options().dim);
    const Status encoded = (*message)->encode(0, vectors.data(), rows);
    if (!encoded.ok()) return encoded;
  }
  return core.write_and_wait(**message);
}

struct FiledCore {
  explicit FiledCore(const IndexOptions& options, std::uint64_t rows)
      : plain(std::move(*engine::Core::create(options))),
        file(plain->quantiser().layout()),
        core(std::move(*engine::Core::create(options))),
        paper(std::make_unique<PaperReader>(file, options.metric, builder(), core->damage())) {
    VICINAL_ASSERT(write_rows(*plain, 0, rows).ok());
    const auto& version = static_cast<const segment::Version&>(*plain->root().newest());
    tables = std::make_unique<ForeignTables>(*version.ids);
    const PaperCommit commit = file.log(nullptr, version);
    VICINAL_ASSERT(builder().begin(newest(), commit.sequence).ok());
    VICINAL_ASSERT(paper->replay(commit).ok());
    VICINAL_ASSERT(tables->attach(paper->replayer()).ok());
    engine::CoreSteps::publish(*core);
  }
  FiledCore(const FiledCore&) = delete;
  FiledCore& operator=(const FiledCore&) = delete;
  ~FiledCore() {
    core.reset();  // with its readers gone, its segments leave their mappings
    VICINAL_ASSERT(tables->users == 0);
  }

  [[nodiscard]] segment::VersionBuilder& builder() { return engine::CoreSteps::builder(*core); }
  [[nodiscard]] const segment::Version& newest() const {
    return static_cast<const segment::Version&>(*core->root().newest());
  }
  // Flips a bit of a block's rows.
  void damage_rows(std::uint32_t number, std::uint32_t block) {
    const segment::Segment& segment = *newest().view(number)->segment;
    const_cast<std::uint8_t*>(segment.slab())[segment.rows_offset(block)] ^= 1;
  }

  std::shared_ptr<engine::Core> plain;  // the same rows in memory
  PaperFile file;
  std::shared_ptr<engine::Core> core;
  std::unique_ptr<PaperReader> paper;
  std::unique_ptr<ForeignTables> tables;
};

}  // namespace vicinal::test
