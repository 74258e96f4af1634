// The operations of the core as the source has them, and what weaker orders they could have.
//
// Thread safety: none.
// I1: a site is a place and the order written there; the core's files only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sync/atomic.hpp"

namespace vicinal::sim {

enum class Kind : std::uint8_t { load, store, change, compare_exchange };

[[nodiscard]] const char* name_of(Kind kind) noexcept;
[[nodiscard]] const char* name_of(sync::Order order) noexcept;

struct Orders {
  sync::Order success = sync::relaxed;
  sync::Order failure = sync::relaxed;  // of a compare_exchange

  bool operator==(const Orders&) const = default;
};

struct Site {
  std::string file;  // below core/
  std::string function;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  Kind kind = Kind::load;
  Orders orders;
};

struct Mutation {
  std::uint32_t site = 0;
  Orders orders;
};

class Sites {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The site's number, or kNone outside of the core.
  [[nodiscard]] std::uint32_t at(const sync::simulated::Place& place, Kind kind, Orders orders);
  [[nodiscard]] const std::vector<Site>& all() const noexcept { return sites_; }

  // Which sites were reached since the last call of forget_reached.
  [[nodiscard]] bool reached(std::uint32_t site) const { return reached_[site]; }
  void forget_reached() { reached_.assign(sites_.size(), false); }

 private:
  struct Key {
    const char* file;
    std::uint64_t place;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  std::unordered_map<Key, std::uint32_t, Hash> known_;
  std::vector<Site> sites_;
  std::vector<bool> reached_;
};

// Of the program: numbers stay the same from run to run.
[[nodiscard]] Sites& sites();

// "sync/version_root.hpp narrow store release", with "#2" for the second one that reads the same.
[[nodiscard]] std::string title(std::uint32_t site);
[[nodiscard]] std::string text_of(Kind kind, Orders orders);
// Every weaker order, the weakest last.
[[nodiscard]] std::vector<Orders> weaker(const Site& site);

}  // namespace vicinal::sim
