// The list of benchmarks. Each is defined in bench_NAME.cpp.
#include "bench/bench.hpp"

namespace vicinal::bench {

Options scan_defaults();
std::vector<Row> run_scan(const Options& options);
Options filtered_defaults();
std::vector<Row> run_filtered(const Options& options);
Options cliff_defaults();
std::vector<Row> run_cliff(const Options& options);
Options encode_defaults();
std::vector<Row> run_encode(const Options& options);
Options concurrent_defaults();
std::vector<Row> run_concurrent(const Options& options);
Options writer_impact_defaults();
std::vector<Row> run_writer_impact(const Options& options);
Options bulk_stall_defaults();
std::vector<Row> run_bulk_stall(const Options& options);
Options clients_defaults();
std::vector<Row> run_clients(const Options& options);
Options index_cache_defaults();
std::vector<Row> run_index_cache(const Options& options);
Options page_cache_defaults();
std::vector<Row> run_page_cache(const Options& options);
Options buffer_header_defaults();
std::vector<Row> run_buffer_header(const Options& options);
Options free_list_defaults();
std::vector<Row> run_free_list(const Options& options);
Options open_defaults();
std::vector<Row> run_open(const Options& options);
Options writes_defaults();
std::vector<Row> run_writes(const Options& options);

namespace {

constexpr const char kConcurrentNotes[] =
    "ours searches in its callers; its pool are threads that help them while cores are free.\n"
    "locked-pool takes a fair reader-writer lock and has one pool of threads scan for all\n"
    "(pool 0: under the lock).\n"
    "searches_per_s counts queries, times are of calls of nq queries. scaling: against as many\n"
    "times one caller of ours as there are callers or cores; cpu_share: what of these cores they\n"
    "got. cpu_us: processor time a call; cpu_ratio: against one caller of ours. involuntary:\n"
    "context switches of callers; calm_p999_us: calls without one.\n"
    "unequal: answers that differ from a lone reader's.";
constexpr const char kWriterImpactNotes[] =
    "A write is an upsert of one row, round a ring of 1,024; paced: 4,000 a second. locked-pool\n"
    "has a fair reader-writer lock and no pool. kept: reads against those without a writer and\n"
    "the part of the cores that the writer left. cpu_ratio, p99_ratio, calm_p99_ratio: processor\n"
    "time a read, p99, and p99 of reads without an involuntary context switch, against those\n"
    "without a writer.";
constexpr const char kBulkStallNotes[] =
    "max_us: the longest search of a round, median of the rounds; worst_us: of all rounds;\n"
    "calm_max_us: of searches without an involuntary context switch. stall: max_us against\n"
    "p999_us of before. locked-pool has a fair reader-writer lock and no pool.";
constexpr const char kClientsNotes[] =
    "threads: processes that search one file: shared maps it and follows its writer, private has\n"
    "a copy in its own memory. paced: another process upserts 500 single rows a second. scaling:\n"
    "against one process without a writer; kept: against as many without, and the part of the\n"
    "cores that the writer left. memory_bytes: all processes together; alone_bytes: the largest\n"
    "one's that is nobody else's, alone_share of the file. seen_ms: from the call of a write to\n"
    "the return of the first search that answers from it.";
constexpr const char kIndexCacheNotes[] =
    "8 indexes by name: mutex has a map and a count of uses, each behind a lock; sharded has 16\n"
    "of them, rwlock a reader-writer lock; nolock is a map of each thread's own. lookup_ns:\n"
    "processor time of a look-up alone; search_cpu_us: of one with a search; of_nolock: searches\n"
    "against nolock's. shared_rmw: read-modify-writes of shared memory in a look-up, as written.\n"
    "check_ns: whether an index is what its file says; row-count counts the rows.";
constexpr const char kPageCacheNotes[] =
    "--n: looks of a pass, at 256 pages that are all in memory; other sizes mean nothing here.\n"
    "lock-before-lookup takes the back end's lock first; lock-on-miss-refcount counts a page's\n"
    "readers, -clone also those of the back end's handle; pin: the frame's header; ours: a\n"
    "session's reading. ns_per_lookup: processor time; of_ours: against ours. shared_rmw:\n"
    "read-modify-writes of shared memory in a look, as written.";
constexpr const char kBufferHeaderNotes[] =
    "--n: pages; --threads: clients. An operation: find the page, pin, share the lock, read ten\n"
    "rows, unshare, unpin; ours is in a reading, which is all that a read needs; hold is\n"
    "what it has for long uses, with the header of half-add. of_ours: operations a second\n"
    "against ours.";
constexpr const char kFreeListNotes[] =
    "--n: frames. An operation drops a page and puts another in. false_full: answers that no\n"
    "frame is free, though one is; steals: frames of another partition. of_ours: against ours.";
constexpr const char kOpenNotes[] =
    "cache: warm, or dropped from the system's cache before. mode: mapped, as files are opened,\n"
    "or read as a whole. ms_both: open and first search; medians, but for ms_both_p99.";
constexpr const char kWritesNotes[] =
    "Until every search sees it; durable: until it would survive a loss of power, in a file in\n"
    "the folder for temporary files, whose disk decides. rows: of one write. sync-add,\n"
    "sync-remove: what an application hands over at once. file_ratio: against a compacted file.";

}  // namespace

std::span<const Bench> benches() noexcept {
  static constexpr Bench kBenches[] = {
      {"scan", "One search and batches, the sign plane first beside every row in full",
       scan_defaults, run_scan},
      {"filtered", "Searches that may find a share of the rows, beside searches of all",
       filtered_defaults, run_filtered},
      {"cliff", "Latency as an index grows past its segments' ends", cliff_defaults, run_cliff},
      {"encode", "Rows a second that one thread encodes, and adds", encode_defaults, run_encode},
      {"concurrent", "Searches from several threads, beside a lock and a pool of threads",
       concurrent_defaults, run_concurrent, kConcurrentNotes},
      {"writer-impact", "Searches beside a writer of single rows, and beside a lock",
       writer_impact_defaults, run_writer_impact, kWriterImpactNotes},
      {"bulk-stall", "The longest search beside one batch of 50,000 rows, and beside a lock",
       bulk_stall_defaults, run_bulk_stall, kBulkStallNotes},
      {"clients", "Searches of one file by several processes, beside a writer",
       clients_defaults, run_clients, kClientsNotes},
      {"index-cache", "One of many open indexes by name, and a search of it, beside locks",
       index_cache_defaults, run_index_cache, kIndexCacheNotes},
      {"page-cache", "Pages in memory, looked at by several threads, beside locks and counts",
       page_cache_defaults, run_page_cache, kPageCacheNotes},
      {"buffer-header", "A page that is held and locked while its rows are read, in eight ways",
       buffer_header_defaults, run_buffer_header, kBufferHeaderNotes},
      {"free-list", "Free frames of a table that is nearly full, in five ways", free_list_defaults,
       run_free_list, kFreeListNotes},
      {"open", "A first answer from an index file, mapped and read", open_defaults, run_open,
       kOpenNotes},
      {"writes", "One write until it is visible: single rows, batches, removals", writes_defaults,
       run_writes, kWritesNotes},
  };
  return kBenches;
}

}  // namespace vicinal::bench
