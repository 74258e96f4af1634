// The same functions for the thread-less module, under the same names.
#include <emscripten/bind.h>

#include "exports.hpp"

EMSCRIPTEN_BINDINGS(vicinal) {
  using emscripten::function;
  function("vic_abi_version", &vic_abi_version);
  function("vic_block_layout", &vic_block_layout);
  function("vic_allocate", &vic_allocate);
  function("vic_release", &vic_release);
  function("vic_index_create", &vic_index_create);
  function("vic_index_release", &vic_index_release);
  function("vic_index_stats", &vic_index_stats);
  function("vic_index_close", &vic_index_close);
  function("vic_index_doorbell", &vic_index_doorbell);
  function("vic_index_pump", &vic_index_pump);
  function("vic_message_create", &vic_message_create);
  function("vic_message_encode", &vic_message_encode);
  function("vic_message_encode_apart", &vic_message_encode_apart);
  function("vic_message_count_encoded", &vic_message_count_encoded);
  function("vic_message_submit", &vic_message_submit);
  function("vic_message_done", &vic_message_done);
  function("vic_message_release", &vic_message_release);
  function("vic_reader_open", &vic_reader_open);
  function("vic_reader_close", &vic_reader_close);
  function("vic_reader_abandon", &vic_reader_abandon);
  function("vic_reader_snapshot", &vic_reader_snapshot);
  function("vic_reader_filter_buffer", &vic_reader_filter_buffer);
  function("vic_reader_filter_create", &vic_reader_filter_create);
  function("vic_reader_filter_release", &vic_reader_filter_release);
  function("vic_reader_string_buffer", &vic_reader_string_buffer);
  function("vic_reader_search", &vic_reader_search);
  function("vic_reader_batch_buffer", &vic_reader_batch_buffer);
  function("vic_reader_search_batch", &vic_reader_search_batch);
  function("vic_reader_has", &vic_reader_has);
  function("vic_reader_get", &vic_reader_get);
  function("vic_reader_refresh", &vic_reader_refresh);
  function("vic_save_create", &vic_save_create);
  function("vic_save_next", &vic_save_next);
  function("vic_save_release", &vic_save_release);
  function("vic_load_create", &vic_load_create);
  function("vic_load_take", &vic_load_take);
  function("vic_load_finish", &vic_load_finish);
  function("vic_load_release", &vic_load_release);
}
