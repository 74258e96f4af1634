/* Tests in C of indexes that keep originals. */
#include "c_calls.h"

#include <stddef.h>
#include <string.h>
#include <vicinal/vicinal.h>

/* Leaves the function with the line of the first expectation that fails. */
#define EXPECT(expression) \
  do {                     \
    if (!(expression)) return __LINE__; \
  } while (0)

enum { kDim = 8, kRows = 50 };

static uint64_t ids[kRows];
static float rows[kRows * kDim];

static int c_reranked_searches(vicinal_reader* reader) {
  vicinal_search_options options;
  vicinal_search_options_init(&options);
  EXPECT(options.rerank == VICINAL_RERANK_DEFAULT);
  vicinal_hits hits[2];
  EXPECT(vicinal_reader_search(reader, rows, kDim, NULL, hits).code == VICINAL_OK);
  EXPECT(hits->reranked == 1 && hits->count == 10);
  /* The row itself, at a distance of exactly 0. */
  EXPECT(hits->ids[0] == ids[0] && hits->scores[0] == 0.0f);
  options.rerank = 0;
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, hits).code == VICINAL_OK);
  EXPECT(hits->reranked == 0 && hits->count == 10);
  options.rerank = 1000;
  EXPECT(vicinal_reader_search_batch(reader, rows, kDim, 2, &options, hits).code == VICINAL_OK);
  EXPECT(hits[0].reranked == 1 && hits[1].reranked == 1);
  EXPECT(hits[1].ids[0] == ids[1] && hits[1].scores[0] == 0.0f);
  options.has_after = 1;
  const vicinal_status paged = vicinal_reader_search(reader, rows, kDim, &options, hits);
  EXPECT(paged.code == VICINAL_BAD_OPTION);
  /* A caller that knows nothing of originals gets what is usual. */
  options.has_after = 0;
  options.struct_size = offsetof(vicinal_search_options, rerank);
  EXPECT(vicinal_reader_search(reader, rows, kDim, &options, hits).code == VICINAL_OK);
  EXPECT(hits->reranked == 1);
  float row[kDim];
  EXPECT(vicinal_reader_get(reader, ids[7], row, kDim).code == VICINAL_OK);
  EXPECT(memcmp(row, rows + 7 * kDim, sizeof row) == 0);
  return 0;
}

int c_originals(void) {
  for (int i = 0; i < kRows; ++i) ids[i] = (uint64_t)i * 3 + 1;
  for (int i = 0; i < kRows * kDim; ++i) rows[i] = (float)((i * 37 + i * i * 7) % 101) - 50.5f;
  vicinal_status status;
  vicinal_index_options options;
  vicinal_index_options_init(&options);
  options.dim = kDim;
  options.bits = 1;
  options.metric = VICINAL_L2;
  options.originals = VICINAL_FLOAT16_ORIGINALS;
  vicinal_index* index = vicinal_index_create(&options, &status);
  EXPECT(index != NULL);
  EXPECT(vicinal_index_add(index, ids, rows, kRows, NULL).code == VICINAL_OK);
  vicinal_stats stats;
  stats.struct_size = sizeof stats;
  EXPECT(vicinal_index_stats(index, &stats).code == VICINAL_OK);
  EXPECT(stats.original_bytes >= kRows * kDim * 2);
  vicinal_reader* reader = vicinal_reader_open(index, &status);
  EXPECT(reader != NULL);
  const int failed = c_reranked_searches(reader);
  vicinal_reader_free(reader);
  vicinal_index_free(index);
  return failed;
}
