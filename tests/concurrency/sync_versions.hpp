// Versions that show whether they were freed, and the protocol's steps one by one.
//
// Thread safety: a Pool's objects as the protocol says; the Pool itself belongs to the writer.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"

namespace vicinal::sync {

// The protocol's steps one by one; VersionRoot names it as a friend.
struct VersionRootSteps {
  static std::uint64_t load_generation(const VersionRoot& root) { return root.load_generation(); }
  static void announce(ReaderSlot& slot, std::uint64_t generation) {
    VersionRoot::announce(slot, generation);
  }
  static const VersionHeader* load_current(const VersionRoot& root) { return root.load_current(); }
  static void narrow(ReaderSlot& slot, std::uint64_t sequence) {
    VersionRoot::narrow(slot, sequence);
  }
  static void store_current(VersionRoot& root, const VersionHeader* version) {
    root.store_current(version);
  }
  static void store_generation(VersionRoot& root, std::uint64_t generation) {
    root.generation_.store(generation, release);
  }
};

using Steps = VersionRootSteps;

inline std::uint64_t scale() {
  const char* text = std::getenv("VICINAL_TEST_SCALE");
  const std::uint64_t value = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  return value == 0 ? 1 : value;
}

inline constexpr std::uint64_t kAlive = 0x600d600d600d600d;
inline constexpr std::uint64_t kPoison = 0xdeaddeaddeaddead;
inline constexpr std::uint32_t kParts = 3;

// Part of a version, as a segment is: reachable from many versions.
struct Part : Versioned {
  std::uint64_t state = kAlive;
};

struct Version : VersionHeader {
  std::uint64_t state = kAlive;
  Part* parts[kParts] = {};
};

// Everything ever made. Freed objects stay, poisoned, so that reading one is caught and not
// undefined.
class Pool {
 public:
  Part* part(std::uint64_t birth) { return made(parts_, birth); }
  Version* version(std::uint64_t birth) {
    Version* fresh = made(versions_, birth);
    fresh->sequence = birth;
    return fresh;
  }

 private:
  template <class T>
  static T* made(std::vector<std::unique_ptr<T>>& all, std::uint64_t birth) {
    all.push_back(std::make_unique<T>());
    T* fresh = all.back().get();
    fresh->birth = birth;
    fresh->bytes = sizeof(T);
    fresh->destroy = [](Versioned* self) noexcept { static_cast<T*>(self)->state = kPoison; };
    return fresh;
  }
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::unique_ptr<Version>> versions_;
};

// Whether a reader may use the version: it and all that it reaches are alive and of its time.
inline bool intact(const Version& version) {
  if (version.state != kAlive) return false;
  for (const Part* part : version.parts) {
    if (part->state != kAlive || part->birth > version.sequence) return false;
  }
  return true;
}

}  // namespace vicinal::sync
