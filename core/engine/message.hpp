// One write on its way to the writer: ids, packed rows, and where its outcome will stand.
//
// Thread safety: the producer's until it is submitted, the writer's until it is done, the
// producer's again.
// I1: one allocation, made and freed by the producer; a producer that dies leaks its message.
// I2: rows are normalised, rotated, encoded and packed by the producer before the submit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "quant/quantiser.hpp"
#include "segment/segment.hpp"
#include "sync/event.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

enum class MessageKind : std::uint8_t { add = 0, upsert = 1, remove = 2, clear = 3 };

// Rows that fit the staging area of a message: what a caller hands over at once for encoding.
inline constexpr std::size_t kStagingBytes = std::size_t{64} << 10;

class Message {
 public:
  struct Delete {
    void operator()(Message* message) const noexcept { destroy(message); }
  };
  using Owner = std::unique_ptr<Message, Delete>;

  // `count` rows or ids (clear: 0); FULL without memory or when the sizes overflow.
  [[nodiscard]] static Result<Owner> create(const quant::Quantiser& quantiser, MessageKind kind,
                                            std::uint64_t count) noexcept;
  static void destroy(Message* message) noexcept;

  [[nodiscard]] MessageKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t dim() const noexcept { return quantiser_->layout().dim; }
  // Rows that `encode` or `take_packed` has filled, counting one filled twice as two.
  [[nodiscard]] std::uint64_t rows_filled() const noexcept { return rows_filled_; }
  [[nodiscard]] std::uint64_t* ids() noexcept { return ids_; }
  [[nodiscard]] const std::uint64_t* ids() const noexcept { return ids_; }
  // Room for at least one row of dim floats, 64-byte aligned; null when the kind carries no rows.
  [[nodiscard]] float* staging() noexcept { return staging_; }
  [[nodiscard]] std::uint32_t staging_rows() const noexcept { return staging_rows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  // Encodes `rows` vectors of dim floats each as rows first.. of the message. NOT_FINITE(row of the
  // message, coordinate); nothing is taken back, the message may be encoded again or freed.
  Status encode(std::uint64_t first, const float* vectors, std::uint64_t rows) noexcept;
  // Takes over rows that are packed already, in place of `encode`.
  void take_packed(std::uint64_t first, const std::uint8_t* packed_rows,
                   const quant::RowFactors* factors, std::uint64_t rows) noexcept;

  // The writer's.
  [[nodiscard]] const std::uint8_t* packed_row(std::uint64_t row) const noexcept {
    return packed_rows_ + row * quantiser_->layout().packed_row_bytes;
  }
  [[nodiscard]] const quant::RowFactors& factors(std::uint64_t row) const noexcept {
    return factors_[row];
  }
  // The slots that the message's rows took over, for undoing it.
  [[nodiscard]] segment::Slot* replaced() noexcept { return replaced_; }

  // The outcome; written by the writer before `completion.complete()`.
  Status status;
  Receipt receipt;
  sync::Completion completion;
  Message* next = nullptr;  // in the writer's batch

 private:
  Message() = default;
  ~Message() = default;

  const quant::Quantiser* quantiser_ = nullptr;
  MessageKind kind_ = MessageKind::add;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t rows_filled_ = 0;
  std::uint32_t staging_rows_ = 0;
  std::uint64_t* ids_ = nullptr;
  segment::Slot* replaced_ = nullptr;
  quant::RowFactors* factors_ = nullptr;
  std::uint8_t* packed_rows_ = nullptr;
  float* staging_ = nullptr;
  std::byte* scratch_ = nullptr;
};

}  // namespace vicinal::engine
