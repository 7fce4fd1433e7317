/* SPDX-License-Identifier: MIT */
/* The session memory's protocol (shared/memory.h), for spin: every order in which threads, the signal handlers
 * that interrupt them at any instruction, the tracer, and the death of either side can take their steps. Beside
 * each step stands the function of agent/buffer.c, sub_buffer.c, discard.c (and of the trampolines), collect/drain.c, collect/shared_memory.c
 * or session/recover.c that it is. docs/buffers.md says what is covered; tests/run/spin.sh runs it.
 *
 * Layout and settings are constants: each side has copies of its own. Call sites and stubs are no part of it: what they
 * go by is private to each process (agent/site.c).
 *
 * A word is 0, or the number of a record (its header), or PAYLOAD + that number. Addresses are numbers: each thread's
 * window, then the sub-buffers, so that a store behind a sub-buffer's end lands in the next one, as it would.
 * An atomic step has at most one load or store that others can see in between; what a thread does with
 * signals blocked in its own memory is no step of its own, since death makes it disappear.
 *
 * BUG_x are faults; each must be found. */

#define STREAM    0
#define OVERWRITE 1
#define BLOCK     2
#define FREE      0
#define FILLING   1
#define FULL      2

#ifndef MODE
#define MODE STREAM
#endif
#ifndef THREADS
#define THREADS 1
#endif
#ifndef LEVELS
#define LEVELS 1     /* 1: no signal handlers; 2: one; 3: one that interrupts it */
#endif
#ifndef RECORDS
#define RECORDS 3    /* of each thread */
#endif
#ifndef HANDLED
#define HANDLED RECORDS /* of each handler */
#endif
#ifndef BUFFERS
#define BUFFERS 3
#endif
#ifndef USABLE
#define USABLE 2     /* words of a sub-buffer up to MEMORY_BUFFER_USABLE */
#endif
#ifndef SPARE
#define SPARE 2      /* words behind it */
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef WORDS
#define WORDS 1      /* of a record */
#endif
#ifndef QUOTA
#define QUOTA BUFFERS
#endif

#define NONE      BUFFERS
#define STRIDE    (USABLE + SPARE)
#define ROOM      (WINDOW + SPARE)
#define NOWHERE   8    /* below are positions of threads that have not begun */
#define VOID(t)   (NOWHERE + (t) * ROOM)
#define POOL      (NOWHERE + THREADS * ROOM)
#define BASE(i)   (POOL + (i) * STRIDE)
#define MEMORY    (POOL + (BUFFERS + 1) * STRIDE)
#define INDEX(at) (((at) - POOL) / STRIDE)
#define IN_POOL(at) ((at) >= POOL && (at) < BASE(BUFFERS))
#define PAYLOAD   100
#define STALE     99 /* of an earlier life */
#define EACH      (RECORDS + (LEVELS - 1) * HANDLED)
#define FIRST(t,l) (1 + (t) * EACH + ((l) > 0 -> RECORDS + ((l) - 1) * HANDLED : 0))
#define THREAD(r) (((r) - 1) / EACH)
#define MASK(r)   (1 << (r))
/* The records that the context of r makes after it. */
#define IN_THREAD(r) (((r) - 1) % EACH)
#define LAST(r)   (THREAD(r) * EACH + (IN_THREAD(r) < RECORDS -> RECORDS : RECORDS + ((IN_THREAD(r) - RECORDS) / HANDLED + 1) * HANDLED))
#define LATER(r)  ((MASK(LAST(r) + 1) - 1) & ~(MASK((r) + 1) - 1))

/* --- struct memory_header --------------------------------------------------------------------------------- */
byte head, tag;                 /* free_head */
byte used;                      /* buffers_used */
byte waiters;                   /* free_waiters */
bit  moved[THREADS];            /* free_futex is not what this thread has seen */
byte passes[THREADS];           /* how many of the tracer's ended since this thread waits, 2 at most */

/* --- struct memory_desc ----------------------------------------------------------------------------------- */
byte state[BUFFERS], thread[BUFFERS], d_seq[BUFFERS], d_used[BUFFERS], next[BUFFERS];
byte d_lost[BUFFERS], upto[BUFFERS], begins[BUFFERS];
bit  dirty[BUFFERS];
byte word[MEMORY];

/* --- struct memory_thread --------------------------------------------------------------------------------- */
byte lost[THREADS], reported[THREADS], over[2 * THREADS], first_seq[THREADS], taken[THREADS], seq[THREADS];
byte held[THREADS], oldest[THREADS], newest[THREADS], discard_from[THREADS];
bit  discarding[THREADS];
byte threadless[THREADS];       /* lost_threadless */

/* --- struct agent_tls ------------------------------------------------------------------------------------- */
byte pos[THREADS], end[THREADS], buffer[THREADS];
bit  blocked[THREADS];          /* signals are */
bit  abandoned;
bit  known[THREADS];         /* known & TLS_THREAD */

/* --- the world -------------------------------------------------------------------------------------------- */
byte level[THREADS];            /* which of a thread's contexts runs: 0 itself, 1 a handler, 2 one that interrupts it */
bit  ended[THREADS];
bool alive = true;              /* the program */
bool tracer = true;
bool behind;

/* What is true, for the assertions. */
byte owner[BUFFERS];            /* 1 + thread; 0 = nobody */
int  begun, complete;           /* records, as masks */
int  read;                      /* that are in the file */
byte kept[THREADS], told[THREADS]; /* in the file: records, losses */
byte untold[THREADS];           /* and these only in its total */

#define LIVES(t) (alive && !ended[t])
#define OVER (!alive || (ended[0] && ended[THREADS - 1]))

#ifdef BUG_TAG
#define NEXT_TAG skip
#else
#define NEXT_TAG tag++
#endif

/* One instruction of this context, if it is the one that runs. */
#define STEP atomic { level[t] == l && alive ->
#define STEP_IF(what) atomic { level[t] == l && alive && (what) ->

inline store(where, what)
{
	assert(where >= NOWHERE && where < MEMORY);
	assert(where < POOL || word[where] == 0); /* nobody else's */
	word[where] = what;
}

/* --- agent/sub_buffer.c: taking a sub-buffer ------------------------------------------------------------------- */

inline own(j)
{
	assert(owner[j] == 0);
	owner[j] = 1 + t;
}

inline pop_free()
{
	STEP h = head; g = tag; }
	do
	:: h == NONE -> break
	:: else ->
		STEP n = next[h]; }
		STEP
			if
			:: head == h && tag == g ->
				head = n; NEXT_TAG; i = h; own(i); break
			:: else -> h = head; g = tag
			fi }
	od
}

inline take_unused()
{
	STEP h = used; }
	do
	:: h >= BUFFERS -> break
#ifdef BUG_UNUSED
	:: h < BUFFERS -> STEP used = h + 1; i = h; own(i) } break
#else
	:: h < BUFFERS ->
		STEP
			if
			:: used == h -> used++; i = h; own(i); break
			:: else -> h = used
			fi }
#endif
	od
}

/* throw_away; n: what stood in it, h: has it holes? */
inline throw_away_own(j)
{
	STEP
		n = d_used[j] / WORDS;
		h = 0;
		k = 0;
		do
		:: k < d_used[j] -> h = h + (word[BASE(j) + k] == 0); k = k + WORDS
		:: else -> break
		od;
#ifdef BUG_FIRST_SEQ
		first_seq[t] = d_seq[j] + 1 }
	STEP	over[2 * t + ((d_seq[j] + 1) & 1)] = over[2 * t + (d_seq[j] & 1)] + d_lost[j] + n }
#else
		over[2 * t + ((d_seq[j] + 1) & 1)] = over[2 * t + (d_seq[j] & 1)] + d_lost[j] + n }
	STEP	first_seq[t] = d_seq[j] + 1 }
#endif
#ifndef BUG_OLD_FIELDS
	STEP state[j] = FREE }
#endif
	STEP held[t]-- }
#ifdef BUG_REUSE
	h = 0
#endif
}

inline take_own_oldest()
{
	do
	:: oldest[t] == NONE -> break
	:: else ->
		STEP i = oldest[t]; oldest[t] = next[i] }
		throw_away_own(i);
		if
		:: h -> i = NONE
		:: else -> break
		fi
	od
}

inline try_take()
{
	i = NONE;
	if
	:: held[t] < QUOTA ->
		pop_free();
		if
		:: i == NONE -> take_unused()
		:: else
		fi
	:: else
	fi;
	if
	:: i == NONE && MODE == OVERWRITE -> take_own_oldest()
	:: else
	fi
}

/* wait_and_take. The 50 ms after which it looks anyway are not here: a wake must not be missed. Nor is how
 * long it takes until a tracer is given up. A thread that has nothing gives up waiting (waits_in_vain) after two passes of
 * the tracer's, which the code lets be twenty: the second one began after the wait did. */
inline wait_and_take()
{
#ifndef BUG_WAKE
	STEP waiters++ }
#endif
	do
	:: STEP moved[t] = 0; passes[t] = 0 }
		try_take();
		if
		:: i != NONE -> break
		:: else
		fi;
#ifdef BUG_WAKE
		STEP waiters++ }
#endif
		if
		:: STEP_IF(moved[t]) skip }
#ifndef BUG_HEART
		:: STEP_IF(!tracer) abandoned = 1 } break
#endif
#ifdef BUG_IMPATIENT
		:: STEP_IF(held[t] == 0) skip } break
#elif defined(BUG_LOOK)
		:: STEP_IF(held[t] == 0 && !moved[t]) skip }
			if
			:: STEP_IF(passes[t] == 2) skip } break
			:: STEP_IF(moved[t]) skip }
			fi
#elif !defined(BUG_ALONE)
		:: STEP_IF(held[t] == 0 && passes[t] == 2) skip }
			if
			:: STEP_IF(!moved[t]) skip } break
			:: STEP_IF(moved[t]) skip }
			fi
#endif
		fi
	od;
	STEP waiters-- }
}

/* --- agent/sub_buffer.c: from one sub-buffer to the next --------------------------------------------------------- */

inline sub_buffer_close()
{
	STEP
		k = buffer[t];
		n = pos[t] - BASE(k);
#ifdef BUG_SPARE
		n = (n < USABLE -> n : USABLE);
#else
		n = (n < STRIDE -> n : STRIDE);
#endif
#ifdef BUG_USED
		skip }
#else
		d_used[k] = n }
#endif
	STEP
		if
		:: MODE == OVERWRITE ->
			next[k] = NONE;
			if
			:: oldest[t] == NONE -> oldest[t] = k
			:: else -> next[newest[t]] = k
			fi;
			newest[t] = k
		:: else
		fi;
		state[k] = FULL }
#ifdef BUG_USED
	STEP d_used[k] = n }
#endif
	STEP buffer[t] = NONE }
}

inline discard_end()
{
	STEP
		n = pos[t] - VOID(t);
		n = (n < ROOM -> n : ROOM);
#ifndef BUG_LOST
		lost[t] = lost[t] + n / WORDS;
#endif
		k = 0 }
	STEP discarding[t] = 0 }
}

inline discard_begin()
{
	STEP
		k = 0;
		do
		:: k < ROOM -> word[VOID(t) + k] = 0; k++
		:: else -> break
		od }
#ifndef BUG_VOID_FROM
	STEP discard_from[t] = lost[t] }
#endif
	STEP discarding[t] = 1 }
	STEP end[t] = VOID(t) + WINDOW; pos[t] = VOID(t) }
}

inline sub_buffer_open()
{
	STEP
#ifndef BUG_ZERO
		k = 0;
		do
		:: dirty[i] && k < STRIDE -> word[BASE(i) + k] = 0; k++
		:: else -> break
		od;
#endif
		dirty[i] = 1 }
#ifdef BUG_LATE
	STEP state[i] = FILLING }
#endif
	STEP thread[i] = t }
	STEP d_seq[i] = seq[t]; seq[t]++ }
	STEP d_used[i] = 0; begins[i] = 0 }
	STEP d_lost[i] = lost[t] - reported[t]; upto[i] = lost[t] }
	STEP held[t]++ }
#ifdef BUG_REPORTED
	STEP reported[t] = upto[i] }
	STEP state[i] = FILLING }
#else
	STEP state[i] = FILLING }
	STEP reported[t] = upto[i] }
#endif
	STEP buffer[t] = i; end[t] = BASE(i) + USABLE; pos[t] = BASE(i) }
}

inline next_buffer()
{
	if
	:: buffer[t] != NONE -> sub_buffer_close()
	:: else
	fi;
	if
	:: discarding[t] -> discard_end()
	:: else
	fi;
	i = NONE;
	if
	:: !abandoned ->
		try_take();
		if
		:: i == NONE && MODE == BLOCK -> wait_and_take()
		:: else
		fi
	:: else
	fi;
	if
	:: i == NONE -> discard_begin()
	:: else -> sub_buffer_open()
	fi
}

/* --- writing ---------------------------------------------------------------------------------------------- */

/* The stores of record r to `at`. */
inline fill()
{
#ifdef BUG_HEADER
	STEP store(at, r) }
	if
	:: WORDS == 2 -> STEP store(at + 1, PAYLOAD + r) }
	:: else
	fi;
	STEP complete = complete | MASK(r) }
#else
	if
	:: WORDS == 2 -> STEP store(at + 1, PAYLOAD + r) }
	:: else
	fi;
	STEP store(at, r); complete = complete | MASK(r) }
#endif
}

#define UNRESERVED 255 /* no slot: the thread's CPU was another, say */
/* is_done_with(): somebody who interrupted this context closed the sub-buffer it has a slot in, and counted on it. */
#define CLOSED(at)   (IN_POOL(at) && INDEX(at) != buffer[t] && thread[INDEX(at)] == t)
/* And one in a window was counted as lost, unless the window is still the same. */
#define SAME_WINDOW(at) (discarding[t] && (at) >= end[t] && (at) < pos[t])
#define LOST(at)     ((at) >= NOWHERE && (at) < POOL && !SAME_WINDOW(at))
/* A slot behind the end is given up again: what is reserved below it belongs to those it interrupted. */
#define GIVEN_UP(at) ((IN_POOL(at) && INDEX(at) == buffer[t] && (at) < pos[t]) || ((at) < POOL && SAME_WINDOW(at)))
/* The first record of a thread interrupts its first record: that one has a slot at 0, which must not come to lie
 * below the end. */
#define TOO_EARLY(at) (!known[t] && ((at) == UNRESERVED -> pos[t] : (at)))

/* record(): with signals blocked, what the fast path could not do. */
inline slow()
{
#ifndef BUG_SIGNALS
	STEP blocked[t] = 1 }
#endif
	if
#ifndef BUG_FIRST
	:: TOO_EARLY(at) -> STEP threadless[t]++ }
#endif
#ifndef BUG_CLOSED
	:: !TOO_EARLY(at) && CLOSED(at) -> fill()
	:: !TOO_EARLY(at) && !CLOSED(at) && LOST(at) -> skip
#endif
	:: else ->
		STEP
			if
			:: !known[t] -> known[t] = 1; pos[t] = 0
#ifndef BUG_GIVE_UP
			:: known[t] && GIVEN_UP(at) -> pos[t] = at
#endif
			:: else
			fi }
		do
		:: pos[t] < end[t] && end[t] - pos[t] >= WORDS -> break
		:: else -> next_buffer()
		od;
		at = pos[t];
		fill();
		STEP pos[t] = pos[t] + WORDS }
	fi;
	STEP blocked[t] = 0 }
}

/* A trampoline or a stub: xadd, compare, store. */
inline record()
{
	if
	:: STEP at = pos[t]; pos[t] = pos[t] + WORDS; begun = begun | MASK(r) }
#ifdef MOVES
	:: c == 0 -> STEP at = UNRESERVED; begun = begun | MASK(r) }
#endif
	fi;
	if
	:: STEP_IF(at < end[t]) skip } fill()
	:: STEP_IF(at >= end[t]) skip } slow()
	fi
}

proctype context(byte t; byte l)
{
	byte r, at, i, h, g, n, k;
	byte c;

	if
	:: l == 0
	:: atomic { l > 0 && level[t] == l - 1 && !blocked[t] && !ended[t] && alive -> level[t] = l }
	:: l > 0 && ended[t] -> goto unused
	fi;
	do
	:: c < (l > 0 -> HANDLED : RECORDS) ->
#ifdef AFTER
		if
		:: t == 1 && c == 0 -> ended[0]
		:: else
		fi;
#endif
#ifdef JOINS
		if
		:: t == 0 && c == 1 -> ended[1]
		:: else
		fi;
#endif
		r = FIRST(t, l) + c; record(); c++
	:: else -> break
	od;
	STEP
		if
		:: l == 0 -> ended[t] = 1
		:: else -> level[t] = l - 1
		fi }
unused:	skip
}

/* Whoever dies stays where it is: with this, ends of that kind are no deadlocks. */
proctype killer()
{
	alive = false
}

/* behind: what the tracer takes over from here on, it does not get into the file any more. */
proctype tracers_killer()
{
	if
	:: behind = true
	:: true
	fi;
	tracer = false
}

/* --- collect/drain.c ------------------------------------------------------------------------------------------ */

#define SCARCE (used > BUFFERS / 2 && head == NONE)

/* scan_words: from p_taken to `to`. */
inline scan(j, to, at_hole)
{
	k = p_taken[j];
	s_n = 0; s_holes = 0; s_set = 0; s_records = 0; gap = 0;
	do
	:: k < to ->
		atomic {
			w = word[BASE(j) + k];
			if
			:: w == 0 && at_hole -> break
			:: w == 0 && !at_hole -> gap++; k = k + WORDS
			:: else ->
				if
				:: k + WORDS > to -> break
				:: else
				fi;
				assert(w < STALE);
				assert(THREAD(w) == thread[j]);
				assert(WORDS == 1 || word[BASE(j) + k + 1] == PAYLOAD + w);
				assert(!(s_set & MASK(w)));
				s_set = s_set | MASK(w);
				s_record[s_records] = w;
				s_records++;
				k = k + WORDS;
				s_n = k - p_taken[j];
				s_holes = s_holes + gap;
				gap = 0
			fi
		}
	:: else -> break
	od
}

inline give_back(j)
{
	atomic { p_taken[j] = 0; p_quarantined[j] = 0; p_hole[j] = 0; state[j] = FREE }
	h = head; g = tag;
	do
	:: true ->
		next[j] = h;
		atomic {
			if
			:: head == h && tag == g -> head = j; NEXT_TAG; owner[j] = 0; break
			:: else -> h = head; g = tag
			fi
		}
	od
}

/* session_account and store_records; in recover.c take_run, which leaves out what the file has. n: the run's
 * position, m: the losses before it. */
inline sink(u)
{
	atomic {
		h = kept[u] + told[u];
		if
		:: !recovers || n == h
		:: recovers && n > h -> told[u] = n - kept[u]
		:: recovers && n < h ->
#ifndef BUG_POSITION
			k = 0;
			do
			:: k < s_records && n + m + k < h -> s_set = s_set & ~MASK(s_record[k]); k++
			:: else -> break
			od;
			told[u] = told[u] - (h - n < m -> h - n : m);
			kept[u] = kept[u] - k;
#else
			skip
#endif
		fi;
		if
		:: behind && !recovers
		:: else ->
			assert(!(read & s_set));
			k = 0;
			do
			:: k < s_records ->
				assert(!(s_set & MASK(s_record[k])) || !(read & LATER(s_record[k])));
				read = read | (s_set & MASK(s_record[k]));
				k++
			:: else -> break
			od;
			kept[u] = kept[u] + s_records;
			told[u] = told[u] + m
		fi;
		h = 0
	}
}

/* lost_are_told: the thread may have died before it said so. */
inline tell_losses(j, u)
{
	atomic {
		if
#ifndef BUG_TOLD
		:: reported[u] < upto[j] -> reported[u] = upto[j]
#endif
		:: else
		fi
	}
}

inline emit(j, u)
{
	d_step {
		if
		:: p_taken[j] -> n = d_position[u]
		:: !p_taken[j] && begins[j] -> n = begins[j] - 1
		:: else -> n = (taken[u] > d_position[u] -> taken[u] : d_position[u])
		fi;
		m = (p_taken[j] -> 0 : d_lost[j]) + s_holes;
		if
		:: MODE == OVERWRITE && !d_told[u] -> d_told[u] = 1; m = m + over[2 * u + (first_seq[u] & 1)]
		:: else
		fi;
		p_taken[j] = p_taken[j] + s_n;
		if
		:: !begins[j] -> begins[j] = 1 + n
		:: else
		fi
	}
	sink(u);
	tell_losses(j, u);
	d_position[u] = n + s_records + m;
#ifdef BUG_TAKEN
	taken[u] = d_position[u]
#else
	taken[u] = (d_position[u] > taken[u] -> d_position[u] : taken[u])
#endif
}

inline wake_writers()
{
	if
	:: waiters -> d_step { moved[0] = 1; moved[THREADS - 1] = 1 }
	:: else
	fi
}

inline take_full(j, u, last)
{
	scan(j, d_used[j], false);
	if
	:: p_taken[j] + s_n < d_used[j] -> s_holes = s_holes + (d_used[j] - p_taken[j] - s_n) / WORDS
	:: else
	fi;
	if
	:: s_holes && !last && !p_hole[j] && LIVES(u) -> p_hole[j] = 1 /* may_fill: a second at most */
	:: else ->
		emit(j, u);
		expected[u] = d_seq[j] + 1;
#ifdef BUG_QUOTA
		if
		:: s_holes && !last -> skip
		:: else -> held[u]--
		fi;
#else
		held[u]--;
#endif
		if
#ifndef BUG_QUARANTINE
		:: s_holes && !last -> p_quarantined[j] = 1
#endif
		:: else -> give_back(j)
		fi;
		wake_writers()
	fi
}

inline take_partial(j, u)
{
	scan(j, STRIDE, true);
	if
	:: s_n -> emit(j, u)
	:: else
	fi
}

/* collect; c_*: what was seen of a descriptor. */
inline collect(partial)
{
	i = 0;
	do
	:: i < used ->
		c_is[i] = state[i] == FULL || (partial && state[i] == FILLING);
		if
		:: c_is[i] ->
			d_step {
				c_thread[i] = thread[i]; c_seq[i] = d_seq[i];
				if
				:: p_quarantined[i] || (MODE == OVERWRITE && d_seq[i] < first_seq[thread[i]]) -> c_is[i] = 0
				:: else
				fi
			}
		:: else
		fi;
		i++
	:: else -> break
	od
}

/* by_thread_and_seq: the next of those that were collected, or NONE. */
inline first_claim()
{
	d_step {
		i = NONE;
		k = 0;
		do
		:: k < BUFFERS ->
			if
			:: c_is[k] && (i == NONE || c_thread[k] < c_thread[i] ||
				       (c_thread[k] == c_thread[i] && c_seq[k] < c_seq[i])) -> i = k
			:: else
			fi;
			k++
		:: else -> break
		od;
		if
		:: i != NONE -> c_is[i] = 0
		:: else
		fi;
		k = 0
	}
}

/* close_for_writer, and what take_full then finds. */
inline close_for_writer(j)
{
	scan(j, STRIDE, false);
	d_used[j] = p_taken[j] + s_n
}

inline make_room()
{
	i = 0;
	do
	:: i < used ->
		if
		:: state[i] == FILLING && !LIVES(thread[i]) -> close_for_writer(i); state[i] = FULL
		:: p_quarantined[i] && !LIVES(thread[i]) -> give_back(i); wake_writers()
		:: else
		fi;
		i++
	:: else -> break
	od
}

#ifdef BUG_EXPECTED
#define EXPECTED(i) true
#else
#define EXPECTED(i) (c_seq[i] == expected[c_thread[i]])
#endif

inline drain_pass(partial)
{
	if
	:: SCARCE -> make_room()
	:: else
	fi;
	collect(partial);
	do
	:: true ->
		first_claim();
		if
		:: i == NONE -> break
		:: else
		fi;
		if
		:: !EXPECTED(i) -> skip /* its predecessor became FULL after we looked */
		:: EXPECTED(i) && state[i] == FULL -> take_full(i, c_thread[i], false)
		:: EXPECTED(i) && state[i] == FILLING -> take_partial(i, c_thread[i])
		fi
	od;
	skip;
	d_step { /* shared_memory_passed */
		u = 0;
		do
		:: MODE == BLOCK && waiters && u < THREADS -> passes[u] = (passes[u] < 2 -> passes[u] + 1 : 2); u++
		:: else -> break
		od;
		u = 0
	}
}

/* drain_recycle: the oldest of a thread that had ended before its sub-buffers were looked at. */
inline drain_recycle()
{
#ifdef BUG_RECYCLE
	collect(true);
#endif
	u = 0;
	do
	:: u < THREADS && LIVES(u) -> u++
	:: else -> break
	od;
#ifndef BUG_RECYCLE
	collect(true);
#endif
	first_claim();
	do
	:: i != NONE && (u >= THREADS || c_thread[i] != u) -> first_claim()
	:: else -> break
	od;
	if
	:: i != NONE ->
		scan(i, STRIDE, false);
		if
		:: state[i] == FULL && s_n < d_used[i] -> s_holes = s_holes + (d_used[i] - s_n) / WORDS
		:: else
		fi;
		over[2 * u + ((d_seq[i] + 1) & 1)] = over[2 * u + (d_seq[i] & 1)] + d_lost[i] + s_records + s_holes;
		first_seq[u] = d_seq[i] + 1;
		tell_losses(i, u);
		give_back(i)
	:: else
	fi
}

inline drain_finish()
{
	collect(true);
	do
	:: true ->
		first_claim();
		if
		:: i == NONE -> break
		:: else
		fi;
		if
		:: state[i] == FILLING -> close_for_writer(i)
		:: else
		fi;
		take_full(i, c_thread[i], true)
	od;
	skip;
	d_step { /* count_untold, count_window */
		u = 0;
		do
		:: u < THREADS ->
			n = lost[u] - reported[u];
			k = 0;
			do
			:: discarding[u] && lost[u] == discard_from[u] && k < ROOM ->
				n = n + (word[VOID(u) + k] != 0);
				k = k + WORDS
			:: else -> break
			od;
			if
			:: MODE == OVERWRITE && !d_told[u] -> n = n + over[2 * u + (first_seq[u] & 1)]
			:: else
			fi;
			untold[u] = n;
			u++
		:: else -> break
		od;
		u = 0
	}
}

/* --- what must be true -------------------------------------------------------------------------------------- */

inline count(set, u)
{
	n = 0;
	k = FIRST(u, 0);
	do
	:: k < FIRST(u, 0) + EACH -> n = n + ((set & MASK(k)) != 0); k++
	:: else -> break
	od
}

inline check()
{
	d_step {
		u = 0;
		do
		:: u < THREADS ->
			count(complete, u);
			assert(n <= kept[u] + told[u] + untold[u] + threadless[u]);
			count(begun, u);
			assert(kept[u] + told[u] + untold[u] + threadless[u] <= n);
			count(read, u);
			assert(kept[u] == n);
#ifdef AFTER
			assert(told[u] + untold[u] == 0); /* mode block: all the room there is is given back in the end */
#endif
			u++
		:: else -> break
		od;
		/* The free list: each once, and all that nobody has. */
		i = head;
		k = 0;
		do
		:: i != NONE ->
			assert(i < used && owner[i] == 0 && k < BUFFERS);
			owner[i] = 200;
			i = next[i];
			k++
		:: else -> break
		od;
		i = 0;
		do
		:: i < used -> assert(owner[i] != 0); i++
		:: else -> break
		od;
		i = 0
	}
}

#define WORK(i) ((i) < BUFFERS && state[((i) < BUFFERS -> (i) : 0)] == FULL && !p_quarantined[((i) < BUFFERS -> (i) : 0)])
#define ANY_WORK (WORK(0) || WORK(1) || WORK(2) || WORK(3) || (SCARCE && !(LIVES(0) && LIVES(THREADS - 1))))

proctype drain()
{
	byte i, k, u, w, n, m, h, g;
	byte s_n, s_holes, s_records, gap, s_record[STRIDE];
	int s_set;
	bit c_is[BUFFERS], d_told[THREADS], recovers;
	byte c_thread[BUFFERS], c_seq[BUFFERS], expected[THREADS], d_position[THREADS];
	byte p_taken[BUFFERS];
	bit p_quarantined[BUFFERS], p_hole[BUFFERS];

	{
		do
		:: OVER -> break
#if MODE == OVERWRITE
		:: !OVER && SCARCE -> drain_recycle()
#else
		:: !OVER && ANY_WORK -> drain_pass(false)
#if MODE == BLOCK
		:: !OVER && waiters && (passes[0] < 2 || passes[THREADS - 1] < 2) -> drain_pass(false) /* every 50 ms */
#endif
#ifdef PARTIAL
		:: !OVER && used -> drain_pass(true)
#endif
#endif
		od;
		drain_finish();
		!behind
	}
#ifdef KILL_TRACER
	unless { !tracer };
	if
	:: tracer
	:: else ->
		OVER;
		d_step { /* drain_new */
			recovers = 1; u = 0;
			do
			:: u < BUFFERS -> p_taken[u] = 0; p_quarantined[u] = 0; p_hole[u] = 0; u++
			:: else -> break
			od;
			u = 0;
			do
			:: u < THREADS -> d_position[u] = 0; d_told[u] = 0; u++
			:: else -> break
			od;
			u = 0
		}
		drain_finish();
		d_step { /* count_unwritten */
			u = 0;
			do
			:: u < THREADS ->
				if
				:: taken[u] > kept[u] + told[u] -> told[u] = taken[u] - kept[u]
				:: else
				fi;
				u++
			:: else -> break
			od;
			u = 0
		}
	fi
#endif
	;
	check()
}

init
{
	byte t;

	d_step {
		head = NONE;
		do
		:: t < THREADS -> oldest[t] = NONE; newest[t] = NONE; buffer[t] = NONE; t++
		:: else -> break
		od;
#ifdef USED_BEFORE
		t = 0;
		do
		:: t < BUFFERS -> next[t] = head; head = t; dirty[t] = 1; word[BASE(t)] = STALE; word[BASE(t) + 1] = STALE; t++
		:: else -> break
		od;
		used = BUFFERS;
#endif
		t = 0
	}
	atomic {
		do
		:: t < THREADS ->
			run context(t, 0);
#if LEVELS > 1
			run context(t, 1);
#endif
#if LEVELS > 2
			run context(t, 2);
#endif
			t++
		:: else -> break
		od;
		run drain();
#ifdef KILL_TRACER
		run tracers_killer();
#endif
#ifdef KILL
		run killer();
#endif
	}
}
