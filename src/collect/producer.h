/* SPDX-License-Identifier: MIT */
/* A source of records. A session has several, and asks them in one way: the session memories
 * (memory_producer.h), into which programs write, the kernel's perf rings (switches.h), and with -k
 * the kernel's ftrace (kernel/producer.h). The number of a thread tells the source that it comes
 * from (slots.h).
 *
 * A new source is a struct that begins with struct producer, and a line of add_producers() in
 * session/session.c, or, if a command opens it, a row of ui/beside.c. A source that is read by CPU
 * makes its runs with thread_runs.h. */
#pragma once
#include "collect/clock.h"
#include "collect/drain.h"
#include "collect/slots.h"
#include "trace/trace_info.h"

enum producer_pass {
	PASS_FULL,    /* only what can be taken whole: the cheapest pass */
	PASS_PARTIAL, /* everything that was recorded before the call */
	/* Overwrite mode: makes room for new records. Old ones stay where they are; those that
	 * cannot stay go to the sink, or wait inside the source if there is none. */
	PASS_KEEP,
	PASS_LAST,    /* everything that there is, after the last writer stopped */
};

struct event_set;

/* A request to record events of processes from now on. */
struct follow_request {
	const struct event_set *events;
	bool sleeps;                   /* when threads slept */
	/* The processes that are concerned, parents before their children. A source may skip one
	 * that it follows already, and its children, which are followed by inheritance. */
	const pid_t *pids;
	size_t n;
};

/* A name that a thread has got. */
struct producer_name {
	uint32_t pid, tid;
	bool executed;                 /* by execve, after the program's file */
	struct trace_name name;
};
typedef void producer_name_sink(void *context, const struct producer_name *n);

struct producer;
struct producer_ops {
	/* The records are the kernel's, whose image is the first one of the trace. One source of a
	 * session at most. */
	bool of_kernel;
	/* NULL: programs come to the source by themselves. 0, or -errno and *err: it cannot be had;
	 * the caller takes back what it asked for by one more call, with the request before. From
	 * any thread. */
	int (*follow)(struct producer *p, const struct follow_request *req, struct err *err);
	/* Gives the records since the last pass to the sink, each thread's in their order and in
	 * runs. Every record that was made is in a run or in the `lost` of one; only PASS_LAST adds
	 * to *lost, those that no thread can bear, and lost may be NULL otherwise. Called by one
	 * thread at a time. The sink is called without a lock; it is NULL only for PASS_KEEP.
	 * Returns 0, or the sink's -errno. */
	int (*pass)(struct producer *p, enum producer_pass pass, drain_sink *sink, void *context,
		    uint64_t *lost, struct err *err);
	/* Fills *out with what is known of a thread of the source: pid, tid, first name and time,
	 * and its image. False: the source does not know images. From any thread. */
	bool (*thread)(const struct producer *p, uint32_t slot, struct trace_thread *out);
	/* NULL: the source tells no names. Gives the names since the last call. of not NULL:
	 * every name of that thread instead, not only the new ones. From any thread. The sink
	 * runs with a lock held and must not call the source. */
	void (*names)(struct producer *p, const struct trace_thread *of, producer_name_sink *sink,
		      void *context);
	/* NULL: the records need nothing. Adds to info what the records need that were given since
	 * the last call: events, modules of an image that is there. From the session's thread. */
	void (*describe)(struct producer *p, struct trace_info *info);
	/* The list of sources is freed. One that its opener keeps (session_beside) does nothing. */
	void (*free)(struct producer *p);
};

struct producer {
	const struct producer_ops *ops;
	uint32_t first_slot;           /* the number of its thread 0 (slots.h) */
	/* the session's, set by it; NULL: the source orders no records of several processors */
	const struct clock *clock;
};

/* The sources of a session. What is added stays until the list calls its free(): any thread may
 * use a list that is whole. */
struct producers {
	struct producer *at[PRODUCERS_MAX];
	uint32_t n;
};

/* Adds a source and sets its first_slot. The caller adds PRODUCERS_MAX at most: ui/beside.c
 * asserts that its kinds have room. */
void producers_add(struct producers *all, struct producer *p);
void producers_free(struct producers *all);
/* producers_follow() and the ones below ask all sources, or that of the slot. The first one that
 * fails ends the call. */
int producers_follow(const struct producers *all, const struct follow_request *req,
		     struct err *err);
int producers_pass(const struct producers *all, enum producer_pass pass, drain_sink *sink,
		   void *context, uint64_t *lost, struct err *err);
bool producers_thread(const struct producers *all, uint32_t slot, struct trace_thread *out);
void producers_describe(const struct producers *all, struct trace_info *info);
void producers_names(const struct producers *all, const struct trace_thread *of,
		     producer_name_sink *sink, void *context);
