/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this report share: locks, the places that took them, orders. */
#pragma once
#include "base/number_map.h"
#include "base/vec.h"
#include "model/lock_functions.h"
#include "report/locks.h"
#include "report/names.h"
#include "trace/tracks.h"

extern const char *const locks_kind_words[LOCK_KINDS_N];

/* Times in ticks. */
struct lock_sums {
	uint64_t acquired, contended, wait, wait_max, held, hold, hold_max;
};

struct lock_row {
	struct lock_sums sums;
	enum lock_kind kind;
	uint32_t pid;             /* of a lock */
	uint64_t address;         /* the lock's, or the place's behind the call */
	/* where it was first taken: an index into sites; of a site: its image and its time */
	uint32_t site, image;
	uint64_t tsc;
};

struct lock_holding {
	uint32_t lock, site;
	unsigned depth;           /* how often the thread has taken it */
	uint64_t since;
};
#define LOCKS_HELD 48u

/* A call of such a function that has begun. */
struct lock_call {
	const struct lock_function *f;
	uint32_t fn, lock, other; /* other: a condition variable's mutex; NO_LOCK: none */
	uint64_t begin;
	bool contended, released; /* released: the mutex, for the wait */
};
#define NO_LOCK UINT32_MAX
#define LOCKS_CALLS 16u

struct lock_thread {
	struct lock_holding held[LOCKS_HELD];
	struct lock_call calls[LOCKS_CALLS];
	unsigned n_held, n_calls;
	uint64_t spin;            /* arg1 of the last event at a spin lock's function */
};

#define LOCKS_GATES 4u
/* Lock `to` was taken while `from` was held. */
struct lock_order {
	uint32_t from, to;
	uint32_t thread, from_site, site;
	uint64_t count;
	uint32_t gates[LOCKS_GATES]; /* locks that were held each time, too */
	unsigned n_gates;
};
#define LOCKS_ORDERS 1024u /* a search for circles looks at all, for each */

#define LOCKS_CIRCLE 8u
/* Orders, each of which begins where the one before ends. */
struct lock_circle {
	uint32_t orders[LOCKS_CIRCLE];
	unsigned n;
};
#define LOCKS_CIRCLES 64u

/* An event of the trace: the call futex begins, or a spin lock's function, whose argument is
 * here. */
struct lock_event { bool known, futex; uint16_t offset; };

struct lock_image { VEC(uint8_t) functions; }; /* by id: 0 not known yet, 1 none, 2 + index */

struct locks {
	const struct trace_info *info;
	struct sites sites_map;
	struct tracks tracks;
	struct names names;
	VEC(struct lock_image) images;
	VEC(struct lock_thread) threads;
	VEC(struct lock_row) locks, sites;
	struct number_map by_address, by_site, by_order;
	VEC(struct lock_order) orders;
	VEC(struct lock_circle) circles;
	VEC(struct lock_event) events; /* by index */
	uint64_t spun;            /* ticks from which a spin lock counts as contended */
	uint64_t orders_left_out;
	uint64_t foreign;         /* releases of what the thread does not hold */
	struct event last;
};

/* locks_order.c: the thread has taken a lock, which is not among what it holds yet, so often. */
void locks_order_add(struct locks *l, const struct lock_thread *t, uint32_t thread, uint32_t lock,
		     uint32_t site, uint64_t count);
void locks_order_circles(struct locks *l);

/* locks.c, for locks_points.c: the rows of a lock of a process, and of a place that takes such. A
 * row may move when another comes. NO_LOCK: there are too many. */
uint32_t locks_row(struct locks *l, uint32_t pid, uint64_t address, enum lock_kind kind);
uint32_t locks_site(struct locks *l, uint32_t image, uint64_t address, enum lock_kind kind,
		    uint64_t tsc);
/* locks_points.c: a row that a thread has added up itself (EVENT_LOCK_ROW). */
void locks_take_row(struct locks *l, const struct event *e);
