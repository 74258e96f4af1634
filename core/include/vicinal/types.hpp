// The vocabulary of the public surface: options in, hits and figures out.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace vicinal {

inline constexpr std::uint32_t kDimMax = 16384;
// A coordinate's magnitude must stay below this; the squares of 16,384 of them fit a double, and
// the products of two such vectors' lengths fit a float.
inline constexpr float kMagnitudeLimit = 1e16f;

enum class Metric : std::uint8_t { cosine = 0, ip = 1, l2 = 2 };
// Rows that an index keeps as they were given, beside their codes: for exact scores and for `get`.
// float16: rounded to the nearest, of two to the even one, to 11 bits; a magnitude of 65,520 and
// more is NOT_FINITE then. Below 2^-14 bits are lost, below 2^-25 all of them: rows as short as
// that, whatever the metric, are for float32, or to be made longer.
enum class Originals : std::uint8_t { none = 0, float16 = 1, float32 = 2 };

// What names a row: a number, or up to kStringBytesMax bytes, usually UTF-8, which are compared as
// they are. Chosen once for an index; the other kind is BAD_ID there.
enum class IdKind : std::uint8_t { number = 0, string = 1 };
inline constexpr std::uint32_t kStringBytesMax = 65535;

// A list of strings as an argument: whatever a span of std::string_view can be made of. Not {},
// which is an empty list of numbers.
class IdStrings {
 public:
  template <class List>
    requires std::is_convertible_v<const List&, std::span<const std::string_view>>
  IdStrings(const List& list) noexcept : list_(list) {}  // NOLINT: implicit
  [[nodiscard]] std::span<const std::string_view> list() const noexcept { return list_; }

 private:
  std::span<const std::string_view> list_;
};

// How rows are grouped for sublinear search. `automatic` and `none` are the same flat index until
// partitions exist; a count is rejected with UNSUPPORTED until then.
struct Partitions {
  enum class Mode : std::uint8_t { automatic = 0, none = 1, count = 2 };
  Mode mode = Mode::automatic;
  std::uint32_t count = 0;
};

struct IndexOptions {
  std::uint32_t dim = 0;                    // 1..16384 coordinates
  Metric metric = Metric::cosine;
  std::uint8_t bits = 4;                    // 1, 2, 3, 4 or 8 a coordinate
  Originals originals = Originals::none;
  Partitions partitions;
  std::uint64_t seed = 0;                   // of the rotation
  std::uint64_t memory_bytes_max = 0;       // 0: no limit; beyond it writes get FULL
  std::uint64_t retired_bytes_max = 0;      // 0: the default cap; beyond it writes get BUSY
  IdKind ids = IdKind::number;
};

// A row found. cosine and ip: larger is nearer. l2: the negative squared distance.
struct Hit {
  std::uint64_t id = 0;
  float score = 0;
};

class Filter;

// The same of an index whose ids are strings. The bytes belong to whoever made it.
struct StringHit {
  std::string_view id;
  float score = 0;
};

struct SearchOptions {
  std::size_t k = 10;
  // Only these ids may appear. Unknown ones are ignored; an empty list allows nothing.
  std::optional<std::span<const std::uint64_t>> filter;
  // The same where ids are strings.
  std::optional<std::span<const std::string_view>> string_filter;
  // The same, prepared once by Reader::filter of the same index; not together with `filter`.
  Filter* compiled_filter = nullptr;
  // Of an index that keeps originals: the so many best by their codes, k at least, are scored again
  // by their originals, and the k best of these are found, with exact scores. 0: not, codes decide.
  // Not given: 4 k with originals, else 0. BAD_OPTION(rerank) for more than 0 without originals.
  std::optional<std::size_t> rerank;
  // Only rows with a score of at least this; of exact scores where there are such.
  float min_score = -std::numeric_limits<float>::infinity();
  // Only rows that come after this hit in result order: the next page. Only where codes decide,
  // else BAD_OPTION(after): of which rows a page is the next one, exact scores of a few cannot
  // tell. Pages of an index that keeps originals need rerank = 0, all of them.
  std::optional<Hit> after;
  // The same where ids are strings. Of a row that is gone meanwhile the place among rows of the
  // same score is not known: all of these come again. So do they where the id has no data().
  std::optional<StringHit> string_after;
  // Standard deviations of the skip test, >= 0; infinity scores every row in full. Half as many
  // where candidates are chosen that will be ranked again.
  float certainty = 3.0f;
  bool exhaustive = false;  // the same as an infinite certainty
  // Only a version of at least this sequence may answer, else WOULD_BLOCK(its sequence, this one):
  // with Receipt::sequence, a search that sees the caller's own write.
  std::uint64_t min_sequence = 0;
};

struct Receipt {
  std::uint64_t sequence = 0;  // the first version that shows the write
  std::uint64_t count = 0;     // rows added, replaced, or removed
};

struct WriteOptions {
  // False: a large add, upsert or remove may land in parts, each whole and in one version, in their
  // order. Memory for encoded rows is then that of one part (4 MiB of coordinates or of strings, or
  // 262,144 ids).
  // At an error the parts before it stay, those behind it are not tried. Other writes: no effect.
  bool atomic = true;
  // Where to tell what has landed, at an error too: the version that shows the last part, and the
  // rows of all; zeros when nothing has. Null: nowhere.
  Receipt* landed = nullptr;
  // True: returns once the write survives a loss of power. UNSUPPORTED without a file, READ_ONLY
  // once the file could not be written: nothing is applied then. IO(errno) for the write that meets
  // it: it is applied and visible, but not certain.
  bool durable = false;
};

// A moment's figures. Byte counts are of memory that was handed out and touched.
struct Stats {
  std::uint64_t rows = 0;            // live
  std::uint64_t dead = 0;            // removed or replaced, memory not yet reused
  std::uint64_t sequence = 0;
  std::uint64_t segment_bytes = 0;   // sign planes, codes, factors, ids
  std::uint64_t original_bytes = 0;  // rows as they were given
  std::uint64_t id_table_bytes = 0;
  std::uint64_t version_bytes = 0;   // directories, live bits, tails of the current version
  std::uint64_t retired_bytes = 0;   // waiting for a reader to move on
  std::uint64_t shared_bytes = 0;    // slots, rings, rotation, codebook
  std::uint64_t string_bytes = 0;    // ids that are strings, those of dead rows included
  std::uint64_t total_bytes = 0;     // the sum of the seven above
  // Of a mapped file: rows that are searched where they lie, and are not part of total_bytes.
  std::uint64_t mapped_bytes = 0;
  std::uint32_t segments = 0;
  std::uint32_t readers = 0;         // slots in use
  std::uint32_t readers_max = 0;     // without those that are retired
  std::uint32_t slots_retired = 0;   // of dead readers, kept from use; see Index::bury
  std::uint32_t oldest_slot = 0;     // the slot that pins the oldest version; see oldest_sequence
  std::uint64_t oldest_sequence = 0; // == sequence when no reader lags
  std::uint32_t ring_depth = 0;      // messages waiting for the writer
  std::uint32_t helpers = 0;         // threads that help long searches
  std::uint64_t searches_shared = 0; // searches that asked them, ever
  std::uint64_t chunks_helped = 0;   // parts that they did, ever
  std::uint32_t writers_replaced = 0;  // that died at work; see Index::bury
  std::uint64_t leaked_bytes = 0;    // lost with them; not part of total_bytes
  std::uint32_t dim = 0;
  std::uint32_t bits = 0;
  Metric metric = Metric::cosine;
  bool calibrated = false;           // rows are measured from a sample's centre
  const char* kernel = "";           // the instruction set in use, for example "avx2"
};

}  // namespace vicinal
