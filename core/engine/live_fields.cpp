#include "engine/live_fields.hpp"

#include <span>

#include "storage/log_format.hpp"

namespace vicinal::engine {

Status LiveFields::map() noexcept {
  auto page = file_->map(storage::kLivePagePosition, storage::kFilePageBytes,
                         platform::Mapping::shared_write);
  if (page.code() == Code::unsupported) return {};
  if (!page.ok()) return page.status();
  page_ = static_cast<sync::LivePage*>(*page);
  return {};
}

void LiveFields::begin() noexcept {
  const auto normal = static_cast<std::uint32_t>(storage::LiveState::normal);
  if (page_ != nullptr) {
    page_->writer.store(platform::process_id(), sync::relaxed);
    page_->state.store(normal, sync::relaxed);
    return;
  }
  put(storage::kLiveWriter, platform::process_id(), sizeof(std::uint64_t));
  put(storage::kLiveState, normal, sizeof(std::uint32_t));
}

void LiveFields::announce(std::uint64_t end, std::uint64_t sequence) noexcept {
  if (page_ != nullptr) return page_->announce(end, sequence);
  put(storage::kLiveSequence, sequence, sizeof sequence);
  put(storage::kLiveEnd, end, sizeof end);  // I2
}

void LiveFields::say_moved() noexcept {
  if (page_ != nullptr) return page_->say_moved();
  put(storage::kLiveState, sync::LivePage::kMoved, sizeof(std::uint32_t));
}

void LiveFields::end() noexcept {
  if (page_ != nullptr) {
    page_->writer.store(0, sync::relaxed);
  } else {
    put(storage::kLiveWriter, 0, sizeof(std::uint64_t));
  }
  unmap();
}

void LiveFields::unmap() noexcept {
  if (page_ != nullptr) platform::unmap_file(page_, storage::kFilePageBytes);
  page_ = nullptr;
}

void LiveFields::put(std::uint64_t offset, std::uint64_t value, std::size_t bytes) noexcept {
  // The first bytes of the number: every target is little-endian.
  const auto all = std::as_bytes(std::span(&value, 1));
  (void)file_->write_at(storage::kLivePagePosition + offset, all.first(bytes));  // I1
}

}  // namespace vicinal::engine
