/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this report share: objects, calls, waits, rows. */
#pragma once
#include "base/histogram.h"
#include "base/number_map.h"
#include "base/vec.h"
#include "event/syscalls.h"
#include "report/names.h"
#include "report/open_functions.h"
#include "report/wakeup.h"

/* In what way a thread was woken. */
#define WAKEUP_WAYS(X)                 \
	X(FUTEX, "futex")             \
	X(COND, "condition variable") \
	X(BARRIER, "barrier")         \
	X(JOIN, "thread's end")       \
	X(CHILD, "child's end")       \
	X(PIPE, "pipe")               \
	X(SOCKET, "socket")           \
	X(EVENTFD, "eventfd")         \
	X(EPOLL, "epoll")             \
	X(POLL, "poll")               \
	X(SIGNAL, "signal")

enum wakeup_way {
#define X(id, word) WAY_##id,
	WAKEUP_WAYS(X)
#undef X
	WAY_N
};
extern const char *const wakeup_way_words[WAY_N];

/* An object that threads wait for, and that others wake by. `space`: the process whose number or
 * address `value` is; 0: it is everybody's. */
enum wakeup_key_kind { KEY_FUTEX, KEY_DATA, KEY_SPACE, KEY_THREAD_END, KEY_CHILD_END };
struct wakeup_key {
	enum wakeup_key_kind kind;
	uint32_t space;
	uint64_t value;
};

#define WAKEUP_FUNCTIONS 16u /* the innermost ones that are shown */

/* A call that may wake. Shared by the call and all that it may have woken. */
struct wakeup_wake {
	unsigned refs;
	uint32_t thread;
	uint16_t cpu;
	bool closed;              /* it has returned: `leave` and `left` are known */
	uint64_t enter, leave;
	uint64_t left;            /* how many more waits it may have ended */
	uint32_t functions[WAKEUP_FUNCTIONS];
	unsigned n;
};

/* The time of the wake, for a wait that began at `out`. The wake lies within the waker's call, and
 * not before the switch out, since nobody wakes a thread that does not sleep yet. The kernel takes
 * the switch's time by another clock, so that it may be later than the call's end: that end counts
 * then. */
static inline uint64_t wakeup_time(const struct wakeup_wake *k, uint64_t out)
{
	const uint64_t from = k->enter > out ? k->enter : out;

	return k->closed && k->leave >= k->enter && k->leave < from ? k->leave : from;
}

struct wakeup_candidate {
	struct wakeup_wake *wake;
	enum wakeup_way way;
};

enum wakeup_role {
	ROLE_OTHER, ROLE_FUTEX, ROLE_READ, ROLE_WRITE, ROLE_EPOLL, ROLE_POLL, ROLE_TIMER, ROLE_KILL,
	ROLE_TKILL, ROLE_TGKILL, ROLE_EXIT, ROLE_EXIT_GROUP, ROLE_WAIT_CHILD, ROLE_CLOSE, ROLES_N
};

#define WAKEUP_SEEN 32u /* wakes that are kept for one call */

/* A system call that has begun. */
struct wakeup_call {
	uint32_t nr, serial;
	uint32_t thread;          /* index into wakeup.threads */
	enum wakeup_role role;
	uint64_t args[SYSCALL_ARGS];
	struct wakeup_wake *wake; /* NULL: it wakes nobody */
	VEC(struct wakeup_key) keys; /* that it waits for, or wakes by */
	VEC(struct wakeup_candidate) seen;
};

/* A thread switched out in a call, and in again. */
struct wakeup_wait {
	uint32_t thread;
	uint16_t cpu;
	enum wakeup_role role;
	bool over;                /* its call has ended, or has gone to sleep again */
	bool returned;            /* `result` is the call's */
	int64_t result;
	uint64_t out, in;
	VEC(struct wakeup_candidate) seen;
	uint32_t functions[WAKEUP_FUNCTIONS];
	unsigned n;
};

#define WAKEUP_OPEN 8u /* calls of one thread: handlers' within those that they interrupt */

struct wakeup_thread {
	/* index into info->threads, as all others but a call's and a node's */
	uint32_t number;
	struct wakeup_call open[WAKEUP_OPEN];
	unsigned n;
	uint64_t out;             /* when it was switched out in the innermost call; 0: it runs */
	struct wakeup_wait *last; /* the last wait, if it is not over; NULL: none */
	uint64_t object;          /* arg1 of the last call of a function that waits */
	enum wakeup_way object_way;
};

struct wakeup_node {
	struct wakeup_key key;
	uint32_t thread, serial;  /* the call's */
	enum wakeup_way way;      /* of one that waits */
	struct wakeup_wake *wake; /* NULL: it waits */
};
#define WAKEUP_BUCKETS 1024u

enum wakeup_event_kind { RECORD_OTHER, RECORD_ENTER, RECORD_EXIT, RECORD_SWITCH, RECORD_PIPE,
			 RECORD_SOCKETPAIR, RECORD_POLL, RECORD_OBJECT };

/* One of the trace's events, by its index; places count from the record's common fields. */
struct wakeup_record {
	bool known;
	enum wakeup_event_kind kind;
	uint16_t at, more;        /* of its fields: see learn_event() */
	enum wakeup_way way;      /* RECORD_OBJECT */
};

/* wakeup_files.c: what descriptors lead to, by process. */
struct wakeup_files;
struct wakeup_files *wakeup_files_new(void);
void wakeup_files_free(struct wakeup_files *f);

/* The objects behind a descriptor that can be waited for: objects' numbers, 0: none, or not
 * known. */
struct wakeup_ends {
	uint32_t reads, writes;
	bool closes;              /* when the process executes a program */
};
struct wakeup_ends wakeup_files_ends(struct wakeup_files *f, uint32_t pid, uint64_t fd);
/* In which way who waits for the object is woken; WAY_PIPE of one that is not known. */
enum wakeup_way wakeup_files_way(const struct wakeup_files *f, uint32_t object);
/* The epoll sets that the object is in; at most WAKEUP_SETS. */
#define WAKEUP_SETS 8u
unsigned wakeup_files_sets(const struct wakeup_files *f, uint32_t object, const uint32_t **sets);
/* A process's call begins, and returns with `result`: what it does to descriptors and epoll sets is
 * noted. Other calls change nothing. */
void wakeup_files_enter(struct wakeup_files *f, uint32_t pid, const struct wakeup_call *c);
void wakeup_files_leave(struct wakeup_files *f, uint32_t pid, const struct wakeup_call *c,
			int64_t result);
/* Two descriptors that pipe() (socket false) or socketpair() gave. */
void wakeup_files_pair(struct wakeup_files *f, uint32_t pid, const int32_t fds[2], bool socket,
		       bool closes);

/* wakeup_rows.c */
struct wakeup_row {
	uint32_t key[4];          /* by what the rows are; see key_of() */
	uint64_t count, total, max; /* ticks */
	struct histogram times;
	char *name;               /* made to sort and to print */
};

struct wakeup_worst {
	bool known;
	uint64_t ticks, enter, in;
	enum wakeup_way way;
	uint32_t wakee, waker;
	uint16_t wakee_cpu, waker_cpu;
	uint32_t wakee_functions[WAKEUP_FUNCTIONS], waker_functions[WAKEUP_FUNCTIONS];
	unsigned wakee_n, waker_n;
};

/* A signal to a thread, or to any thread of a process; 0: not told. */
struct wakeup_signalled {
	uint32_t tid, pid;
	struct wakeup_wake *wake;
};

struct wakeup {
	const struct trace_info *info;
	enum wakeup_by by;
	struct open_functions *functions;
	struct wakeup_files *files;
	struct names names;
	VEC(struct wakeup_thread) threads;
	VEC(uint32_t) indices;    /* by index into info->threads: 1 + one into threads; 0: none */
	struct number_map by_id;  /* number of thread and process -> index into threads */
	VEC(struct wakeup_record) records;
	struct wakeup_bucket { VEC(struct wakeup_node) nodes; } buckets[WAKEUP_BUCKETS];
	VEC(struct wakeup_wait *) pending;
	/* signals whose call has not returned */
	VEC(struct wakeup_signalled) signals;
	uint32_t serial;
	bool calls, switches;     /* such records came */
	void *rows_by_key;        /* a tree of tsearch() */
	VEC(struct wakeup_row *) rows;
	struct histogram_pool pool;
	struct wakeup_worst worst;
	void (*found)(void *arg, const struct wakeup_found *f); /* NULL: nobody asks */
	void *found_arg;
	uint64_t woken, ticks, timers, unseen;
	uint64_t first;           /* TSC */
	uint64_t skew;            /* ticks by which two clocks may differ */
};

/* wakeup_calls.c: what a call is, and what it waits for and wakes by. */
enum wakeup_role wakeup_role_of(uint32_t nr);
/* Adds what the call waits for and wakes by, when it begins. */
void wakeup_call_begin(struct wakeup *w, uint32_t thread, struct wakeup_call *c);
/* Closes the call's wake: its result says how many it has woken. */
void wakeup_call_end(struct wakeup_call *c, int64_t result, uint64_t tsc);
/* poll()'s descriptors, whose numbers are in every second word. */
void wakeup_call_poll(struct wakeup *w, uint32_t thread, struct wakeup_call *c,
		      const uint32_t *words, uint32_t n);
/* wakeup.c */
void wakeup_wait_for(struct wakeup *w, struct wakeup_call *c, struct wakeup_key key,
		     enum wakeup_way way);
void wakeup_wake_by(struct wakeup *w, struct wakeup_call *c, struct wakeup_key key);
/* Notes that a signal ends the wait of the thread tid, or of a thread of the process pid, whatever
 * it waits for; 0: not told. */
void wakeup_signal(struct wakeup *w, struct wakeup_call *c, uint32_t tid, uint32_t pid);
/* Counts a wait whose wake is known. */
void wakeup_rows_add(struct wakeup *w, const struct wakeup_wait *wait,
		     const struct wakeup_wake *wake, enum wakeup_way way);
void wakeup_rows_free(struct wakeup *w);
