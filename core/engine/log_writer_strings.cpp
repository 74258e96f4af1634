// What a log writer appends of the strings of an index whose ids are strings (log_writer.hpp I6).
//
// A record that an attempt has written stays in the list when the attempt comes to FULL: the next
// commit names it. Its strings are those of rows that some version has had, so that it is true of
// every later one.
#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "engine/log_writer.hpp"

namespace vicinal::engine {

using segment::StringCursor;
using segment::Version;

namespace {

// Whether a live row of the version has this string.
[[nodiscard]] bool is_live(const Version& version, const StringCursor& string) noexcept {
  const auto handle = segment::Handle::of(string.ordinal(), string.hash());
  return version.find(handle, string.hash()).valid();
}

}  // namespace

std::span<const StringsRecord> LogWriter::string_records() const noexcept {
  return {reinterpret_cast<const StringsRecord*>(string_records_.data()),
          string_records_.size() / sizeof(StringsRecord)};
}

std::uint64_t LogWriter::needed_string_bytes() const noexcept {
  if (recorded_strings_ <= live_rows_) return string_bytes_;
  return static_cast<std::uint64_t>(static_cast<double>(string_bytes_) *
                                    static_cast<double>(live_rows_) /
                                    static_cast<double>(recorded_strings_));
}

Result<bool> LogWriter::collect_strings(const Version& version, std::uint64_t from,
                                        std::size_t bytes_max) noexcept {
  list_.clear();
  StringCursor cursor(version.strings, from);
  while (cursor.next()) {
    if (!list_.fits(cursor.ordinal(), cursor.text().size())) return false;
    const Status added = list_.add(cursor.ordinal(), cursor.text());
    if (!added.ok()) return added;
    if (list_.bytes() > bytes_max) return false;
  }
  return true;
}

Status LogWriter::add_strings(const Version* base, const Version& version) noexcept {
  if (!version.strings.any()) return {};
  const std::uint64_t from =
      base == nullptr ? recorded_end_ : std::max(base->strings.end, recorded_end_);
  const std::size_t loose = base == nullptr ? 0 : loose_string_bytes_;
  // Of a directory: what commits have brought was little enough, and may be a list a little longer.
  const std::size_t most = kLooseStringBytes * (base == nullptr ? 2 : 1);
  const auto few = collect_strings(version, from, most - std::min(loose, most));
  if (!few.ok()) return few.status();
  if (!*few) {
    const auto all = record_strings(version, Wanted::all, ~std::uint64_t{0});
    if (!all.ok()) return all.status();
    list_.clear();
  }
  const auto records = string_records().subspan(base == nullptr ? 0 : records_named_);
  GrowingBuffer places;
  for (const StringsRecord& record : records) {
    const Status added = places.append_value(record.place);
    if (!added.ok()) return added;
  }
  return record_.set_strings(
      version.strings.end,
      {reinterpret_cast<const storage::StringsPlace*>(places.data()), records.size()}, list_);
}

void LogWriter::strings_were_written(bool commit, const Version& version) noexcept {
  if (!version.strings.any()) return;
  records_named_ = string_records().size();
  if (commit && !list_.empty()) loose_string_bytes_ += list_.bytes();
  if (!commit) loose_string_bytes_ = list_.empty() ? 0 : list_.bytes();
}

Result<bool> LogWriter::write_strings(const Version& version, std::uint64_t bytes) noexcept {
  if (!version.strings.any()) return true;
  auto all = record_strings(version, Wanted::live, bytes);
  // A row whose string no look-up finds has lost it, or a file has lied.
  if (all.ok() && *all && recorded_strings_ != version.live_rows) return Status(Code::corrupt);
  return all;
}

Result<bool> LogWriter::record_strings(const Version& version, Wanted wanted,
                                       std::uint64_t bytes) noexcept {
  const std::uint64_t before = bytes_written_;
  list_.clear();
  StringCursor cursor(version.strings, recorded_end_);
  while (cursor.next()) {
    if (wanted == Wanted::live && !is_live(version, cursor)) continue;
    const bool full = !list_.empty() && (list_.bytes() >= kStringsRecordBytes ||
                                         !list_.fits(cursor.ordinal(), cursor.text().size()));
    if (full) {
      const Status appended = append_strings_record(version.sequence);
      if (!appended.ok()) return appended;
      if (bytes_written_ - before >= bytes) return false;
    }
    const Status added = list_.add(cursor.ordinal(), cursor.text());
    if (!added.ok()) return added;
  }
  if (!list_.empty()) {
    const Status appended = append_strings_record(version.sequence);
    if (!appended.ok()) return appended;
  }
  recorded_end_ = version.strings.end;
  return true;
}

Status LogWriter::append_strings_record(std::uint64_t sequence) noexcept {
  const Status room = string_records_.reserve(sizeof(StringsRecord));
  if (!room.ok()) return room;
  const auto sum =
      list_.write_record(strings_record_, place_.uuid, place_.end, sequence, place_.previous);
  if (!sum.ok()) return sum.status();
  const Status written = write(place_.end, strings_record_.data(), strings_record_.size());
  if (!written.ok()) return written;
  (void)string_records_.append_value(StringsRecord{{list_.first(), place_.end}, list_.last(),
                                                   strings_record_.size(), list_.size()});
  place_.end += strings_record_.size();
  place_.previous = *sum;
  string_bytes_ += strings_record_.size();
  recorded_strings_ += list_.size();
  recorded_end_ = list_.last() + 1;
  loose_string_bytes_ = 0;
  list_.clear();
  return {};
}

Status LogWriter::adopt_strings(const Version& version,
                                std::span<const StringsRecord> records) noexcept {
  if (!version.strings.any()) return {};
  // Commits may name records that overlap; a directory may not, and will have new ones.
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].place.first <= records[i - 1].last) records = {};
  }
  const Status kept = string_records_.append(records.data(), records.size_bytes());
  if (!kept.ok()) return kept;
  records_named_ = records.size();
  for (const StringsRecord& record : records) {
    string_bytes_ += record.bytes;
    recorded_strings_ += record.strings;
  }
  recorded_end_ = records.empty() ? 1 : records.back().last + 1;
  live_rows_ = version.live_rows;
  StringCursor cursor(version.strings, recorded_end_);
  while (cursor.next()) {
    loose_string_bytes_ += cursor.text().size() + 2 * sizeof(std::uint32_t);
  }
  return {};
}

}  // namespace vicinal::engine
