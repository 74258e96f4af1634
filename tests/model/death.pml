/* Retiring the slot of a dead reader: core/sync/reader_slots.hpp. A reader dies at any step, a
   third party retires its slot, a second reader takes it, and the writer publishes, scans and
   frees.

   Memory as in reclaim.pml: stores wait in a buffer of their thread, here those of the dead reader,
   of the undertaker and of the next owner to the one pin. Those of the dead arrive some time, dead
   or not: that all of them have is what a proof tells.

   Broken variants, each of which must fail:
     NO_PROOF        the slot is retired while the reader may still run
     PROOF_LATER     IDLE is stored before the proof is had
     PROOF_WEAK      the proof tells that the reader stopped, not that its stores have arrived
     CLAIM_FIRST     the slot is handed out before it is idle
     CLAIM_RELAXED   the slot is handed out before the store of IDLE has arrived
     TWICE           the slot is retired again after it was handed out */

#ifndef COMMITS
#define COMMITS 2
#endif
#define FIRST 1
#define LAST (FIRST + COMMITS)
#define NOTHING 255
#define DEAD 0
#define NEXT 1
#define UNDERTAKER 2

/* A pin: 0 IDLE, 2e + 2 RANGE e, 2s + 3 EXACT s. */
#define RANGE(e) (2 * (e) + 2)
#define EXACT(s) (2 * (s) + 3)

byte current = FIRST;
byte generation = FIRST;
byte pin;
byte pin_buffer[3] = NOTHING;
bool dead;
bool free_slot;
bool freed[LAST + 1];

#define ARRIVES(who) \
  atomic { pin_buffer[who] != NOTHING -> pin = pin_buffer[who]; pin_buffer[who] = NOTHING }

active proctype arrival() {
end:
  do
  :: ARRIVES(DEAD)
  :: ARRIVES(NEXT)
  :: ARRIVES(UNDERTAKER)
  od
}

inline store_pin(who, value) { atomic { pin_buffer[who] == NOTHING -> pin_buffer[who] = value } }
inline fence_pin(who) { pin_buffer[who] == NOTHING }
inline use(version) { assert(!freed[version]) }

inline search(who) {
  seen = generation;                   /* (a) */
  store_pin(who, RANGE(seen));         /* (b) */
  fence_pin(who);
  version = current;                   /* (c) */
  use(version);
  store_pin(who, EXACT(version));      /* (d) */
  use(version);
  use(version);
  fence_pin(who);
  store_pin(who, 0)                    /* (e) */
}

proctype dying() {
  byte seen, version;
  { search(DEAD) } unless { dead }
}

/* At any moment, also before the first step and after the last. */
proctype death() { dead = true }

inline proof() {
  dead;
#ifndef PROOF_WEAK
  pin_buffer[DEAD] == NOTHING
#endif
}

proctype undertaker() {
#ifdef PROOF_LATER
  store_pin(UNDERTAKER, 0);
  fence_pin(UNDERTAKER);
#endif
#ifndef NO_PROOF
  proof();
#endif
#ifdef CLAIM_FIRST
  free_slot = true;
#endif
  store_pin(UNDERTAKER, 0);            /* (i) */
#ifndef CLAIM_RELAXED
  fence_pin(UNDERTAKER);
#endif
  free_slot = true;                    /* (g) */
#ifdef TWICE
  store_pin(UNDERTAKER, 0);
#endif
}

proctype next_owner() {
  byte seen, version;
  free_slot;
  search(NEXT)
}

#define HOLDS_RANGE(k) (read % 2 == 0 && (read - 2) / 2 < (k) + 1)
#define HOLDS_EXACT(k) (read % 2 == 1 && (read - 3) / 2 == (k))

proctype writer() {
  byte n = FIRST + 1, k, read;
  do
  :: n <= LAST ->
     current = n;                      /* (1) */
     generation = n;                   /* (3) */
     d_step {                          /* (2) */
       read = pin;
       k = FIRST;
       do
       :: k < n ->
          freed[k] = freed[k] || read == 0 || !(HOLDS_RANGE(k) || HOLDS_EXACT(k));
          k++
       :: else -> break
       od;
       k = 0;
       read = 0
     };
     n++
  :: else -> break
  od
}

init {
  atomic {
    run dying(); run death(); run undertaker(); run next_owner(); run writer()
  }
}
