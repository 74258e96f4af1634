/* Publishing, pinning and reclaiming: core/sync/version_root.hpp, reclaimer.hpp.

   Two readers make SEARCHES searches each while the writer makes COMMITS commits. Memory is weak in
   one way: every store goes to a buffer of its thread, one entry per location, which reaches
   memory at any later moment and in any order. A seq_cst store waits for its own entry to arrive;
   a release store waits until the thread's earlier stores have. Loads take effect in order.

   Objects: version k (birth k, retire k + 1), and a part that versions 1 and 2 share.

   Broken variants, each of which must fail:
     READER_NO_FENCE   the announcement may arrive after the load of the newest version
     WRITER_NO_FENCE   the newest version may arrive after the scan
     GENERATION_FIRST  the generation is stored before the version
     BLIND_TO_RANGE    the scan takes a RANGE for IDLE
     BLIND_TO_PART     the scan frees the part when a later version than its first is pinned
     LEAVE_RELAXED     the store of IDLE may take effect before the last access */

#ifndef SEARCHES
#define SEARCHES 2
#endif
#ifndef COMMITS
#define COMMITS 2
#endif
#define FIRST 1
#define LAST (FIRST + COMMITS)
#define NOTHING 255

/* A pin: 0 IDLE, 2e + 2 RANGE e, 2s + 3 EXACT s. */
#define RANGE(e) (2 * (e) + 2)
#define EXACT(s) (2 * (s) + 3)

byte current = FIRST;
byte generation = FIRST;
byte pin[2];

byte current_buffer = NOTHING;
byte generation_buffer = NOTHING;
byte pin_buffer[2] = NOTHING;

bool version_freed[LAST + 1];
bool part_freed;

/* Whatever is in a buffer arrives some time. */
active proctype arrival() {
end:
  do
  :: atomic { current_buffer != NOTHING -> current = current_buffer; current_buffer = NOTHING }
  :: atomic { generation_buffer != NOTHING ->
       generation = generation_buffer; generation_buffer = NOTHING }
  :: atomic { pin_buffer[0] != NOTHING -> pin[0] = pin_buffer[0]; pin_buffer[0] = NOTHING }
  :: atomic { pin_buffer[1] != NOTHING -> pin[1] = pin_buffer[1]; pin_buffer[1] = NOTHING }
  od
}

/* Two stores to one location keep their order: the second waits for the first. */
inline store_pin(value) { atomic { pin_buffer[me] == NOTHING -> pin_buffer[me] = value } }
inline fence_pin() { pin_buffer[me] == NOTHING }

inline use(version) {
  assert(!version_freed[version]);
  assert(version > 2 || !part_freed)
}

proctype reader(byte me) {
  byte search = 0, seen, version;
  do
  :: search < SEARCHES ->
     seen = generation;                /* (a) */
     store_pin(RANGE(seen));           /* (b) */
#ifndef READER_NO_FENCE
     fence_pin();
#endif
     version = current;                /* (c) */
     use(version);
     store_pin(EXACT(version));        /* (d) */
     use(version);
#ifdef LEAVE_RELAXED
     if
     :: use(version); store_pin(0)
     :: store_pin(0); use(version)
     fi;
#else
     use(version);
     store_pin(0);                     /* (e) */
#endif
     search++
  :: else -> break
  od
}

/* Whether the pin read holds an object of this life. */
#ifdef BLIND_TO_RANGE
#define HOLDS_RANGE(birth, retire) false
#else
#define HOLDS_RANGE(birth, retire) (read % 2 == 0 && (read - 2) / 2 < retire)
#endif
#define HOLDS_EXACT(birth, retire) \
  (read % 2 == 1 && birth <= (read - 3) / 2 && (read - 3) / 2 < retire)
#define HOLDS(birth, retire) \
  (read != 0 && (HOLDS_RANGE(birth, retire) || HOLDS_EXACT(birth, retire)))

#ifdef BLIND_TO_PART
#define PART_RETIRE 2
#else
#define PART_RETIRE 3
#endif

/* Reads both pins, then frees what neither holds. */
inline read_pin(slot, newest) {
  d_step {
    read = pin[slot];
    k = FIRST;
    do
    :: k < newest -> held[k] = held[k] || HOLDS(k, (k + 1)); k++
    :: else -> break
    od;
    part_held = part_held || HOLDS(1, PART_RETIRE)
  }
}
inline scan(newest) {
  read_pin(0, newest);
  read_pin(1, newest);
  d_step {
    k = FIRST;
    do
    :: k < newest -> version_freed[k] = version_freed[k] || !held[k]; held[k] = false; k++
    :: else -> break
    od;
    part_freed = part_freed || (newest >= 3 && !part_held);
    part_held = false;
    k = 0;
    read = 0
  }
}

inline store_current(n) {
  atomic { current_buffer == NOTHING -> current_buffer = n };
#ifndef WRITER_NO_FENCE
  current_buffer == NOTHING
#endif
}
inline store_generation(n) {
#if !defined(GENERATION_FIRST) && !defined(WRITER_NO_FENCE)
  current_buffer == NOTHING;           /* release */
#endif
  atomic { generation_buffer == NOTHING -> generation_buffer = n }
}

proctype writer() {
  byte n = FIRST + 1, k, read;
  bool held[LAST + 1], part_held;
  do
  :: n <= LAST ->
#ifdef GENERATION_FIRST
     store_generation(n);
     store_current(n);
#else
     store_current(n);                 /* (1) */
     store_generation(n);              /* (3) */
#endif
     scan(n);                          /* (2) */
     n++
  :: else -> break
  od
}

init { atomic { run reader(0); run reader(1); run writer() } }
