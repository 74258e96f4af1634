#include "simulator/sites.hpp"

#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace vicinal::sim {

using sync::Order;

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::load: return "load";
    case Kind::store: return "store";
    case Kind::change: return "change";
    case Kind::compare_exchange: return "compare_exchange";
  }
  return "?";
}

const char* name_of(Order order) noexcept {
  switch (order) {
    case sync::relaxed: return "relaxed";
    case sync::acquire: return "acquire";
    case sync::release: return "release";
    case sync::acq_rel: return "acq_rel";
    case sync::seq_cst: return "seq_cst";
    default: return "?";
  }
}

Sites& sites() {
  static Sites all;
  return all;
}

std::size_t Sites::Hash::operator()(const Key& key) const noexcept {
  return mix64(reinterpret_cast<std::uintptr_t>(key.file) ^ key.place << 20);
}

namespace {

// "bool vicinal::sync::SlotClaims<kCount>::take() [with ...]" is "take".
std::string short_name(const char* function) {
  std::string name(function);
  name.resize(std::min(name.find('('), name.size()));
  const std::size_t at = name.find_last_of(": ");
  return at == std::string::npos ? name : name.substr(at + 1);
}

const char* below_core(const char* file) {
  const char* found = nullptr;
  for (const char* at = file; (at = std::strstr(at, "core/")) != nullptr; ++at) found = at;
  return found == nullptr ? nullptr : found + std::strlen("core/");
}

}  // namespace

std::uint32_t Sites::at(const sync::simulated::Place& place, Kind kind, Orders orders) {
  const Key key{place.file_name(), std::uint64_t{place.line()} << 16 | place.column()};
  const auto found = known_.find(key);
  if (found != known_.end()) {
    if (found->second != kNone) reached_[found->second] = true;
    return found->second;
  }
  std::uint32_t number = kNone;
  if (const char* file = below_core(place.file_name())) {
    const Site site{file, short_name(place.function_name()), place.line(), place.column(), kind,
                    orders};
    // A header has a copy of its name in each object.
    for (number = 0; number < sites_.size(); ++number) {
      const Site& other = sites_[number];
      if (other.line == site.line && other.column == site.column && other.file == site.file) break;
    }
    if (number == sites_.size()) sites_.push_back(site);
    reached_.resize(sites_.size());
    reached_[number] = true;
  }
  known_.emplace(key, number);
  return number;
}

std::string text_of(Kind kind, Orders orders) {
  std::string text = name_of(orders.success);
  if (kind == Kind::compare_exchange) text += std::string("/") + name_of(orders.failure);
  return text;
}

std::string title(std::uint32_t number) {
  const auto& all = sites().all();
  const auto plain = [](const Site& site) {
    return site.file + " " + site.function + " " + name_of(site.kind) + " " +
           text_of(site.kind, site.orders);
  };
  const Site& site = all[number];
  const std::string text = plain(site);
  std::uint32_t before = 0;
  for (const Site& other : all) {
    const bool earlier = std::pair(other.line, other.column) < std::pair(site.line, site.column);
    if (earlier && plain(other) == text) ++before;
  }
  return before == 0 ? text : text + " #" + std::to_string(before + 1);
}

std::vector<Orders> weaker(const Site& site) {
  const auto orders_below = [](Order order, bool loads, bool stores) {
    std::vector<Order> below;
    if (order == sync::seq_cst && loads && stores) below.push_back(sync::acq_rel);
    const bool full = order == sync::seq_cst || order == sync::acq_rel;
    if (full && loads) below.push_back(sync::acquire);
    if (full && stores) below.push_back(sync::release);
    if (order != sync::relaxed) below.push_back(sync::relaxed);
    return below;
  };
  std::vector<Orders> all;
  const bool loads = site.kind != Kind::store;
  const bool stores = site.kind != Kind::load;
  for (const Order order : orders_below(site.orders.success, loads, stores)) {
    all.push_back({order, site.orders.failure});
  }
  if (site.kind == Kind::compare_exchange) {
    for (const Order order : orders_below(site.orders.failure, true, false)) {
      all.push_back({site.orders.success, order});
    }
  }
  return all;
}

}  // namespace vicinal::sim
