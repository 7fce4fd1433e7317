/* SPDX-License-Identifier: MIT */
/* Locks of the C library, as both sides know them: what a function does with one, and the rows in
 * which a thread adds up what it did (agent/lock_points.c writes them, report/locks.c reads them).
 *
 * A row is a record of the type RECORD_EVENT_LOCK. Its thread goes on changing its sums for as long
 * as the sub-buffer that it lies in is the thread's own, so nothing of a lock is lost with a
 * thread; a reader takes no row out of a sub-buffer that is being filled (collect/drain.c). Of one
 * lock and place there may be several rows, which add up. */
#pragma once
#include <stdint.h>

enum lock_kind { LOCK_MUTEX, LOCK_RWLOCK, LOCK_SPIN, LOCK_COND, LOCK_SEM, LOCK_KINDS_N };

/* TRY gives up, and may say so; WAIT is a condition variable's; SHARED takes a lock that others may
 * have at the same time. */
enum lock_act { ACT_TAKE, ACT_TRY, ACT_RELEASE, ACT_WAIT, ACT_SHARED, ACT_TRY_SHARED };

/* A trampoline's word about its function: one number. */
static inline uint32_t lock_point(enum lock_kind kind, enum lock_act act)
{
	return (uint32_t)kind | (uint32_t)act << 8;
}
static inline enum lock_kind lock_point_kind(uint32_t point) { return point & 0xff; }
static inline enum lock_act lock_point_act(uint32_t point) { return point >> 8 & 0xff; }

/* Whether it waits, and so makes an order with what the thread holds. */
static inline int lock_act_waits(enum lock_act act)
{
	return act == ACT_TAKE || act == ACT_SHARED || act == ACT_WAIT;
}

/* Words of a row's payload. Times in ticks. ABOUT: enum lock_kind; LOCK_ROW_ORDER; and, 16 bits
 * higher, the number of locks that were held. */
enum lock_row_word {
	LOCK_ROW_ABOUT,
	LOCK_ROW_LOCK,            /* address */
	LOCK_ROW_SITE,            /* address behind the call that took it; 0: not known */
	LOCK_ROW_ACQUIRED,        /* of an order: how often it was seen */
	/* Two words of an order follow for each lock that was held: its address with the kind
	 * above LOCK_KIND_SHIFT, and the place that took it. The other words are of sums: */
	LOCK_ROW_CONTENDED, LOCK_ROW_WAIT, LOCK_ROW_WAIT_MAX,
	LOCK_ROW_HELD, LOCK_ROW_HOLD, LOCK_ROW_HOLD_MAX,
	LOCK_ROW_FOREIGN,         /* released by a thread that does not hold it */
	LOCK_ROW_WORDS,
};
#define LOCK_ROW_ORDER 0x100u     /* the lock was taken while others were held */
#define LOCK_ROW_HELD_AT (LOCK_ROW_ACQUIRED + 1)
#define LOCK_KIND_SHIFT 56        /* above an address */
#define LOCK_ORDER_HELD 16u       /* an order tells the innermost ones of more */
