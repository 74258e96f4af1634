/* No wake-up is lost: core/sync/event.hpp. A waiter takes WORK pieces of work from two ringers and
   sleeps in between. Sleeping compares and sleeps in one step with respect to a wake, as a futex
   does. A lost wake-up is a deadlock.

   Memory as in reclaim.pml. The change of the value is a read-modify-write: it acts on memory at
   once, and as a release after the ringer's earlier store has arrived.

   ACQUIRE_RELEASE is the event with those orders only. It passes: every ring changes the value and
   wakes, so that a waiter who read the new value also sees the work. seq_cst is for the looks at
   other words around it (writer_token.hpp).

   Broken variants, each of which must fail:
     RING_RELAXED   the work may arrive after the new value
     RING_FIRST     the ringer rings before it makes its work visible
     LOOK_FIRST     the waiter looks for work before it reads the value
     SKIP_WAKE with ACQUIRE_RELEASE
                    a ringer changes and wakes only if it sees that somebody waits. The waiter's
                    announcement and its look may pass each other, as may the ringer's work and its
                    look for a waiter. With seq_cst SKIP_WAKE passes. */

#define WORK 2                         /* one piece from each ringer */

bool work[2];
bool work_buffer[2];
byte value;
bool sleeping;
bool waiting;                          /* SKIP_WAKE: the waiter's announcement */
bool waiting_buffer;

active proctype arrival() {
end:
  do
  :: atomic { work_buffer[0] -> work[0] = true; work_buffer[0] = false }
  :: atomic { work_buffer[1] -> work[1] = true; work_buffer[1] = false }
  :: atomic { waiting_buffer -> waiting = true; waiting_buffer = false }
  od
}

inline show_work() {
  work_buffer[me] = true;
#ifndef ACQUIRE_RELEASE
#ifndef RING_RELAXED
  !work_buffer[me]                     /* seq_cst */
#endif
#endif
}

inline ring() {
#ifdef SKIP_WAKE
  if
  :: waiting ->
#endif
#ifndef RING_RELAXED
#ifndef RING_FIRST
  !work_buffer[me];                    /* release */
#endif
#endif
  value++;
  sleeping = false
#ifdef SKIP_WAKE
  :: else -> skip
  fi
#endif
}

proctype ringer(byte me) {
#ifdef RING_FIRST
  ring();
  show_work()
#else
  show_work();
  ring()
#endif
}

inline look() {
  found = false;
  if
  :: work[0] && !taken[0] -> taken[0] = true; found = true; count++
  :: else -> skip
  fi;
  if
  :: work[1] && !taken[1] -> taken[1] = true; found = true; count++
  :: else -> skip
  fi
}

active proctype waiter() {
  byte count, prepared;
  bool found, taken[2];
  do
  :: count < WORK ->
#ifdef LOOK_FIRST
     look();
     prepared = value;
#else
     prepared = value;
#ifdef SKIP_WAKE
     waiting_buffer = true;
#ifndef ACQUIRE_RELEASE
     !waiting_buffer;                  /* seq_cst */
#endif
#endif
     look();
#endif
     if
     :: found -> skip
     :: else ->
        atomic {
          if
          :: value == prepared -> sleeping = true
          :: else -> skip
          fi
        };
        !sleeping
     fi
  :: else -> break
  od
}

init { atomic { run ringer(0); run ringer(1) } }
