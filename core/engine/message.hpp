// One write on its way to the writer: ids, packed rows, and where its outcome will stand.
//
// Thread safety: the producer's (encode_apart: see there) until it is submitted, the writer's until
// it is done, the producer's again.
// I1: one allocation, made and freed by the producer; a producer that dies leaks its message.
// I2: rows are normalised, rotated, encoded and packed before the submit, by the producer or by
//     threads that it lends rows to (encode_apart), measured from the calibration that was the
//     newest when the message was made: the message brings a copy of its origin, so that nothing is
//     pinned while rows are encoded.
// I3: a message whose calibration is no longer the newest is refused by the writer: what its rows
//     were is not known any more.
// I4: of an index whose ids are strings, a message carries their bytes one after the other and
//     where each ends. They are checked before the submit; a string that nobody fills in is empty.
// I5: of an index that keeps originals, a message carries each row as it is kept, beside its code
//     and put there by whoever encodes it. One that nobody encodes is zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "quant/quantiser.hpp"
#include "segment/segment.hpp"
#include "segment/version.hpp"
#include "sync/event.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

class InHand;

enum class MessageKind : std::uint8_t {
  add = 0, upsert = 1, remove = 2, clear = 3, calibrate = 4, compact = 5,
};

// Rows that fit the staging area of a message: what a caller hands over at once for encoding.
inline constexpr std::size_t kStagingBytes = std::size_t{64} << 10;

// What a message carries at most when a write may land in parts: a part's rows as they come, or a
// removal's ids with what undoing it takes.
inline constexpr std::uint64_t kPartBytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kPartIds = kPartBytes / 16;

[[nodiscard]] constexpr std::uint64_t rows_of_part(std::uint32_t dim) noexcept {
  return std::max<std::uint64_t>(1, kPartBytes / (dim * sizeof(float)));
}

// BAD_ID for ids of the other kind than the index's.
[[nodiscard]] inline Status wrong_kind(IdKind wanted) noexcept {
  const BadId problem = wanted == IdKind::string ? BadId::string_wanted : BadId::number_wanted;
  return Status(Code::bad_id, 0, static_cast<std::uint64_t>(problem));
}

// What a message carries for an index: ids of which kind, `text_bytes` of all strings together, and
// which originals.
struct MessageCargo {
  IdKind ids = IdKind::number;
  std::uint64_t text_bytes = 0;
  Originals originals = Originals::none;
};

class Message {
 public:
  struct Delete {
    void operator()(Message* message) const noexcept { destroy(message); }
  };
  using Owner = std::unique_ptr<Message, Delete>;

  // `count` rows or ids (clear, compact: 0; calibrate: rows of the sample). `calibration`: the
  // newest version's, or null; looked at during the call only. FULL without memory or when the
  // sizes overflow; calibrate: BAD_OPTION(sample) when too few, UNSUPPORTED(metric) for ip.
  [[nodiscard]] static Result<Owner> create(const quant::Quantiser& quantiser, MessageKind kind,
                                            std::uint64_t count,
                                            const segment::Calibration* calibration,
                                            const MessageCargo& cargo = {}) noexcept;
  // By its producer, of a message that was not submitted or is completed.
  static void destroy(Message* message) noexcept;
  // The memory alone, of one that nobody looks at.
  static void free_memory(Message* message) noexcept;

  [[nodiscard]] MessageKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t dim() const noexcept { return quantiser_->layout().dim; }
  // Rows that `encode`, `take_packed` or `count_filled` tell of, one filled twice counting as two.
  [[nodiscard]] std::uint64_t rows_filled() const noexcept { return rows_filled_; }
  // None for clear and calibrate, and where ids are strings.
  [[nodiscard]] std::uint64_t id_count() const noexcept {
    return kind_ == MessageKind::calibrate || has_strings() ? 0 : count_;
  }
  [[nodiscard]] std::uint64_t* ids() noexcept { return ids_; }
  [[nodiscard]] const std::uint64_t* ids() const noexcept { return ids_; }
  // Strings: `string_ends()[i]` is where row i's ends in `text()`, and the next one begins.
  [[nodiscard]] bool has_strings() const noexcept { return string_ends_ != nullptr; }
  [[nodiscard]] std::uint64_t string_count() const noexcept { return has_strings() ? count_ : 0; }
  [[nodiscard]] std::uint32_t* string_ends() noexcept { return string_ends_; }
  [[nodiscard]] char* text() noexcept { return text_; }
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return text_bytes_; }
  // Takes over `count()` strings that have `text_bytes()` together.
  void take_strings(std::span<const std::string_view> strings) noexcept;
  // BAD_ID(row, too_long) for one of more than kStringBytesMax, or that ends nowhere.
  [[nodiscard]] Status check_strings() const noexcept;
  // Room for at least one row of dim floats, 64-byte aligned; null when the kind carries no rows.
  [[nodiscard]] float* staging() noexcept { return staging_; }
  [[nodiscard]] std::uint32_t staging_rows() const noexcept { return staging_rows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  // Encodes `rows` vectors of dim floats each as rows first.. of the message; those of a sample are
  // kept as far as they are needed. NOT_FINITE(row of the message, coordinate), also of a
  // coordinate that no original can have; nothing is taken back, the message may be encoded again
  // or freed.
  Status encode(std::uint64_t first, const float* vectors, std::uint64_t rows) noexcept;
  // As `encode` for rows of an add or upsert, by any thread that the producer lends these rows to,
  // with scratch of that thread's own. What the producer does afterwards must happen after it; it
  // then counts the rows as filled.
  Status encode_apart(std::uint64_t first, const float* vectors, std::uint64_t rows,
                      std::byte* scratch) const noexcept;
  [[nodiscard]] std::size_t scratch_bytes() const noexcept {
    return quantiser_->encode_scratch_bytes();
  }
  void count_filled(std::uint64_t rows) noexcept { rows_filled_ += rows; }
  // Takes over rows that are packed already, in place of `encode`; each is followed by its original
  // where there are such.
  void take_packed(std::uint64_t first, const std::uint8_t* packed_rows,
                   const quant::RowFactors* factors, std::uint64_t rows) noexcept;

  // calibrate: takes over an origin (dim floats) that was fitted before, in place of a sample.
  void take_origin(const float* origin) noexcept;

  // The writer's.
  [[nodiscard]] segment::StringKey key(std::uint64_t row) const noexcept {
    const std::uint32_t begin = row == 0 ? 0 : string_ends_[row - 1];
    return segment::StringKey::of({text_ + begin, string_ends_[row] - begin});
  }
  // The calibration that the rows were encoded with; 0 for none.
  [[nodiscard]] std::uint64_t calibration() const noexcept { return calibration_; }
  // calibrate: the origin of the sample, dim floats.
  [[nodiscard]] const float* fit() noexcept;
  [[nodiscard]] const std::uint8_t* packed_row(std::uint64_t row) const noexcept {
    return packed_rows_ + row * quantiser_->layout().packed_row_bytes;
  }
  [[nodiscard]] const quant::RowFactors& factors(std::uint64_t row) const noexcept {
    return factors_[row];
  }
  // Null where none are kept.
  [[nodiscard]] const std::uint8_t* original(std::uint64_t row) const noexcept {
    return originals_ == nullptr ? nullptr : originals_ + row * original_bytes_;
  }
  // The slots that the message's rows took over, for undoing it.
  [[nodiscard]] segment::Slot* replaced() noexcept { return replaced_; }

  // The outcome; written by the writer before `planned` and `completion`.
  Status status;
  Receipt receipt;
  sync::Completion completion;

  // The writer's, for its successor (in_hand.hpp).
  sync::Atomic<Message*> next;
  sync::Atomic<std::uint64_t> planned;  // the version that shows it; 0: not published yet
  std::uint64_t dropped_before = 0;     // compact: rows_dropped of the version when it came
  InHand* hand = nullptr;               // where it is or was, once it was taken

 private:
  void blank_rows(std::byte* factors, std::byte* originals, Originals kind) noexcept;
  // Checks one vector, and encodes it as a row of an add or upsert.
  [[nodiscard]] Status encode_row(std::uint64_t row, const float* vector,
                                  std::byte* scratch) const noexcept;
  // A row of the sample, if it is one of those that are kept.
  void keep(std::uint64_t row, const float* vector) noexcept;

  Message() = default;
  ~Message() = default;

  const quant::Quantiser* quantiser_ = nullptr;
  MessageKind kind_ = MessageKind::add;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t rows_filled_ = 0;
  std::uint64_t calibration_ = 0;
  std::uint64_t sample_rows_ = 0;  // kept; 0: the origin was taken over
  std::uint32_t staging_rows_ = 0;
  std::uint64_t* ids_ = nullptr;
  std::uint32_t* string_ends_ = nullptr;
  char* text_ = nullptr;
  std::uint64_t text_bytes_ = 0;
  segment::Slot* replaced_ = nullptr;
  quant::RowFactors* factors_ = nullptr;
  std::uint8_t* packed_rows_ = nullptr;
  std::uint8_t* originals_ = nullptr;
  std::size_t original_bytes_ = 0;  // of a row
  Originals original_kind_ = Originals::none;
  float* staging_ = nullptr;
  float* origin_ = nullptr;
  float* sample_ = nullptr;        // sample_rows_ * dim
  float* column_ = nullptr;        // sample_rows_
  std::byte* scratch_ = nullptr;
};

}  // namespace vicinal::engine
