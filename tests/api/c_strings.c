/* Tests in C of indexes whose ids are strings. */
#include "c_calls.h"

#include <stddef.h>
#include <string.h>
#include <vicinal/vicinal.h>

/* Leaves the function with the line of the first expectation that fails. */
#define EXPECT(expression) \
  do {                     \
    if (!(expression)) return __LINE__; \
  } while (0)

enum { kDim = 12, kRows = 3 };

static const uint64_t ids[kRows] = {1, 2, 3};
static float rows[kRows * kDim];

static void fill(void) {
  for (int i = 0; i < kRows * kDim; ++i) rows[i] = (float)((i * 37 + i * i * 7) % 23) - 11.0f;
}

static vicinal_string string_of(const char* text) {
  const vicinal_string string = {text, strlen(text)};
  return string;
}

static int has_string(vicinal_reader* reader, const char* text) {
  int found = -1;
  const vicinal_status status = vicinal_reader_has_string(reader, string_of(text), &found);
  return status.code == VICINAL_OK && found == 1;
}

static int is_string(const vicinal_hits* hits, size_t i, const char* text) {
  const size_t bytes = (size_t)(hits->text_offsets[i + 1] - hits->text_offsets[i]);
  return bytes == strlen(text) && memcmp(hits->text + hits->text_offsets[i], text, bytes) == 0;
}

static int c_string_searches(vicinal_reader* reader) {
  vicinal_search_options options;
  vicinal_search_options_init(&options);
  vicinal_hits hits;
  EXPECT(vicinal_reader_search(reader, rows, kDim, NULL, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 3 && hits.ids == NULL && is_string(&hits, 0, "one"));
  const vicinal_string listed[] = {string_of("two"), {NULL, 0}, string_of("nobody")};
  options.filtered = 1;
  options.filter_count = 3;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_BAD_ID);
  options.filter_strings = listed;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 2 && !is_string(&hits, 0, "one") && !is_string(&hits, 1, "one"));
  options.filtered = 0;
  options.has_after = 1;
  options.after_string = string_of("one");
  EXPECT(vicinal_reader_search(reader, rows, kDim, NULL, &hits).code == VICINAL_OK);
  options.after_score = hits.scores[0];
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 2);
  vicinal_filter* filter = vicinal_filter_create_strings(reader, listed, 3, NULL);
  EXPECT(filter != NULL && vicinal_filter_size(filter) == 3);
  vicinal_search_options_init(&options);
  options.filter = filter;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 2);
  vicinal_filter_free(filter);
  vicinal_hits batch[2];
  EXPECT(vicinal_reader_search_batch(reader, rows, kDim, 2, NULL, batch).code == VICINAL_OK);
  EXPECT(batch[0].count == 3 && batch[1].count == 3 && batch[0].ids == NULL);
  EXPECT(is_string(&batch[0], 0, "one") && is_string(&batch[1], 0, "two"));
  return 0;
}

static int c_string_messages(vicinal_index* index, vicinal_reader* reader) {
  vicinal_message* message = vicinal_message_create_strings(index, VICINAL_UPSERT, 2, 7, NULL);
  EXPECT(message != NULL && vicinal_message_ids(message) == NULL);
  memcpy(vicinal_message_text(message), "fourone", 7);
  vicinal_message_string_ends(message)[0] = 4;
  vicinal_message_string_ends(message)[1] = 8;
  EXPECT(vicinal_message_encode(message, 0, rows, 2).code == VICINAL_OK);
  EXPECT(vicinal_message_submit(message).code == VICINAL_BAD_ID);
  vicinal_message_string_ends(message)[1] = 7;
  EXPECT(vicinal_message_submit(message).code == VICINAL_OK);
  while (!vicinal_message_done(message)) (void)vicinal_index_pump(index, 1000);
  EXPECT(vicinal_message_result(message, NULL).code == VICINAL_OK);
  vicinal_message_free(message);
  EXPECT(has_string(reader, "four") && has_string(reader, "one") && has_string(reader, ""));
  return 0;
}

int c_strings(const char* path) {
  fill();
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  options.dim = kDim;
  options.id_kind = 2;
  vicinal_status status;
  EXPECT(vicinal_index_create(&options, &status) == NULL && status.code == VICINAL_BAD_OPTION);
  options.id_kind = VICINAL_STRING_IDS;
  vicinal_index* index = vicinal_index_create(&options, &status);
  EXPECT(index != NULL);
  const vicinal_string names[] = {string_of("one"), string_of("two"), {NULL, 0}};
  vicinal_receipt receipt;
  EXPECT(vicinal_index_add(index, ids, rows, 3, &receipt).code == VICINAL_BAD_ID);
  status = vicinal_index_write_strings(index, VICINAL_ADD, names, rows, 3, NULL, &receipt);
  EXPECT(status.code == VICINAL_OK && receipt.count == 3);
  status = vicinal_index_write_strings(index, VICINAL_ADD, names + 1, rows, 1, NULL, &receipt);
  EXPECT(status.code == VICINAL_DUPLICATE_ID && status.a == 0 && status.b == 1);
  vicinal_reader* reader = vicinal_reader_open(index, &status);
  EXPECT(reader != NULL && has_string(reader, "one") && has_string(reader, ""));
  EXPECT(!has_string(reader, "three"));
  int found = 1;
  EXPECT(vicinal_reader_has(reader, 1, &found).code == VICINAL_BAD_ID && found == 0);
  float vector[kDim];
  EXPECT(vicinal_reader_get(reader, 1, vector, kDim).code == VICINAL_BAD_ID);
  EXPECT(vicinal_reader_get_string(reader, names[1], vector, kDim).code == VICINAL_OK);
  status = vicinal_reader_get_string(reader, string_of("three"), vector, kDim);
  EXPECT(status.code == VICINAL_UNKNOWN_ID);
  EXPECT(vicinal_filter_create(reader, ids, 1, &status) == NULL);
  EXPECT(status.code == VICINAL_BAD_ID);
  int line = c_string_searches(reader);
  if (line == 0) line = c_string_messages(index, reader);
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_OK && stats.string_bytes > 4000);
  EXPECT(vicinal_index_save(index, path).code == VICINAL_OK);
  vicinal_index* saved = vicinal_index_open(path, NULL, &status);
  EXPECT(saved != NULL && status.code == VICINAL_OK);
  vicinal_reader* of_saved = vicinal_reader_open(saved, &status);
  EXPECT(of_saved != NULL && has_string(of_saved, "two") && !has_string(of_saved, "three"));
  vicinal_reader_free(of_saved);
  vicinal_index_free(saved);
  status = vicinal_index_write_strings(index, VICINAL_REMOVE, names, NULL, 3, NULL, &receipt);
  EXPECT(status.code == VICINAL_OK && receipt.count == 3);
  vicinal_reader_free(reader);
  vicinal_index_free(index);
  return line;
}
