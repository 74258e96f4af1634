#include "c_calls.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <vicinal/vicinal.h>

/* Leaves the function with the line of the first expectation that fails. */
#define EXPECT(expression) \
  do {                     \
    if (!(expression)) return __LINE__; \
  } while (0)

enum { kDim = 12, kRows = 40 };

static uint64_t ids[kRows];
static float rows[kRows * kDim];

static void fill(void) {
  for (int i = 0; i < kRows; ++i) {
    ids[i] = (uint64_t)(100 + i);
    for (int j = 0; j < kDim; ++j) {
      rows[i * kDim + j] = (float)((i * 37 + j * 101 + i * j * 7) % 23) - 11.0f;
    }
  }
}

static vicinal_index* make_index(void) {
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  options.dim = kDim;
  options.metric = VICINAL_L2;
  return vicinal_index_create(&options, NULL);
}

int c_helpers(void) {
  vicinal_status status;
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  options.dim = kDim;
  vicinal_index* index = vicinal_index_create(&options, &status);
  EXPECT(index != NULL);
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  EXPECT(vicinal_index_set_helpers(index, 2).code == VICINAL_OK);
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_OK && stats.helpers == 2);
  status = vicinal_index_set_helpers(index, 33);
  EXPECT(status.code == VICINAL_BAD_OPTION);
  EXPECT(vicinal_index_set_helpers(index, 0).code == VICINAL_OK);
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_OK && stats.helpers == 0);
  EXPECT(stats.searches_shared == 0 && stats.chunks_helped == 0);
  vicinal_index_free(index);
  return 0;
}

int c_indexes(void) {
  fill();
  vicinal_status status;
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  EXPECT(options.struct_size == sizeof options && options.bits == 4 && options.dim == 0);
  EXPECT(vicinal_index_create(&options, NULL) == NULL);
  EXPECT(vicinal_index_create(&options, &status) == NULL);
  EXPECT(status.code == VICINAL_BAD_OPTION && status.a == 1);
  options.dim = kDim;
  options.bits = 256 + 4;
  EXPECT(vicinal_index_create(&options, &status) == NULL && status.code == VICINAL_BAD_OPTION);
  options.bits = 4;
  options.metric = 256;
  EXPECT(vicinal_index_create(&options, &status) == NULL && status.code == VICINAL_BAD_OPTION);
  options.metric = VICINAL_IP;
  options.originals = 3;
  EXPECT(vicinal_index_create(&options, &status) == NULL && status.code == VICINAL_BAD_OPTION);
  options.originals = VICINAL_NO_ORIGINALS;
  options.bits = 0; /* the default */
  vicinal_index* index = vicinal_index_create(&options, &status);
  EXPECT(index != NULL && status.code == VICINAL_OK && vicinal_index_dim(index) == kDim);

  vicinal_receipt receipt;
  EXPECT(vicinal_index_add(index, ids, rows, kRows, &receipt).code == VICINAL_OK);
  EXPECT(receipt.sequence == 1 && receipt.count == kRows);
  status = vicinal_index_add(index, ids + 3, rows, 1, &receipt);
  EXPECT(status.code == VICINAL_DUPLICATE_ID && status.a == ids[3]);
  EXPECT(vicinal_index_upsert(index, ids, rows, 2, NULL).code == VICINAL_OK);
  EXPECT(vicinal_index_remove(index, ids, 5, &receipt).code == VICINAL_OK && receipt.count == 5);
  EXPECT(vicinal_index_add(index, NULL, NULL, 0, &receipt).code == VICINAL_OK);
  EXPECT(vicinal_index_add(index, ids, rows, UINT64_MAX / 2, NULL).code == VICINAL_DIMENSION);
  rows[kDim + 2] = NAN;
  status = vicinal_index_upsert(index, ids, rows, 2, NULL);
  EXPECT(status.code == VICINAL_NOT_FINITE && status.a == 1 && status.b == 2);
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_OK);
  EXPECT(stats.rows == kRows - 5 && stats.bits == 4 && stats.metric == VICINAL_IP);
  EXPECT(stats.kernel != NULL && stats.sequence == 3 && stats.readers_max == 4096);
  vicinal_index* other = vicinal_index_share(index);
  EXPECT(vicinal_index_compact(other, &receipt).code == VICINAL_OK && receipt.count == 7);
  EXPECT(vicinal_index_clear(other, &receipt).code == VICINAL_OK && receipt.count == kRows - 5);
  vicinal_index_free(index);
  EXPECT(vicinal_index_stats(other, &stats).code == VICINAL_OK && stats.rows == 0);
  vicinal_index_free(other);
  vicinal_index_free(NULL);
  return 0;
}

int c_searches(void) {
  fill();
  vicinal_status status;
  vicinal_index* index = make_index();
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  vicinal_reader* reader = vicinal_reader_open(index, &status);
  EXPECT(reader != NULL && status.code == VICINAL_OK);
  vicinal_reader* snapshot = vicinal_reader_snapshot(reader, NULL);
  EXPECT(snapshot != NULL);
  vicinal_hits hits;
  EXPECT(vicinal_reader_search(reader, rows, kDim, NULL, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 10 && hits.sequence == 1 && hits.ids[0] == ids[0]);
  EXPECT(hits.rows_estimated >= hits.rows_scored);
  status = vicinal_reader_search(reader, rows, kDim - 1, NULL, &hits);
  EXPECT(status.code == VICINAL_DIMENSION && status.a == kDim - 1 && status.b == kDim);
  EXPECT(hits.count == 0 && hits.ids == NULL);

  vicinal_search_options options;
  vicinal_search_options_init(&options);
  EXPECT(options.k == 10 && options.min_score == -INFINITY && options.certainty == 3.0f);
  options.filtered = 1;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 0);
  const uint64_t wanted[] = {7, ids[9], ids[4]};
  options.filter_ids = wanted;
  options.filter_count = 3;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 2);
  options.filtered = 0;
  options.k = UINT64_MAX;
  options.certainty = INFINITY;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == kRows && hits.rows_scored == kRows);
  options.has_after = 1;
  options.after_id = hits.ids[29];
  options.after_score = hits.scores[29];
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == kRows - 30);
  options.min_sequence = 2;
  status = vicinal_reader_search(reader, rows, kDim, &options, &hits);
  EXPECT(status.code == VICINAL_WOULD_BLOCK && status.a == 1 && status.b == 2 && hits.count == 0);
  options.certainty = NAN;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_BAD_OPTION);

  int found = 7;
  uint64_t count, sequence;
  float vector[kDim];
  EXPECT(vicinal_index_remove(index, ids, 1, NULL).code == VICINAL_OK);
  EXPECT(vicinal_reader_has(reader, ids[0], &found).code == VICINAL_OK && found == 0);
  EXPECT(vicinal_reader_has(snapshot, ids[0], &found).code == VICINAL_OK && found == 1);
  EXPECT(vicinal_reader_get(snapshot, ids[0], vector, kDim).code == VICINAL_OK);
  EXPECT(vicinal_reader_get(reader, ids[0], vector, kDim).code == VICINAL_UNKNOWN_ID);
  EXPECT(vicinal_reader_get(reader, ids[1], vector, 1).code == VICINAL_DIMENSION);
  EXPECT(vicinal_reader_count(reader, &count, &sequence).code == VICINAL_OK);
  EXPECT(count == kRows - 1 && sequence == 2);
  EXPECT(vicinal_reader_count(snapshot, &count, NULL).code == VICINAL_OK && count == kRows);
  vicinal_index_free(index); /* readers keep it alive */
  vicinal_reader_free(reader);
  EXPECT(vicinal_reader_search(snapshot, rows, kDim, NULL, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 10);
  vicinal_reader_free(snapshot);
  vicinal_reader_free(NULL);
  return 0;
}

int c_batches(void) {
  fill();
  vicinal_status status;
  vicinal_index* index = make_index();
  vicinal_reader* reader = vicinal_reader_open(index, NULL);
  vicinal_reader* other = vicinal_reader_open(index, NULL);
  vicinal_hits all[kRows], one;
  EXPECT(vicinal_reader_search_batch(reader, rows, kDim, 3, NULL, all).code == VICINAL_OK);
  EXPECT(all[0].count == 0 && all[2].count == 0);
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  vicinal_search_options options;
  vicinal_search_options_init(&options);
  for (options.k = 0; options.k <= 64; options.k += 8) {
    status = vicinal_reader_search_batch(reader, rows, kDim, kRows, &options, all);
    EXPECT(status.code == VICINAL_OK);
    for (int i = 0; i < kRows; ++i) {
      const float* query = rows + i * kDim;
      EXPECT(vicinal_reader_search(other, query, kDim, &options, &one).code == VICINAL_OK);
      EXPECT(all[i].count == one.count && all[i].sequence == 1);
      if (one.count != 0) { /* the arrays of no hits may be null */
        EXPECT(memcmp(all[i].ids, one.ids, one.count * sizeof *one.ids) == 0);
        EXPECT(memcmp(all[i].scores, one.scores, one.count * sizeof *one.scores) == 0);
      }
      EXPECT(all[i].rows_estimated == one.rows_estimated);
    }
  }
  EXPECT(vicinal_reader_search_batch(reader, NULL, kDim, 0, NULL, NULL).code == VICINAL_OK);
  /* As many numbers as a batch of the right dimension would have. */
  status = vicinal_reader_search_batch(reader, rows, kDim / 2, 4, NULL, all);
  EXPECT(status.code == VICINAL_DIMENSION && status.a == kDim / 2 && status.b == kDim);
  EXPECT(vicinal_reader_search_batch(reader, rows, kDim, UINT64_MAX, NULL, all).code ==
         VICINAL_FULL);
  rows[33 * kDim + 4] = NAN;
  status = vicinal_reader_search_batch(reader, rows, kDim, kRows, NULL, all);
  EXPECT(status.code == VICINAL_NOT_FINITE && status.a == 33 && status.b == 4);
  for (int i = 0; i < kRows; ++i) EXPECT(all[i].count == 0 && all[i].ids == NULL);
  vicinal_index_close(index);
  status = vicinal_reader_search_batch(reader, rows, kDim, 2, NULL, all);
  EXPECT(status.code == VICINAL_CLOSED);
  vicinal_reader_free(other);
  vicinal_reader_free(reader);
  vicinal_index_free(index);
  return 0;
}

int c_filters(void) {
  fill();
  vicinal_status status;
  vicinal_index* index = make_index();
  vicinal_index* stranger = make_index();
  vicinal_reader* reader = vicinal_reader_open(index, NULL);
  vicinal_reader* foreign = vicinal_reader_open(stranger, NULL);
  const uint64_t wanted[] = {ids[4], 7, ids[9], ids[4]};
  vicinal_filter* filter = vicinal_filter_create(reader, wanted, 4, &status);
  EXPECT(filter != NULL && status.code == VICINAL_OK && vicinal_filter_size(filter) == 3);
  vicinal_filter* none = vicinal_filter_create(reader, NULL, 0, NULL);
  EXPECT(none != NULL && vicinal_filter_size(none) == 0);
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  vicinal_reader* snapshot = vicinal_reader_snapshot(reader, NULL);
  EXPECT(vicinal_index_remove(index, ids + 9, 1, NULL).code == VICINAL_OK);
  vicinal_search_options options;
  vicinal_search_options_init(&options);
  EXPECT(options.filter == NULL);
  options.filter = filter;
  vicinal_hits hits, all[4];
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 1 && hits.ids[0] == ids[4]);
  EXPECT(vicinal_reader_search(snapshot, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 2);
  EXPECT(vicinal_reader_search_batch(reader, rows, kDim, 4, &options, all).code == VICINAL_OK);
  EXPECT(all[0].count == 1 && all[3].count == 1 && all[3].ids[0] == ids[4]);
  options.filter = none;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 0);
  options.filter = filter;
  EXPECT(vicinal_reader_search(foreign, rows, kDim, &options, &hits).code == VICINAL_BAD_OPTION);
  options.filtered = 1;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_BAD_OPTION);
  options.filtered = 0;
  options.struct_size = offsetof(vicinal_search_options, filter); /* of an older caller */
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 10);
  vicinal_index_close(index);
  EXPECT(vicinal_filter_create(reader, wanted, 2, &status) == NULL);
  EXPECT(status.code == VICINAL_CLOSED);
  vicinal_reader_free(snapshot);
  vicinal_reader_free(reader);
  vicinal_reader_free(foreign);
  vicinal_index_free(index);
  vicinal_index_free(stranger);
  vicinal_filter_free(filter); /* outlives them */
  vicinal_filter_free(none);
  vicinal_filter_free(NULL);
  return 0;
}

int c_messages(void) {
  fill();
  vicinal_status status;
  vicinal_index* index = make_index();
  EXPECT(vicinal_message_create(index, 6, 1, &status) == NULL);
  EXPECT(status.code == VICINAL_BAD_OPTION);
  EXPECT(vicinal_message_create(index, VICINAL_ADD, UINT64_MAX, &status) == NULL);
  EXPECT(status.code == VICINAL_FULL);
  vicinal_message* add = vicinal_message_create(index, VICINAL_ADD, kRows, NULL);
  vicinal_message* gone = vicinal_message_create(index, VICINAL_REMOVE, 2, &status);
  vicinal_message* never = vicinal_message_create(index, VICINAL_UPSERT, 1, NULL);
  EXPECT(add != NULL && gone != NULL && never != NULL);
  uint32_t staged = 99;
  EXPECT(vicinal_message_staging(gone, &staged) == NULL && staged == 0);
  float* staging = vicinal_message_staging(add, &staged);
  EXPECT(staging != NULL && staged >= 1 && (uintptr_t)staging % 64 == 0);
  EXPECT(vicinal_message_encode(add, 1, rows, kRows).code == VICINAL_BAD_OPTION);
  EXPECT(vicinal_message_encode(add, 0, rows, UINT64_MAX).code != VICINAL_OK);
  EXPECT(vicinal_message_encode(add, 0, rows, UINT64_C(1) << 62).code != VICINAL_OK);
  memcpy(staging, rows, kDim * sizeof *rows);
  EXPECT(vicinal_message_encode(add, 0, staging, 1).code == VICINAL_OK);
  EXPECT(vicinal_message_encode(add, 1, rows + kDim, kRows - 1).code == VICINAL_OK);
  memcpy(vicinal_message_ids(add), ids, sizeof ids);
  memcpy(vicinal_message_ids(gone), ids + 6, 2 * sizeof *ids);

  const uint32_t bell = *(const uint32_t*)vicinal_index_doorbell(index);
  EXPECT(vicinal_message_submit(add).code == VICINAL_OK);
  EXPECT(vicinal_message_submit(gone).code == VICINAL_OK);
  EXPECT(*(const uint32_t*)vicinal_index_doorbell(index) != bell);
  EXPECT(!vicinal_message_done(add) && *(const uint32_t*)vicinal_message_done_word(add) == 0);
  EXPECT(vicinal_message_result(add, NULL).code == VICINAL_WOULD_BLOCK);
  uint32_t done = 0;
  for (uint32_t now = 1; now != 0; done += now) now = vicinal_index_pump(index, 1000);
  EXPECT(done == 2 && vicinal_message_done(add) && vicinal_message_done(gone));
  EXPECT(*(const uint32_t*)vicinal_message_done_word(add) != 0);
  vicinal_receipt receipt;
  EXPECT(vicinal_message_result(add, &receipt).code == VICINAL_OK && receipt.count == kRows);
  EXPECT(vicinal_message_result(gone, &receipt).code == VICINAL_OK && receipt.count == 2);
  vicinal_message_free(add);
  vicinal_message_free(gone);
  vicinal_message_free(never);
  vicinal_message_free(NULL);
  vicinal_index_free(index);
  return 0;
}

int c_calibrations(void) {
  fill();
  vicinal_status status;
  vicinal_receipt receipt;
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  options.dim = kDim;
  vicinal_index* index = vicinal_index_create(&options, &status);
  EXPECT(index != NULL);
  EXPECT(vicinal_index_calibrate(index, rows, 31, NULL).code == VICINAL_BAD_OPTION);
  EXPECT(vicinal_index_calibrate(index, rows, UINT64_MAX / 2, NULL).code == VICINAL_BAD_OPTION);
  EXPECT(vicinal_index_calibrate(index, rows, kRows, &receipt).code == VICINAL_OK);
  EXPECT(receipt.sequence == 1 && receipt.count == 0);

  vicinal_message* again = vicinal_message_create(index, VICINAL_CALIBRATE, kRows, &status);
  EXPECT(again != NULL && status.code == VICINAL_OK);
  EXPECT(vicinal_message_submit(again).code == VICINAL_BAD_OPTION); /* without its rows */
  EXPECT(vicinal_message_encode(again, 0, rows, kRows + 1).code == VICINAL_BAD_OPTION);
  EXPECT(vicinal_message_encode(again, 0, rows, kRows).code == VICINAL_OK);
  EXPECT(vicinal_message_submit(again).code == VICINAL_OK);
  EXPECT(vicinal_index_pump(index, 1000) == 1 && vicinal_message_done(again));
  EXPECT(vicinal_message_result(again, &receipt).code == VICINAL_OK && receipt.sequence == 2);
  vicinal_message_free(again);

  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  status = vicinal_index_calibrate(index, rows, kRows, NULL);
  EXPECT(status.code == VICINAL_BAD_OPTION);
  char text[100];
  EXPECT(vicinal_status_message(&status, text, sizeof text) < sizeof text);
  EXPECT(strstr(text, "has rows") != NULL);
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_OK && stats.calibrated == 1);
  vicinal_index_free(index);
  options.metric = VICINAL_IP;
  index = vicinal_index_create(&options, &status);
  EXPECT(vicinal_index_calibrate(index, rows, kRows, NULL).code == VICINAL_UNSUPPORTED);
  vicinal_index_free(index);
  return 0;
}

int c_parts(void) {
  fill();
  vicinal_index* index = make_index();
  vicinal_write_options options;
  vicinal_write_options_init(&options);
  EXPECT(options.struct_size == sizeof options && options.atomic == 1);
  vicinal_receipt receipt = {9, 9};
  EXPECT(vicinal_index_write(index, VICINAL_ADD, ids, rows, 10, NULL, &receipt).code == VICINAL_OK);
  EXPECT(receipt.sequence == 1 && receipt.count == 10);
  EXPECT(vicinal_index_write(index, VICINAL_UPSERT, ids, rows, kRows, &options, &receipt).code ==
         VICINAL_OK);
  EXPECT(receipt.sequence == 2 && receipt.count == kRows);
  EXPECT(vicinal_index_write(index, VICINAL_REMOVE, ids, NULL, 5, &options, &receipt).code ==
         VICINAL_OK);
  EXPECT(receipt.sequence == 3 && receipt.count == 5);
  EXPECT(vicinal_index_write(index, VICINAL_ADD, ids, rows, kRows, &options, &receipt).code ==
         VICINAL_DUPLICATE_ID);
  EXPECT(receipt.sequence == 0 && receipt.count == 0);
  EXPECT(vicinal_index_write(index, VICINAL_CLEAR, ids, rows, 0, &options, NULL).code ==
         VICINAL_BAD_OPTION);
  EXPECT(vicinal_index_write(index, VICINAL_ADD, ids, rows, UINT64_MAX / 4, &options, NULL).code ==
         VICINAL_FULL);
  options.struct_size = sizeof options + 4;
  EXPECT(vicinal_index_write(index, VICINAL_ADD, ids, rows, 1, &options, NULL).code ==
         VICINAL_BAD_OPTION);

  /* In two parts: the first stays when the second has an id twice. */
  enum { kPart = 262144 };
  vicinal_index_options narrow;
  vicinal_index_options_init(&narrow);
  narrow.dim = 4;
  vicinal_index* large = vicinal_index_create(&narrow, NULL);
  uint64_t* many = calloc(kPart + 2, sizeof *many);
  float* zeros = calloc((size_t)(kPart + 2) * 4, sizeof *zeros);
  EXPECT(large != NULL && many != NULL && zeros != NULL);
  for (uint64_t i = 0; i < kPart + 1; ++i) many[i] = i;
  vicinal_write_options_init(&options);
  options.atomic = 0;
  const vicinal_status status =
      vicinal_index_write(large, VICINAL_ADD, many, zeros, kPart + 2, &options, &receipt);
  EXPECT(status.code == VICINAL_DUPLICATE_ID && status.a == 0);
  EXPECT(receipt.sequence == 1 && receipt.count == kPart);
  free(many);
  free(zeros);
  vicinal_index_free(large);
  vicinal_index_free(index);
  return 0;
}

int c_struct_sizes(void) {
  fill();
  vicinal_status status;
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  options.dim = kDim;
  options.struct_size = sizeof options + 1; /* of a newer caller */
  EXPECT(vicinal_index_create(&options, &status) == NULL && status.code == VICINAL_BAD_OPTION);
  for (uint32_t size = 0; size < 4; ++size) {
    options.struct_size = size;
    EXPECT(vicinal_index_create(&options, &status) == NULL && status.code == VICINAL_BAD_OPTION);
  }
  options.struct_size = 8; /* of an older caller that knew dim alone */
  options.bits = 99;
  vicinal_index* index = vicinal_index_create(&options, &status);
  EXPECT(index != NULL);
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  vicinal_reader* reader = vicinal_reader_open(index, NULL);
  vicinal_search_options search;
  vicinal_search_options_init(&search);
  vicinal_hits hits;
  search.k = 3;
  search.min_score = INFINITY;
  search.struct_size = 16; /* k is the last that it knew */
  EXPECT(vicinal_reader_search(reader, rows, kDim, &search, &hits).code == VICINAL_OK);
  EXPECT(hits.count == 3);
  search.struct_size = sizeof search + 8;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &search, &hits).code == VICINAL_BAD_OPTION);
  vicinal_stats stats[2];
  memset(stats, 0x77, sizeof stats);
  stats[0].struct_size = sizeof stats; /* larger than any */
  EXPECT(vicinal_index_stats(index, stats).code == VICINAL_OK);
  EXPECT(stats[0].struct_size == sizeof *stats && stats[1].struct_size == 0x77777777u);
  memset(stats, 0x77, sizeof stats);
  stats[0].struct_size = 16;
  EXPECT(vicinal_index_stats(index, stats).code == VICINAL_OK);
  EXPECT(stats[0].rows == kRows && stats[0].dead == UINT64_C(0x7777777777777777));
  vicinal_reader_free(reader);
  vicinal_index_free(index);
  return 0;
}

int c_texts(void) {
  EXPECT(vicinal_abi_version() == VICINAL_ABI_VERSION);
  EXPECT(strcmp(vicinal_code_name(VICINAL_DUPLICATE_ID), "DUPLICATE_ID") == 0);
  EXPECT(strcmp(vicinal_code_name(VICINAL_IO), "IO") == 0);
  EXPECT(strcmp(vicinal_code_name(17), "UNKNOWN") == 0);
  EXPECT(strcmp(vicinal_code_name(256), "UNKNOWN") == 0);
  char text[200];
  vicinal_status status = {VICINAL_UNKNOWN_ID, 0, 12345, 0};
  const size_t length = vicinal_status_message(&status, NULL, 0);
  EXPECT(length > 5 && length < sizeof text);
  EXPECT(vicinal_status_message(&status, text, sizeof text) == length);
  EXPECT(strlen(text) == length && strstr(text, "12345") != NULL);
  EXPECT(vicinal_status_message(&status, text, 4) == length && strlen(text) == 3);
  status.code = 256;
  (void)vicinal_status_message(&status, text, sizeof text);
  EXPECT(strstr(text, "unknown") != NULL);
  return 0;
}

int c_followed_files(const char* path) {
  fill();
  vicinal_status status;
  vicinal_index_options made;
  vicinal_index_options_init(&made);
  made.dim = kDim;
  vicinal_open_options options;
  vicinal_open_options_init(&options);
  EXPECT(options.mapped == 1 && options.detached == 0 && options.create == NULL);
  EXPECT(vicinal_index_open(path, &options, &status) == NULL && status.code == VICINAL_IO);
  options.create = &made;
  vicinal_index* writer = vicinal_index_open(path, &options, &status);
  EXPECT(writer != NULL && status.code == VICINAL_OK);
  EXPECT(vicinal_index_open(path, &options, &status) == NULL && status.code == VICINAL_BUSY);

  options.create = NULL;
  options.read_only = 1;
  vicinal_index* mapped = vicinal_index_open(path, &options, &status);
  options.mapped = 0;
  vicinal_index* read = vicinal_index_open(path, &options, &status);
  options.detached = 1;
  vicinal_index* apart = vicinal_index_open(path, &options, &status);
  EXPECT(mapped != NULL && read != NULL && apart != NULL);
  vicinal_write_options durable;
  vicinal_write_options_init(&durable);
  EXPECT(durable.durable == 0);
  durable.durable = 1;
  vicinal_receipt receipt;
  EXPECT(vicinal_index_write(writer, VICINAL_ADD, ids, rows, kRows, &durable, &receipt).code ==
         VICINAL_OK);
  EXPECT(vicinal_index_write(apart, VICINAL_ADD, ids, rows, kRows, &durable, NULL).code ==
         VICINAL_READ_ONLY);
  vicinal_reader* reader = vicinal_reader_open(mapped, NULL);
  uint64_t count;
  EXPECT(vicinal_reader_count(reader, &count, NULL).code == VICINAL_OK && count == kRows);
  uint32_t found = 7;
  EXPECT(vicinal_index_refresh(read, &found).code == VICINAL_OK && found == 1);
  EXPECT(vicinal_index_refresh(read, &found).code == VICINAL_OK && found == 0);
  EXPECT(vicinal_index_refresh(apart, NULL).code == VICINAL_OK);
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  EXPECT(vicinal_index_stats(apart, &stats).code == VICINAL_OK && stats.rows == 0);
  EXPECT(vicinal_index_stats(read, &stats).code == VICINAL_OK && stats.rows == kRows);
  vicinal_receipt flushed;
  EXPECT(vicinal_index_flush(writer, &flushed).code == VICINAL_OK);
  EXPECT(flushed.sequence == receipt.sequence);
  EXPECT(vicinal_index_flush(mapped, NULL).code == VICINAL_READ_ONLY);
  vicinal_reader_free(reader);
  vicinal_index_free(apart);
  vicinal_index_free(read);
  vicinal_index_free(mapped);
  vicinal_index_free(writer);

  options.detached = 0;
  options.read_only = 0;
  made.bits = 2;
  options.create = &made;
  EXPECT(vicinal_index_open(path, &options, &status) == NULL);
  EXPECT(status.code == VICINAL_BAD_OPTION);
  made.struct_size = sizeof made + 8;
  EXPECT(vicinal_index_open(path, &options, &status) == NULL);
  EXPECT(status.code == VICINAL_BAD_OPTION);
  return 0;
}

int c_files(const char* path) {
  fill();
  vicinal_status status;
  vicinal_index* index = make_index();
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  EXPECT(vicinal_index_save(index, path).code == VICINAL_OK);
  EXPECT(vicinal_index_save(index, "/no/such/folder/at/all").code == VICINAL_IO);
  vicinal_index* loaded = vicinal_index_open(path, NULL, &status);
  EXPECT(loaded != NULL && status.code == VICINAL_OK && vicinal_index_dim(loaded) == kDim);
  vicinal_reader* reader = vicinal_reader_open(loaded, NULL);
  uint64_t count;
  EXPECT(vicinal_reader_count(reader, &count, NULL).code == VICINAL_OK && count == kRows);
  EXPECT(vicinal_index_open("/no/such/file/at/all", NULL, &status) == NULL);
  EXPECT(status.code == VICINAL_IO && status.a != 0);

  vicinal_open_options options;
  vicinal_open_options_init(&options);
  options.read_only = 1;
  vicinal_index* fixed = vicinal_index_open(path, &options, &status);
  EXPECT(fixed != NULL && vicinal_index_clear(fixed, NULL).code == VICINAL_READ_ONLY);
  vicinal_index_free(fixed);
  options.memory_bytes_max = 1;
  EXPECT(vicinal_index_open(path, &options, &status) == NULL && status.code == VICINAL_FULL);
  options.struct_size = sizeof options + 8;
  EXPECT(vicinal_index_open(path, &options, &status) == NULL);
  EXPECT(status.code == VICINAL_BAD_OPTION);

  vicinal_stats stats;
  stats.struct_size = 4;
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_BAD_OPTION);
  vicinal_reader_free(reader);
  vicinal_index_free(loaded);
  vicinal_index_free(index);
  return 0;
}

int c_closing(void) {
  fill();
  vicinal_status status;
  vicinal_index* index = make_index();
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  vicinal_reader* reader = vicinal_reader_open(index, NULL);
  vicinal_message* message = vicinal_message_create(index, VICINAL_CLEAR, 0, NULL);
  vicinal_index_close(index);
  vicinal_index_close(index);
  vicinal_hits hits;
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  int found;
  uint64_t count = 9;
  EXPECT(vicinal_index_clear(index, NULL).code == VICINAL_CLOSED);
  EXPECT(vicinal_index_compact(index, NULL).code == VICINAL_CLOSED);
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_CLOSED);
  EXPECT(vicinal_message_submit(message).code == VICINAL_CLOSED);
  EXPECT(vicinal_reader_open(index, &status) == NULL && status.code == VICINAL_CLOSED);
  EXPECT(vicinal_reader_snapshot(reader, &status) == NULL && status.code == VICINAL_CLOSED);
  EXPECT(vicinal_reader_search(reader, rows, kDim, NULL, &hits).code == VICINAL_CLOSED);
  EXPECT(vicinal_reader_has(reader, ids[0], &found).code == VICINAL_CLOSED && found == 0);
  EXPECT(vicinal_reader_count(reader, &count, NULL).code == VICINAL_CLOSED && count == 0);
  vicinal_message_free(message);
  vicinal_reader_free(reader);
  vicinal_index_free(index);
  return 0;
}
