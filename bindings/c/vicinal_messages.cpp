// The C interface's messages: writes that nobody waits for.
#include <new>

#include "handles.hpp"

using vicinal::Code;
using vicinal::Status;
using vicinal::c::set;
using vicinal::c::to_c;

extern "C" {

vicinal_message* vicinal_message_create(vicinal_index* index, uint32_t kind, uint64_t count,
                                        vicinal_status* status) {
  return vicinal_message_create_strings(index, kind, count, 0, status);
}

vicinal_message* vicinal_message_create_strings(vicinal_index* index, uint32_t kind,
                                                uint64_t count, uint64_t text_bytes,
                                                vicinal_status* status) {
  if (kind > VICINAL_COMPACT) {
    set(status, Status(Code::bad_option));
    return nullptr;
  }
  auto made = index->queue.make(static_cast<vicinal::WriteKind>(kind), count, text_bytes);
  set(status, made.status());
  if (!made.ok()) return nullptr;
  auto* message = new (std::nothrow) vicinal_message{index, std::move(made).value()};
  if (message == nullptr) set(status, Status(Code::full));
  return message;
}

uint64_t* vicinal_message_ids(vicinal_message* message) { return message->write.ids().data(); }

char* vicinal_message_text(vicinal_message* message) { return message->write.text().data(); }

uint32_t* vicinal_message_string_ends(vicinal_message* message) {
  return message->write.string_ends().data();
}

float* vicinal_message_staging(vicinal_message* message, uint32_t* rows) {
  const auto staging = message->write.staging();
  if (rows != nullptr) {
    *rows = static_cast<uint32_t>(staging.size() / message->index->index.options().dim);
  }
  return staging.data();
}

vicinal_status vicinal_message_encode(vicinal_message* message, uint64_t first,
                                      const float* vectors, uint64_t rows) {
  const auto dim = message->index->index.options().dim;
  if (rows > message->write.count()) {  // also bounds the product below
    return to_c(Status(Code::bad_option, static_cast<uint64_t>(vicinal::OptionName::ids_length)));
  }
  return to_c(message->write.encode(first, {vectors, static_cast<size_t>(rows) * dim}));
}

vicinal_status vicinal_message_submit(vicinal_message* message) {
  return to_c(message->index->queue.submit(message->write));
}

int vicinal_message_done(const vicinal_message* message) {
  return message->write.done() ? 1 : 0;
}

const void* vicinal_message_done_word(const vicinal_message* message) {
  return message->write.done_word();
}

vicinal_status vicinal_message_result(const vicinal_message* message, vicinal_receipt* receipt) {
  const auto result = message->write.result();
  if (result.ok() && receipt != nullptr) *receipt = {result->sequence, result->count};
  return to_c(result.status());
}

void vicinal_message_free(vicinal_message* message) { delete message; }

}  // extern "C"
