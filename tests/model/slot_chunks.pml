/* Growing the reader slots: core/sync/reader_slots.hpp. A reader makes a chunk, announces in it and
   loads the newest version while the writer publishes, scans and frees. A second reader uses the
   chunk that the first one made.

   Memory as in reclaim.pml: stores wait in a buffer per location. A seq_cst store waits for its
   own entry only: that it also pushes out earlier stores is true of some processors, not of the
   language.

   Broken variants, each of which must fail:
     CHUNK_RELEASE   the chunk is published with release: it may arrive after the announcement in it
     SCAN_ACQUIRE    the scan loads the chunk with acquire: the load may take effect before the
                     store of the newest version that precedes it
     SCAN_CLAIMED    the scan skips slots whose claim it does not see */

#define NOTHING 255
#define OLD 1
#define NEW 2

byte current = OLD;
bool chunk;
bool claimed[2];
byte pin[2];              /* 0 IDLE, 1 RANGE of the first generation */
bool old_freed;

bool chunk_buffer;
bool claim_buffer[2];
byte pin_buffer[2] = NOTHING;

active proctype arrival() {
end:
  do
  :: atomic { chunk_buffer -> chunk = true; chunk_buffer = false }
  :: atomic { claim_buffer[0] -> claimed[0] = true; claim_buffer[0] = false }
  :: atomic { claim_buffer[1] -> claimed[1] = true; claim_buffer[1] = false }
  :: atomic { pin_buffer[0] != NOTHING -> pin[0] = pin_buffer[0]; pin_buffer[0] = NOTHING }
  :: atomic { pin_buffer[1] != NOTHING -> pin[1] = pin_buffer[1]; pin_buffer[1] = NOTHING }
  od
}

inline search() {
  pin_buffer[me] = 1;
  pin_buffer[me] == NOTHING;           /* seq_cst */
  version = current;
  assert(version == NEW || !old_freed);
  assert(version == NEW || !old_freed);
  pin_buffer[me] = 0
}

/* The claim is an acquire read-modify-write: nobody else needs to see it soon. */
proctype maker(byte me) {
  byte version;
  claim_buffer[me] = true;
  chunk_buffer = true;
#ifndef CHUNK_RELEASE
  !chunk_buffer;                       /* seq_cst */
#endif
  search()
}

proctype follower(byte me) {
  byte version;
  claim_buffer[me] = true;
  chunk;                               /* found published */
  search()
}

proctype writer() {
  bool seen, held;
#ifdef SCAN_ACQUIRE
  seen = chunk;
  current = NEW;
#else
  current = NEW;                       /* seq_cst: in memory before the scan */
  seen = chunk;
#endif
  if
  :: seen ->
#ifdef SCAN_CLAIMED
     held = claimed[0] && pin[0] != 0;
     held = held || (claimed[1] && pin[1] != 0);
#else
     held = pin[0] != 0;
     held = held || pin[1] != 0;
#endif
  :: else -> skip
  fi;
  if
  :: !held -> old_freed = true
  :: else -> skip
  fi
}

init { atomic { run maker(0); run follower(1); run writer() } }
