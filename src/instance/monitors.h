/* SPDX-License-Identifier: MIT */
/* Runtime verification of an instance (the kernel's rv/): automata that follow objects of the
 * programs by the records of their threads, in the order of time, and tell each step, and each
 * event that a model does not allow. There is one model:
 *
 *   ebadf   a descriptor of a process: open until a close, closed until a call gives its number
 *           again. Allowed when closed: `open` alone. Made of raw_syscalls:sys_enter and sys_exit;
 *           a use or a close counts as one of a closed descriptor if the kernel says EBADF, too.
 *
 * What cannot be known is taken for open: descriptors of before, losses, numbers that come by
 * memory (pipe, ioctl) or by others (table_sharing.h), what does not fit into the table. Then
 * errors are missed, and none is invented. Not locked. */
#pragma once
#include "model/rv.h"
#include "trace/event.h"

struct monitors;

/* A step of a model. The texts are constants. */
struct monitor_step {
	enum rv_monitor of;
	int32_t id;               /* the object: a descriptor's number */
	const char *state, *event;
	const char *next;         /* NULL: the model does not allow the event in this state */
	bool final;               /* next is a final state */
};
typedef void monitor_sink(void *arg, const struct monitor_step *s);

/* The events that monitors need, "raw_syscalls"; the last one is NULL. */
extern const char *const monitors_need[];
/* info may grow; it must outlive the result, which monitors_free() frees. */
struct monitors *monitors_new(const struct trace_info *info);
void monitors_free(struct monitors *m); /* NULL is fine */
/* Takes the next event of any kind, and calls the sink for the steps that it makes. */
void monitors_event(struct monitors *m, const struct event *e, monitor_sink *sink, void *arg);
