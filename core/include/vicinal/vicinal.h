/* The C interface of vicinal: opaque handles, status codes, options with struct_size first.
 *
 * Thread safety: an index from any thread; a reader from one thread at a time; a message from the
 * thread that made it; a filter from one thread at a time. Every handle is freed by its own
 * function, once; a reader and a filter keep their index alive.
 * Texts of this interface are UTF-8 and end in zero; ids that are strings are any bytes with a
 * length. Nothing throws. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 2: vicinal_hits tells whether it was re-ranked. */
#define VICINAL_ABI_VERSION 2u

typedef struct vicinal_index vicinal_index;
typedef struct vicinal_reader vicinal_reader;
typedef struct vicinal_message vicinal_message;
typedef struct vicinal_filter vicinal_filter;

/* The codes of status.hpp. */
typedef enum vicinal_code {
  VICINAL_OK = 0,
  VICINAL_DIMENSION = 1,
  VICINAL_NOT_FINITE = 2,
  VICINAL_DUPLICATE_ID = 3,
  VICINAL_UNKNOWN_ID = 4,
  VICINAL_BAD_ID = 5,
  VICINAL_BAD_OPTION = 6,
  VICINAL_CORRUPT = 7,
  VICINAL_VERSION = 8,
  VICINAL_BUSY = 9,
  VICINAL_FULL = 10,
  VICINAL_READ_ONLY = 11,
  VICINAL_CLOSED = 12,
  VICINAL_ABORTED = 13,
  VICINAL_UNSUPPORTED = 14,
  VICINAL_WOULD_BLOCK = 15,
  VICINAL_IO = 16
} vicinal_code;

typedef enum vicinal_metric {
  VICINAL_COSINE = 0,
  VICINAL_IP = 1,
  VICINAL_L2 = 2
} vicinal_metric;

typedef enum vicinal_message_kind {
  VICINAL_ADD = 0,
  VICINAL_UPSERT = 1,
  VICINAL_REMOVE = 2,
  VICINAL_CLEAR = 3,
  VICINAL_CALIBRATE = 4,
  VICINAL_COMPACT = 5
} vicinal_message_kind;

/* Rows that an index keeps as they were given: for exact scores, and for vicinal_reader_get. */
typedef enum vicinal_originals {
  VICINAL_NO_ORIGINALS = 0,
  VICINAL_FLOAT16_ORIGINALS = 1, /* rounded; magnitudes of 65520 and more are NOT_FINITE */
  VICINAL_FLOAT32_ORIGINALS = 2
} vicinal_originals;

/* For vicinal_search_options: 4 k where the index keeps originals, else 0. */
#define VICINAL_RERANK_DEFAULT UINT64_MAX

/* What names a row, chosen once for an index. Functions and fields of the other kind are BAD_ID. */
typedef enum vicinal_id_kind {
  VICINAL_NUMBER_IDS = 0,
  VICINAL_STRING_IDS = 1
} vicinal_id_kind;

/* An id of an index with VICINAL_STRING_IDS: up to 65535 bytes, compared as they are. */
typedef struct vicinal_string {
  const char* data;
  size_t bytes;
} vicinal_string;

/* What a call came to; `a` and `b` as status.hpp says for each code. */
typedef struct vicinal_status {
  uint32_t code;
  uint32_t reserved;
  uint64_t a;
  uint64_t b;
} vicinal_status;

/* Every options struct starts from its init function, which sets struct_size and the defaults. A
 * caller compiled against an older header passes a smaller struct_size, and what it lacks keeps its
 * default; a larger one than this library knows is BAD_OPTION. */
typedef struct vicinal_index_options {
  uint32_t struct_size;
  uint32_t dim;                /* 1..16384 */
  uint32_t metric;             /* vicinal_metric */
  uint32_t bits;               /* 1, 2, 3, 4, 8 */
  uint32_t originals;          /* vicinal_originals */
  uint32_t id_kind;            /* vicinal_id_kind */
  uint64_t seed;
  uint64_t memory_bytes_max;   /* 0: no limit */
  uint64_t retired_bytes_max;  /* 0: the default */
} vicinal_index_options;

typedef struct vicinal_search_options {
  uint32_t struct_size;
  uint32_t filtered;           /* 1: only the ids in filter_ids may appear */
  uint64_t k;
  const uint64_t* filter_ids;
  uint64_t filter_count;
  float min_score;             /* -INFINITY for none */
  float certainty;             /* standard deviations; INFINITY scores every row in full */
  uint32_t has_after;          /* 1: only what comes after (after_score, after_id) */
  float after_score;
  uint64_t after_id;
  uint64_t min_sequence;       /* an older version is WOULD_BLOCK(its sequence, this one) */
  vicinal_filter* filter;      /* or null; one of this index, not together with `filtered` */
  const vicinal_string* filter_strings;  /* strings: in place of filter_ids */
  vicinal_string after_string;           /* strings: in place of after_id */
  /* So many of the best by their codes, k at least, are ranked by exact scores of their originals;
   * 0: codes decide. BAD_OPTION for more than 0 without originals, or together with has_after. */
  uint64_t rerank;                       /* VICINAL_RERANK_DEFAULT */
} vicinal_search_options;

typedef struct vicinal_open_options {
  uint32_t struct_size;
  uint32_t read_only;          /* 1: writes get READ_ONLY; what others write to the file is seen */
  uint64_t memory_bytes_max;   /* 0: no limit; a file that needs more is FULL */
  uint32_t mapped;             /* 1; 0: read into memory at once, and not searched in the file */
  uint32_t detached;           /* 1: a copy in memory, which has nothing to do with the file */
  const vicinal_index_options* create;  /* of the index to make where there is no file; or null */
} vicinal_open_options;

typedef struct vicinal_write_options {
  uint32_t struct_size;
  uint32_t atomic;             /* 1; 0: a large write may land in parts, see vicinal_index_write */
  uint32_t durable;            /* 1: returns once the write survives a loss of power */
  uint32_t reserved;
} vicinal_write_options;

typedef struct vicinal_receipt {
  uint64_t sequence;
  uint64_t count;
} vicinal_receipt;

/* Best first. The arrays lie in the reader and are valid until its next call. Where ids are
 * strings `ids` is null, and the i-th is `text` from text_offsets[i] to text_offsets[i + 1]. */
typedef struct vicinal_hits {
  const uint64_t* ids;
  const float* scores;
  uint64_t count;
  uint64_t sequence;
  uint64_t rows_estimated;
  uint64_t rows_scored;
  const char* text;            /* null where ids are numbers */
  const uint64_t* text_offsets;
  uint32_t reranked;           /* 1: the scores are exact, from originals */
  uint32_t reserved;
} vicinal_hits;

/* struct_size is the caller's sizeof: no more than that is written. Less than 8 is BAD_OPTION. */
typedef struct vicinal_stats {
  uint32_t struct_size;
  uint32_t segments;
  uint64_t rows;
  uint64_t dead;
  uint64_t sequence;
  uint64_t segment_bytes;
  uint64_t id_table_bytes;
  uint64_t version_bytes;
  uint64_t retired_bytes;
  uint64_t shared_bytes;
  uint64_t total_bytes;
  uint64_t oldest_sequence;
  uint32_t readers;
  uint32_t readers_max;
  uint32_t oldest_slot;
  uint32_t ring_depth;
  uint32_t dim;
  uint32_t bits;
  uint32_t metric;
  uint32_t calibrated;         /* 1: rows are measured from a sample's centre */
  const char* kernel;          /* static */
  uint32_t helpers;
  uint32_t writers_replaced;   /* writers that died at work */
  uint64_t searches_shared;    /* searches that asked helpers, ever */
  uint64_t chunks_helped;      /* parts of them that helpers did, ever */
  uint64_t leaked_bytes;       /* lost with those writers; not part of total_bytes */
  uint64_t string_bytes;       /* ids that are strings; part of total_bytes */
  uint64_t original_bytes;     /* rows as they were given; part of total_bytes */
} vicinal_stats;

uint32_t vicinal_abi_version(void);
/* "DUPLICATE_ID" and so on; static. */
const char* vicinal_code_name(uint32_t code);
/* A sentence about a status into `text`, cut to `bytes` with its zero; returns its whole length. */
size_t vicinal_status_message(const vicinal_status* status, char* text, size_t bytes);

void vicinal_index_options_init(vicinal_index_options* options);
void vicinal_open_options_init(vicinal_open_options* options);
void vicinal_search_options_init(vicinal_search_options* options);
void vicinal_write_options_init(vicinal_write_options* options);

/* A new index, or null with the reason in `status`. */
vicinal_index* vicinal_index_create(const vicinal_index_options* options, vicinal_status* status);
/* The index in a file. `options` may be null. Without `read_only` every write goes to the file,
 * too, and one process may: the second gets BUSY(its number). With it the index follows whoever
 * writes, in this process or another one: every call sees the newest commit of the file, by one
 * look at a word of memory. A file of format 1 or 2, as vicinal_index_save writes it, is loaded
 * into memory, and has nothing to do with the index afterwards. With `mapped` 1 the file must not
 * be cut short by anybody while it is open: that ends the process. */
vicinal_index* vicinal_index_open(const char* path, const vicinal_open_options* options,
                                  vicinal_status* status);
vicinal_status vicinal_index_save(const vicinal_index* index, const char* path);
/* Returns when all that was written by then survives a loss of power: the receipt's sequence, which
 * may be null. UNSUPPORTED without a file; IO when it cannot be written, READ_ONLY from then on. */
vicinal_status vicinal_index_flush(vicinal_index* index, vicinal_receipt* receipt);
/* Of an index that follows a file: looks for a newer commit now, so that no search has to. `found`
 * (may be null) is 1 where there was one. What it cannot read leaves the index as it was. */
vicinal_status vicinal_index_refresh(vicinal_index* index, uint32_t* found);
/* One more owner of the same index behind a handle of its own, or null without memory. */
vicinal_index* vicinal_index_share(const vicinal_index* index);
/* From now on every call on the index and its readers is CLOSED; handles are freed as before. */
void vicinal_index_close(vicinal_index* index);
void vicinal_index_free(vicinal_index* index);
uint32_t vicinal_index_dim(const vicinal_index* index);
vicinal_status vicinal_index_stats(const vicinal_index* index, vicinal_stats* stats);

/* `rows`: count * dim floats. Returns when the write is visible. `receipt` may be null. */
vicinal_status vicinal_index_add(vicinal_index* index, const uint64_t* ids, const float* rows,
                                 uint64_t count, vicinal_receipt* receipt);
vicinal_status vicinal_index_upsert(vicinal_index* index, const uint64_t* ids, const float* rows,
                                    uint64_t count, vicinal_receipt* receipt);
vicinal_status vicinal_index_remove(vicinal_index* index, const uint64_t* ids, uint64_t count,
                                    vicinal_receipt* receipt);
/* VICINAL_ADD, VICINAL_UPSERT, or VICINAL_REMOVE, which has no rows. `options` may be null. With
 * `atomic` 0 a large one lands in parts of 4 MiB of coordinates or 262,144 ids, in their order,
 * each whole and in one version: memory for encoded rows is then that of one part. At an error the
 * parts before it stay. `receipt` (may be null) tells at every outcome what has
 * landed; zeros when nothing has. */
vicinal_status vicinal_index_write(vicinal_index* index, uint32_t kind, const uint64_t* ids,
                                   const float* rows, uint64_t count,
                                   const vicinal_write_options* options,
                                   vicinal_receipt* receipt);
/* The same where ids are strings, of which copies are made. DUPLICATE_ID(row, 1). */
vicinal_status vicinal_index_write_strings(vicinal_index* index, uint32_t kind,
                                           const vicinal_string* ids, const float* rows,
                                           uint64_t count, const vicinal_write_options* options,
                                           vicinal_receipt* receipt);
vicinal_status vicinal_index_clear(vicinal_index* index, vicinal_receipt* receipt);
/* `sample`: count * dim floats, at least 32 rows, of the kind that will be added. From now on rows
 * are measured from its centre, which raises recall where vectors do not lie around zero. Only
 * while the index has no rows (BAD_OPTION); not for the metric ip (UNSUPPORTED). */
vicinal_status vicinal_index_calibrate(vicinal_index* index, const float* sample, uint64_t count,
                                       vicinal_receipt* receipt);
/* Rewrites what has dead rows; the receipt counts those that went. No result changes. */
vicinal_status vicinal_index_compact(vicinal_index* index, vicinal_receipt* receipt);

/* How many threads of its own the index has that help long searches: none at first, 32 at most. No
 * result depends on it. BAD_OPTION, BUSY, FULL; CLOSED for more than none. */
vicinal_status vicinal_index_set_helpers(vicinal_index* index, uint32_t count);

/* Writes that nobody waits for: make a message, fill it, submit it, look for its end. For event
 * loops. A handle's messages are applied in the order of their submits. */
vicinal_message* vicinal_message_create(vicinal_index* index, uint32_t kind, uint64_t count,
                                        vicinal_status* status);
uint64_t* vicinal_message_ids(vicinal_message* message);
/* Where ids are strings: with room for `text_bytes` of all ids together, to be filled in one after
 * the other; and for `count` numbers, where each ends. */
vicinal_message* vicinal_message_create_strings(vicinal_index* index, uint32_t kind,
                                                uint64_t count, uint64_t text_bytes,
                                                vicinal_status* status);
char* vicinal_message_text(vicinal_message* message);
uint32_t* vicinal_message_string_ends(vicinal_message* message);
/* Room for *rows vectors of dim floats, 64-byte aligned; null for kinds without rows. The rows of
 * VICINAL_CALIBRATE are those of the sample; it has no ids. */
float* vicinal_message_staging(vicinal_message* message, uint32_t* rows);
vicinal_status vicinal_message_encode(vicinal_message* message, uint64_t first,
                                      const float* vectors, uint64_t rows);
/* BUSY: the ring is full, try again later. On any error the message is still the caller's alone. */
vicinal_status vicinal_message_submit(vicinal_message* message);
int vicinal_message_done(const vicinal_message* message);
/* A 32-bit word that is 0 until the message is done, for futexes and Atomics.wait. */
const void* vicinal_message_done_word(const vicinal_message* message);
vicinal_status vicinal_message_result(const vicinal_message* message, vicinal_receipt* receipt);
/* A message that was never submitted, or is done. */
void vicinal_message_free(vicinal_message* message);
/* Does pending writes, about `budget_us` of them, or else a slice of compaction where one is due.
 * 0: there is nothing to do; else how many messages it completed, or 1 for a slice. */
uint32_t vicinal_index_pump(vicinal_index* index, uint64_t budget_us);
/* A 32-bit word that changes whenever a message is submitted. */
const void* vicinal_index_doorbell(const vicinal_index* index);

/* A reader, or null with the reason in `status`. */
vicinal_reader* vicinal_reader_open(const vicinal_index* index, vicinal_status* status);
/* A reader of one fixed version, until it is freed. */
vicinal_reader* vicinal_reader_snapshot(vicinal_reader* reader, vicinal_status* status);
void vicinal_reader_free(vicinal_reader* reader);
/* `query`: dim floats. `options` may be null. */
vicinal_status vicinal_reader_search(vicinal_reader* reader, const float* query, uint32_t dim,
                                     const vicinal_search_options* options, vicinal_hits* hits);
/* `queries`: count * dim floats; `hits`: count of them. Each is what a single search would find, to
 * the bit, and all are of one version. An error: all hits are empty. */
vicinal_status vicinal_reader_search_batch(vicinal_reader* reader, const float* queries,
                                           uint32_t dim, uint64_t count,
                                           const vicinal_search_options* options,
                                           vicinal_hits* hits);
vicinal_status vicinal_reader_has(vicinal_reader* reader, uint64_t id, int* found);
vicinal_status vicinal_reader_has_string(vicinal_reader* reader, vicinal_string id, int* found);
/* `vector`: dim floats, the row as it was given where originals are kept, else what its code stands
 * for; UNKNOWN_ID. */
vicinal_status vicinal_reader_get(vicinal_reader* reader, uint64_t id, float* vector,
                                  uint32_t dim);
vicinal_status vicinal_reader_get_string(vicinal_reader* reader, vicinal_string id, float* vector,
                                         uint32_t dim);
/* Live rows, and the sequence of the version that has them (may be null). */
vicinal_status vicinal_reader_count(vicinal_reader* reader, uint64_t* rows, uint64_t* sequence);

/* A list of the only ids that searches may return, prepared once for any number of searches of
 * every reader of the index, and kept up to date. Or null with the reason in `status`. */
vicinal_filter* vicinal_filter_create(vicinal_reader* reader, const uint64_t* ids, uint64_t count,
                                      vicinal_status* status);
vicinal_filter* vicinal_filter_create_strings(vicinal_reader* reader, const vicinal_string* ids,
                                              uint64_t count, vicinal_status* status);
/* Different ids in the list, known to the index or not. */
uint64_t vicinal_filter_size(const vicinal_filter* filter);
void vicinal_filter_free(vicinal_filter* filter);

#ifdef __cplusplus
}
#endif
