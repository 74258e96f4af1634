// What JavaScript calls: a few dozen functions over addresses, the same in the shared-memory module
// (raw exports) and in the thread-less one (Embind).
//
// Thread safety: an index's functions from any attached thread; a reader's and a message's from the
// one thread that owns it (vic_message_encode_apart: another); vic_index_pump from any thread (one
// at a time does the work).
// I1: no 64-bit value crosses the boundary as an argument; blocks in linear memory carry them.
// I2: a function returns a vicinal::Code (0 = ok) unless it says otherwise; the numbers of a Status
//     lie in the block that the call was given.
// I3: blocks are 8-byte aligned, little-endian, and never move while their owner lives.
//     web/src/backend/ blocks.ts mirrors them; a test compares vic_block_layout() with it.
// I4: handles are addresses of objects that this header's functions made. An index's handle is good
//     for ever; a stale or foreign one of another kind is refused by the TypeScript above, never
//     seen here.
#pragma once

#include <cstdint>

namespace vicinal::wasm {

using Address = std::uint32_t;
inline constexpr std::uint32_t kAbiVersion = 12;

struct StatusBlock {      // 24 bytes
  std::uint32_t code;     // 0
  std::uint32_t padding;  // 4
  std::uint64_t a;        // 8
  std::uint64_t b;        // 16
};

struct OptionsBlock {               // vic_index_create: in; 48 bytes
  std::uint32_t dim;                // 0
  std::uint32_t metric;             // 4
  std::uint32_t bits;               // 8
  std::uint32_t originals;          // 12: 0 none, 1 float16, 2 float32
  std::uint64_t seed;               // 16
  std::uint64_t memory_bytes_max;   // 24
  std::uint64_t retired_bytes_max;  // 32
  std::uint32_t ids;                // 40: 0 numbers, 1 strings
  std::uint32_t padding;            // 44
};

struct MessageBlock {            // one write
  StatusBlock status;            // 0: when done: the outcome; else of the last encode
  std::uint64_t sequence;        // 24: when done
  std::uint64_t affected;        // 32: when done: rows added, replaced or removed
  Address ids;                   // 40: u64[count]
  Address staging;               // 44: f32[staging_rows * dim]
  std::uint32_t staging_rows;    // 48
  std::uint32_t count;           // 52
  Address done;                  // 56: u32 word, 0 until done: may be waited on
  Address string_ends;           // 60: u32[count], where ids are strings: in place of ids
  Address text;                  // 64: u8[text_bytes]
  std::uint32_t padding;         // 68
};

// ReaderBlock::rerank: so many as are usual.
inline constexpr std::uint32_t kRerankUsual = 0xffffffff;

struct ReaderBlock {             // one reader's requests and results; 152 bytes
  StatusBlock status;            // 0
  std::uint64_t id;              // 24: in of has and get
  std::uint64_t after_id;        // 32: in of search, with has_after
  float after_score;             // 40
  std::uint32_t has_after;       // 44: 0 or 1; strings: 2 for rows from after_score on
  std::uint32_t k;               // 48
  float min_score;               // 52: -Infinity for none
  float certainty;               // 56: Infinity for exhaustive
  std::uint32_t filtered;        // 60: 0 or 1
  std::uint32_t filter_count;    // 64: ids in the filter buffer, or of the string buffer
  std::uint32_t hit_count;       // 68: out of search
  Address hit_ids;               // 72: u64[hit_count], valid until this reader's next call
  Address hit_scores;            // 76: f32[hit_count], likewise
  std::uint64_t sequence;        // 80: out of search and refresh: the version that answered
  std::uint64_t rows;            // 88: out of refresh: live rows
  std::uint64_t rows_estimated;  // 96: out of search
  std::uint64_t rows_scored;     // 104
  Address query;                 // 112: f32[dim], in of search, out of get
  std::uint32_t found;           // 116: out of has and get
  Address filter;                // 120: in of search: a compiled filter of this reader, or 0
  Address batch_ends;            // 124: u32[count], out of search_batch: see there
  std::uint32_t strings;         // 128: 1: ids of the call are those of the string buffer
  Address hit_text;              // 132: out of search, where ids are strings: the i-th hit's from
  Address hit_text_offsets;      // 136: hit_text + u64[i] to hit_text + u64[i + 1]
  std::uint32_t rerank;          // 140: in of search
  std::uint32_t reranked;        // 144: out of search: 1 where scores are exact
  std::uint32_t padding;         // 148
};

struct StatsBlock {              // vic_index_stats
  std::uint64_t rows, dead, sequence;                                           // 0, 8, 16
  std::uint64_t segment_bytes, id_table_bytes, version_bytes, retired_bytes;    // 24 .. 48
  std::uint64_t shared_bytes, total_bytes, oldest_sequence;                     // 56, 64, 72
  std::uint32_t segments, readers, readers_max, oldest_slot, ring_depth;        // 80 .. 96
  std::uint32_t dim, bits, metric;                                              // 100, 104, 108
  Address kernel;                                                               // 112: C string
  std::uint32_t calibrated;                                                     // 116: 0 or 1
  std::uint32_t slots_retired;                                                  // 120
  std::uint32_t writers_replaced;                                               // 124
  std::uint64_t leaked_bytes;                                                   // 128
  std::uint64_t searches_shared, chunks_helped;                                 // 136, 144
  std::uint32_t helpers;                                                        // 152
  std::uint32_t padding;                                                        // 156
  std::uint64_t string_bytes, original_bytes;                                   // 160, 168
};

struct SaveBlock {            // an index's file on its way out; 48 bytes
  StatusBlock status;         // 0
  std::uint64_t total_bytes;  // 24: of the file
  std::uint64_t offset;       // 32: where the slice belongs in it
  Address slice;              // 40: valid until the next call with this handle
  std::uint32_t slice_bytes;  // 44: 0 behind the last
};

struct LoadBlock {            // an index on its way in; 80 bytes
  StatusBlock status;         // 0
  std::uint64_t total_bytes;  // 24: what the head of the file says; 0 until it has come
  std::uint64_t largest_id;   // 32: of those that have come
  std::uint64_t seed;         // 40: this and the next: out of finish
  std::uint32_t dim;          // 48
  std::uint32_t metric;       // 52
  std::uint32_t bits;         // 56
  Address room;               // 60: for the file's next bytes, at most
  std::uint32_t room_bytes;   // 64: these many
  std::uint32_t ids;          // 68: this and the next: out of finish: 0 numbers, 1 strings
  std::uint32_t originals;    // 72
  std::uint32_t padding;      // 76
};

struct FileBlock {           // vic_file_open: out; 64 bytes
  StatusBlock status;        // 0
  std::uint64_t largest_id;  // 24: this and the rest: of the index that was opened
  std::uint64_t seed;        // 32
  std::uint32_t dim;         // 40
  std::uint32_t metric;      // 44
  std::uint32_t bits;        // 48
  std::uint32_t ids;         // 52: 0 numbers, 1 strings
  std::uint32_t originals;   // 56
  std::uint32_t padding;     // 60
};

struct FlushBlock {        // vic_index_serve_flush: out; 40 bytes
  StatusBlock status;      // 0
  std::uint64_t sequence;  // 24: survives a loss of power, as far as is known
  std::uint32_t asks;      // 32: questions up to this number are answered
  std::uint32_t padding;   // 36
};

enum class MessageKind : std::uint32_t {
  add = 0, upsert = 1, remove = 2, clear = 3, calibrate = 4, compact = 5,
};

}  // namespace vicinal::wasm

extern "C" {
using vic_address = std::uint32_t;

// The number that the TypeScript must know: kAbiVersion.
std::uint32_t vic_abi_version();
// Address of {C string, u32}[]: name and offset of each field of each block in the order above,
// padding left out; after a block's fields "bytes" and its size; after the last block a null name.
vic_address vic_block_layout();

// `bytes` of memory aligned to 64, or 0. For blocks that no object owns.
vic_address vic_allocate(std::uint32_t bytes);
void vic_release(vic_address memory);

// Shared-memory module only. Before a thread may call anything else it needs a stack and a TLS
// area: it claims one of vic_bootstrap_count() stacks by compare-exchange 0 -> 1 on u32 word i at
// vic_bootstrap_claims(), sets the stack pointer to vic_bootstrap_stacks() + (i + 1) *
// vic_bootstrap_stack_bytes(), calls vic_thread_area_create(tls bytes), gets the address of an area
// (or 0), sets the stack pointer to area + vic_thread_area_bytes(tls bytes), calls
// __wasm_init_tls(area), and stores 0 to the claim. The first four run without a stack: the owner
// reads them and passes the numbers on. vic_thread_area_release is called by another thread, or
// last.
vic_address vic_bootstrap_claims();
vic_address vic_bootstrap_stacks();
std::uint32_t vic_bootstrap_count();
std::uint32_t vic_bootstrap_stack_bytes();
vic_address vic_thread_area_create(std::uint32_t tls_bytes);
std::uint32_t vic_thread_area_bytes(std::uint32_t tls_bytes);
void vic_thread_area_release(vic_address area);
// Whether this thread may sleep (not a page's main thread).
void vic_set_may_block(std::uint32_t may_block);

// Shared-memory module only. So that a realm's death can be mended, the realm first takes a number,
// its life, by adding 1 to the u32 word at vic_realm_lives(), and claims one of the
// vic_realm_count() records of 16 bytes at vic_realms(), not the first, by compare-exchange of its
// first word, 0 -> life. (It claims its bootstrap stack with its life, too, in place of 1.) These
// three run without a stack. With its area it calls vic_realm_enter(record, area).
vic_address vic_realms();
std::uint32_t vic_realm_count();
vic_address vic_realm_lives();
void vic_realm_enter(std::uint32_t realm, vic_address area);
// 1 when this realm has nothing open: then its record may be claimed again.
std::uint32_t vic_realm_leave();
// By a living realm that has proof that the one of this record runs no more, and has exchanged the
// record's first word, its life, for -1. Its readers are unpinned, its references to indexes end,
// and where it died in vic_index_pump, the next pump goes on with its writes; objects that only it
// knew are lost. `reuse`, for a proof that covers the whole thread: its slots
// can be had again, and its area is freed. Then the caller stores 0 to the first word.
void vic_realm_bury(std::uint32_t realm, std::uint32_t reuse);

// options: OptionsBlock, status: StatusBlock. Returns the index's handle, 0 on error.
vic_address vic_index_create(vic_address options, vic_address status);
// The owner's end of an index, by the thread that made it. What readers still hold goes with the
// last of them. The handle itself, about 100 bytes, stays, so that a late vic_reader_open in
// another realm finds CLOSED and not somebody else's memory.
void vic_index_release(vic_address index);
// stats: StatsBlock, status: StatusBlock. CLOSED; BUSY when all reader slots are taken; FULL.
std::uint32_t vic_index_stats(vic_address index, vic_address stats, vic_address status);
// After this every write and every search is CLOSED; memory stays until the last release.
void vic_index_close(vic_address index);
// The writer's doorbell: read the word, call vic_index_pump until it returns 0, then wait on the
// word.
vic_address vic_index_doorbell(vic_address index);
// Does the writer's work that is pending, at most about `budget_us` of it; returns messages
// completed.
std::uint32_t vic_index_pump(vic_address index, std::uint32_t budget_us);

// Shared-memory module only. How many threads can run at once: before the first index is made.
void vic_set_processors(std::uint32_t processors);
// A helper of the index's long searches, for the calling realm, which keeps the index alive by it;
// status: StatusBlock. 0 on error: BUSY (32 help already), FULL, CLOSED.
vic_address vic_helper_open(vic_address index, vic_address status);
// Helps where a search asks for it; else sleeps until one does, vic_index_wake_helpers is called or
// `wait_us` have passed. 1 when it has helped.
std::uint32_t vic_helper_help(vic_address helper, std::uint32_t wait_us);
void vic_helper_close(vic_address helper);
void vic_index_wake_helpers(vic_address index);

// A write of `count` rows or ids; `text_bytes`: of all ids together where they are strings, which
// are then filled in as text and the place in it where each ends.
// kind: MessageKind, status: StatusBlock. Fill ids; for add and
// upsert also stage and encode every row; calibrate has no ids but a sample's rows to encode.
// Returns the address of its MessageBlock, which is its handle; 0 on error: FULL, CLOSED, and of
// calibrate BAD_OPTION, UNSUPPORTED. Rows are encoded for the calibration of this moment: one that
// is submitted behind a calibrate which was not done then comes to BAD_OPTION.
vic_address vic_message_create(vic_address index, std::uint32_t kind, std::uint32_t count,
                               std::uint32_t text_bytes, vic_address status);
// Encodes staging rows 0..rows-1 as the message's rows first..first+rows-1. DIMENSION never;
// NOT_FINITE with (row, coordinate) in the block's status.
std::uint32_t vic_message_encode(vic_address message, std::uint32_t first, std::uint32_t rows);
// By another realm, to which the message's owner lends these rows until it hears of the outcome: as
// vic_message_encode, from f32[rows * dim] at `vectors`; FULL without memory for scratch. The
// outcome is in `status`, a StatusBlock of the caller's. What the owner then counts as encoded.
std::uint32_t vic_message_encode_apart(vic_address message, std::uint32_t first,
                                       std::uint32_t rows, vic_address vectors,
                                       vic_address status);
void vic_message_count_encoded(vic_address message, std::uint32_t rows);
// Hands it to the writer and rings the doorbell. BUSY when the ring is full: try again later.
std::uint32_t vic_message_submit(vic_address message);
// 1 once the writer is done with it.
std::uint32_t vic_message_done(vic_address message);
// A message that was not submitted, or is done.
void vic_message_release(vic_address message);

// status: StatusBlock. Returns the reader's handle, the address of its ReaderBlock; 0 on error.
vic_address vic_reader_open(vic_address index, vic_address status);
void vic_reader_close(vic_address reader);
// A reader that was lent to a realm that died with it, with proof: its slot and its reference to
// the index are given back, its memory is not. The handle's last use.
void vic_reader_abandon(vic_address reader, std::uint32_t reuse);
// A reader of the version that is newest now, until it is closed; from a snapshot: of its version.
vic_address vic_reader_snapshot(vic_address reader, vic_address status);
// u64[count] for the ids of a filter, or 0 without memory; valid until the next call of this or of
// vic_reader_filter_create.
vic_address vic_reader_filter_buffer(vic_address reader, std::uint32_t count);
// Compiles the first `count` ids of the filter or string buffer, whose memory it gives back, for
// the block's
// `filter` (with `filtered` 0) of any number of this reader's searches. 0 with the reason in the
// block's status: FULL, CLOSED, BAD_OPTION without such a buffer. The reader owns it.
vic_address vic_reader_filter_create(vic_address reader, std::uint32_t count);
void vic_reader_filter_release(vic_address reader, vic_address filter);
// Where ids are strings, and the block says so (`strings`): u32[count] for where each ends, and
// behind them room for `text_bytes` of text; 0 without memory. Valid until the next call of this or
// of vic_reader_filter_create. has and get look at the first string, a filter's list is the first
// filter_count, and `after` the one behind those.
vic_address vic_reader_string_buffer(vic_address reader, std::uint32_t count,
                                     std::uint32_t text_bytes);
std::uint32_t vic_reader_search(vic_address reader);
// f32[count * dim] for the queries of a batch, or 0 without memory; valid until the next call of
// this. A count of 0 gives back the memory of the last batch, its results included.
vic_address vic_reader_batch_buffer(vic_address reader, std::uint32_t count);
// Searches for the first `count` queries of the batch buffer as vic_reader_search does for one, all
// in one version. hit_ids and hit_scores: the rows of all, one query's after the other's,
// hit_count in all, valid until the reader's next batch; batch_ends tells them apart;
// rows_estimated and rows_scored: of all. NOT_FINITE names the query. FULL, BAD_OPTION.
std::uint32_t vic_reader_search_batch(vic_address reader, std::uint32_t count);
std::uint32_t vic_reader_has(vic_address reader);
std::uint32_t vic_reader_get(vic_address reader);
// Fills rows and sequence.
std::uint32_t vic_reader_refresh(vic_address reader);

// The file of the version that is newest now, which is kept until the release; from a snapshot: of
// its version. status: StatusBlock. Returns the address of a SaveBlock, its handle; 0 on error:
// BUSY, CLOSED, FULL.
vic_address vic_save_create(vic_address reader, vic_address status);
// Makes the next slice. Every byte of the file comes once, the slice with offset 0 last of all:
// what was cut short before it is no file. CLOSED.
std::uint32_t vic_save_next(vic_address save);
void vic_save_release(vic_address save);

// An index from a file's bytes, which are hostile until all have come. Of options only
// memory_bytes_max is looked at; status: StatusBlock. Returns the address of a LoadBlock, its
// handle; 0 on error: FULL.
vic_address vic_load_create(vic_address options, std::uint32_t read_only, vic_address status);
// Takes the first `bytes` of the room as the file's next ones. CORRUPT, VERSION, FULL; the first
// error stays.
std::uint32_t vic_load_take(vic_address load, std::uint32_t bytes);
// After the last: as vic_index_create, with the reason in the block's status. Once.
vic_address vic_load_finish(vic_address load);
void vic_load_release(vic_address load);

// The index that lives in the file at a path which the calling realm's loader has ready (and, to be
// written, locked). From options memory_bytes_max counts, and with `create` all, for a file that is
// empty. file: FileBlock. Returns the index's handle, which may be released by another realm than
// the caller; 0 on error, as Index::open. Reads and checks the whole file.
vic_address vic_file_open(vic_address options, std::uint32_t create, std::uint32_t read_only,
                          vic_address path, std::uint32_t path_bytes, vic_address file);
// What has been written to the index by now shall survive a loss of power: whoever pumps it does
// that, when it is rung by this. The question's number; 0 on error. status: StatusBlock.
std::uint32_t vic_index_ask_flush(vic_address index, vic_address status);
// By whoever pumps, after a 0: answers what was asked. flush: FlushBlock. Returns `asks`; 0: nobody
// has asked.
std::uint32_t vic_index_serve_flush(vic_address index, vic_address flush);
// Of an index whose file another process or tab writes, by the realm that opened it or its
// successor: 1 when a newer version of it was published. 0: none, or it cannot be had now.
std::uint32_t vic_index_refresh(vic_address index);
// By whoever pumped, at the end: the file has every write and is closed, or it is without the last
// ones, and nobody was told: IO, FULL. status: StatusBlock.
void vic_index_close_file(vic_address index, vic_address status);
}
