/* No message is left behind: core/sync/message_ring.hpp, writer_token.hpp. PRODUCERS producers push
   MESSAGES messages each into rings of their own, and whoever gets the token drains all rings.

   Memory as in reclaim.pml. The compare-exchange of the token acts on memory at once.

   Broken variants, each of which must fail:
     NO_SECOND_LOOK     the holder gives the token back and leaves
     LOOK_FIRST         it looks again before it gives the token back
     PUSH_RELEASE       the push may arrive after the try of the token that follows it
     GIVE_BACK_RELEASE  the token may come back after the look that follows */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define NOTHING 255

byte tail[PRODUCERS];
byte tail_buffer[PRODUCERS] = NOTHING;
byte head[PRODUCERS];                  /* stored to under the token */
bool token;
bool token_back;                       /* the store that frees it, in its buffer */
byte holders;
byte ended;

active proctype arrival() {
  byte i;
end:
  do
  :: atomic { token_back -> token = false; token_back = false }
  :: atomic { tail_buffer[0] != NOTHING -> tail[0] = tail_buffer[0]; tail_buffer[0] = NOTHING }
  :: atomic { tail_buffer[1] != NOTHING -> tail[1] = tail_buffer[1]; tail_buffer[1] = NOTHING }
#if PRODUCERS > 2
  :: atomic { tail_buffer[2] != NOTHING -> tail[2] = tail_buffer[2]; tail_buffer[2] = NOTHING }
#endif
  od
}

inline push() {
  pushed++;
  atomic { tail_buffer[me] == NOTHING -> tail_buffer[me] = pushed };
#ifndef PUSH_RELEASE
  tail_buffer[me] == NOTHING           /* (P1) seq_cst */
#endif
}

inline drain() {
  i = 0;
  do
  :: i < PRODUCERS ->
     do
     :: head[i] != tail[i] -> head[i]++
     :: else -> break
     od;
     i++
  :: else -> break
  od;
  i = 0
}

inline look() {
  pending = false;
  i = 0;
  do
  :: i < PRODUCERS -> pending = pending || head[i] != tail[i]; i++
  :: else -> break
  od;
  i = 0
}

inline give_back() {
  holders--;
  token_back = true;
#ifndef GIVE_BACK_RELEASE
  !token_back                          /* (H1) seq_cst */
#endif
}

proctype producer(byte me) {
  byte pushed, i;
  bool pending, mine;
  do
  :: pushed < MESSAGES ->
     push();
     pending = true;
     do
     :: pending ->
        atomic { mine = !token; token = true };                /* (P2) */
        if
        :: !mine -> pending = false
        :: else ->
           holders++;
           assert(holders == 1);
           drain();
#ifdef LOOK_FIRST
           look();
           give_back();
#else
           give_back();
#ifdef NO_SECOND_LOOK
           pending = false;
#else
           look();                                             /* (H2) */
#endif
#endif
        fi
     :: else -> break
     od
  :: else -> break
  od;
  ended++
}

/* Nobody comes by any more: what is pushed must be processed. */
active proctype the_end() {
  byte i;
  ended == PRODUCERS && !token_back && tail_buffer[0] == NOTHING && tail_buffer[1] == NOTHING;
#if PRODUCERS > 2
  tail_buffer[2] == NOTHING;
#endif
  do
  :: i < PRODUCERS -> assert(head[i] == MESSAGES); i++
  :: else -> break
  od
}

init {
  atomic {
    run producer(0);
    run producer(1);
#if PRODUCERS > 2
    run producer(2);
#endif
  }
}
