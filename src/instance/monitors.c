/* SPDX-License-Identifier: MIT */
/* The model ebadf over system calls. Called by whoever runs the triggers, with pump_lock; nothing
 * fails. The records may be anybody's: numbers are indices here only after a check, and the memory
 * is bounded.
 *
 * Only closed descriptors are kept, in a table without chains: two that meet in it drive each other
 * out, which leaves the elder one unknown. A close marks its descriptor where the call begins,
 * because another thread may be given the number before the call returns. */
#include "instance/monitors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/syscalls.h"
#include "trace/trace_info.h"

#define CLOSED_MOST 4096u /* a power of two */
#define NESTED 4u         /* calls of one thread: handlers' within those that they interrupt */

const char *const monitors_need[] = { "sys_enter", "sys_exit", NULL };

/* What a call does with descriptors. CALL_HIDDEN: it gives some, whose numbers are in memory. */
enum call_kind { CALL_OTHER, CALL_USE, CALL_CLOSE, CALL_OPEN, CALL_FCNTL, CALL_HIDDEN };

struct closed { uint32_t pid, fd; bool is; };

struct entered_call {
	uint32_t nr, fd;
	int command;              /* fcntl's */
	bool was_closed;          /* a close's: before it */
};

struct monitored_thread {
	struct entered_call open[NESTED];
	unsigned n;
};

struct monitors {
	const struct trace_info *info;
	uint8_t kinds[SYSCALL_NUMBERS];
	bool about_fd[SYSCALL_NUMBERS]; /* the first argument is a descriptor */
	struct closed closed[CLOSED_MOST];
	VEC(struct monitored_thread) threads; /* by index into info->threads */
	VEC(uint8_t) records;     /* by event: enum record_kind */
};

enum record_kind { RECORD_UNKNOWN, RECORD_NONE, RECORD_ENTERS, RECORD_EXITS };

/* --- calls ------------------------------------------------------------------------------------ */

/* By name, because numbers differ between machines. */
static const struct { const char *name; enum call_kind kind; } calls[] = {
	{ "close", CALL_CLOSE },         { "fcntl", CALL_FCNTL },
	{ "open", CALL_OPEN },           { "openat", CALL_OPEN },
	{ "openat2", CALL_OPEN },        { "creat", CALL_OPEN },
	{ "dup", CALL_OPEN },            { "dup2", CALL_OPEN },
	{ "dup3", CALL_OPEN },           { "socket", CALL_OPEN },
	{ "accept", CALL_OPEN },         { "accept4", CALL_OPEN },
	{ "epoll_create", CALL_OPEN },   { "epoll_create1", CALL_OPEN },
	{ "eventfd", CALL_OPEN },        { "eventfd2", CALL_OPEN },
	{ "timerfd_create", CALL_OPEN }, { "signalfd", CALL_OPEN },
	{ "signalfd4", CALL_OPEN },      { "inotify_init", CALL_OPEN },
	{ "inotify_init1", CALL_OPEN },  { "memfd_create", CALL_OPEN },
	{ "memfd_secret", CALL_OPEN },   { "pidfd_open", CALL_OPEN },
	{ "pidfd_getfd", CALL_OPEN },    { "perf_event_open", CALL_OPEN },
	{ "io_uring_setup", CALL_OPEN }, { "fanotify_init", CALL_OPEN },
	{ "userfaultfd", CALL_OPEN },    { "landlock_create_ruleset", CALL_OPEN },
	{ "fsopen", CALL_OPEN },         { "fsmount", CALL_OPEN },
	{ "fspick", CALL_OPEN },         { "open_tree", CALL_OPEN },
	{ "open_by_handle_at", CALL_OPEN }, { "mq_open", CALL_OPEN },
	{ "pipe", CALL_HIDDEN },         { "pipe2", CALL_HIDDEN },
	{ "socketpair", CALL_HIDDEN },   { "recvmsg", CALL_HIDDEN },
	{ "recvmmsg", CALL_HIDDEN },
};

static enum call_kind kind_of(const struct syscall_info *s, bool about_fd)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, s->name))
			return calls[i].kind;
	return about_fd ? CALL_USE : CALL_OTHER;
}

/* "unsigned int fd, char * buf": whether the first argument has one of the names that the kernel
 * gives to a descriptor. */
static bool is_about_fd(const char *arguments)
{
	const char *end = arguments + strcspn(arguments, ",");
	const char *name = end;

	while (name > arguments && name[-1] != ' ')
		name--;
	return (end - name == 2 && !strncmp(name, "fd", 2)) ||
	       (end - name == 5 && !strncmp(name, "oldfd", 5));
}

struct monitors *monitors_new(const struct trace_info *info)
{
	struct monitors *m = mem_zalloc(sizeof(*m));

	m->info = info;
	for (uint32_t nr = 0; nr < SYSCALL_NUMBERS; nr++) {
		const struct syscall_info *s = syscall_by_number(nr);

		m->about_fd[nr] = s && s->arguments && is_about_fd(s->arguments);
		m->kinds[nr] = s ? kind_of(s, m->about_fd[nr]) : CALL_OTHER;
	}
	return m;
}

void monitors_free(struct monitors *m)
{
	if (!m)
		return;
	vec_free(&m->threads);
	vec_free(&m->records);
	free(m);
}

/* --- closed descriptors ----------------------------------------------------------------------- */

/* The multiplier is that of Fibonacci hashing. */
static struct closed *place_of(struct monitors *m, uint32_t pid, uint32_t fd)
{
	const uint64_t h = ((uint64_t)pid << 32 | fd) * 0x9e3779b97f4a7c15u;

	return &m->closed[h >> 52 & (CLOSED_MOST - 1)];
}

static bool is_closed(struct monitors *m, uint32_t pid, uint32_t fd)
{
	const struct closed *c = place_of(m, pid, fd);

	return c->is && c->pid == pid && c->fd == fd;
}

static void set_closed(struct monitors *m, uint32_t pid, uint32_t fd, bool closed)
{
	if (closed)
		*place_of(m, pid, fd) = (struct closed){ pid, fd, true };
	else if (is_closed(m, pid, fd))
		place_of(m, pid, fd)->is = false;
}

/* Numbers that were closed may be open again, unseen. */
static void forget_process(struct monitors *m, uint32_t pid)
{
	for (unsigned i = 0; i < CLOSED_MOST; i++)
		m->closed[i].is &= m->closed[i].pid != pid;
}

/* --- steps ------------------------------------------------------------------------------------ */

static const char open_state[] = "open", closed_state[] = "closed";

static void tell(uint32_t fd, bool closed, const char *event, const char *next,
		 monitor_sink *sink, void *arg)
{
	const struct monitor_step s = { RV_EBADF, (int32_t)fd,
					closed ? closed_state : open_state, event, next,
					next == closed_state };

	sink(arg, &s);
}

/* The call has given the descriptor, so that it is open, whatever was known of it. */
static void take_open(struct monitors *m, uint32_t pid, uint32_t fd, monitor_sink *sink, void *arg)
{
	tell(fd, is_closed(m, pid, fd), "open", open_state, sink, arg);
	set_closed(m, pid, fd, false);
}

/* A close that the kernel refuses for another reason has closed nevertheless. */
static void take_close(struct monitors *m, uint32_t pid, const struct entered_call *c,
		       int64_t result, monitor_sink *sink, void *arg)
{
	if (result != -EBADF)
		tell(c->fd, false, "close", closed_state, sink, arg);
	else if (c->was_closed)
		tell(c->fd, true, "close", NULL, sink, arg);
	else
		set_closed(m, pid, c->fd, false); /* it was unknown, and is so again */
}

static void take_use(struct monitors *m, uint32_t pid, uint32_t fd, int64_t result,
		     monitor_sink *sink, void *arg)
{
	const bool closed = is_closed(m, pid, fd);

	if (result == -EBADF && closed) {
		tell(fd, true, "use", NULL, sink, arg);
	} else if (result != -EBADF) {
		if (closed)
			take_open(m, pid, fd, sink, arg);
		tell(fd, false, "use", open_state, sink, arg);
	}
}

static bool gives_descriptor(enum call_kind kind, const struct entered_call *c)
{
	return kind == CALL_OPEN ||
	       (kind == CALL_FCNTL && (c->command == F_DUPFD || c->command == F_DUPFD_CLOEXEC));
}

static void end_call(struct monitors *m, uint32_t pid, const struct entered_call *c,
		     int64_t result, monitor_sink *sink, void *arg)
{
	const enum call_kind kind = m->kinds[c->nr];

	if (kind == CALL_CLOSE) {
		take_close(m, pid, c, result, sink, arg);
		return;
	}
	if (m->about_fd[c->nr])
		take_use(m, pid, c->fd, result, sink, arg);
	if (kind == CALL_HIDDEN && result >= 0)
		forget_process(m, pid);
	else if (gives_descriptor(kind, c) && result >= 0 && result <= INT32_MAX)
		take_open(m, pid, (uint32_t)result, sink, arg);
}

/* --- records ---------------------------------------------------------------------------------- */

static struct monitored_thread *thread_of(struct monitors *m, uint32_t thread)
{
	while (m->threads.n <= thread)
		*vec_add(&m->threads) = (struct monitored_thread){ 0 };
	return &m->threads.at[thread];
}

static void take_enter(struct monitors *m, const struct event *e)
{
	struct monitored_thread *t = thread_of(m, e->thread);
	const uint32_t pid = m->info->threads.at[e->thread].pid;
	const uint64_t nr = e->payload[0];
	struct entered_call *c;

	if (nr >= SYSCALL_NUMBERS || m->kinds[nr] == CALL_OTHER)
		return;
	if (t->n == NESTED) {
		memmove(&t->open[0], &t->open[1], (NESTED - 1) * sizeof(t->open[0]));
		t->n--;
	}
	c = &t->open[t->n++];
	*c = (struct entered_call){ .nr = (uint32_t)nr, .fd = (uint32_t)e->payload[1],
				    .command = (int)e->payload[2] };
	if (m->kinds[nr] != CALL_CLOSE)
		return;
	c->was_closed = is_closed(m, pid, c->fd);
	set_closed(m, pid, c->fd, true);
}

/* The innermost call of that number: those within it have not returned. */
static void take_exit(struct monitors *m, const struct event *e, monitor_sink *sink, void *arg)
{
	struct monitored_thread *t = thread_of(m, e->thread);
	unsigned i = t->n;

	while (i && t->open[i - 1].nr != e->payload[0])
		i--;
	if (!i)
		return;
	t->n = i - 1;
	end_call(m, m->info->threads.at[e->thread].pid, &t->open[i - 1], (int64_t)e->payload[1],
		 sink, arg);
}

/* Asked for at the event's first record: events of a live session may come later. */
static enum record_kind kind_of_record(struct monitors *m, uint32_t index)
{
	const struct trace_event *e = trace_info_event(m->info, index);

	if (!e)
		return RECORD_NONE;
	while (m->records.n <= index)
		*vec_add(&m->records) = RECORD_UNKNOWN;
	if (m->records.at[index] == RECORD_UNKNOWN)
		m->records.at[index] = strcmp(e->system, "raw_syscalls") ? RECORD_NONE
				       : !strcmp(e->name, "sys_enter")   ? RECORD_ENTERS
				       : !strcmp(e->name, "sys_exit")    ? RECORD_EXITS
									 : RECORD_NONE;
	return m->records.at[index];
}

/* An open of what was closed may be among what was lost. */
static void lose(struct monitors *m, const struct event *e)
{
	thread_of(m, e->thread)->n = 0;
	forget_process(m, m->info->threads.at[e->thread].pid);
}

void monitors_event(struct monitors *m, const struct event *e, monitor_sink *sink, void *arg)
{
	enum record_kind kind;

	if (e->thread >= m->info->threads.n)
		return;
	if (e->kind == EVENT_LOST) {
		lose(m, e);
		return;
	}
	kind = e->kind == EVENT_TRACE ? kind_of_record(m, e->fn) : RECORD_NONE;
	if (kind == RECORD_ENTERS && e->count >= 8 * 3)
		take_enter(m, e);
	else if (kind == RECORD_EXITS && e->count >= 8 * 2)
		take_exit(m, e, sink, arg);
}
