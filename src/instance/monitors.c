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
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "event/syscalls.h"
#include "instance/table_sharing.h"
#include "trace/trace_info.h"

#define CLOSED_MOST 4096u /* a power of two */
#define NESTED 4u         /* calls of one thread: handlers' within those that they interrupt */

const char *const monitors_need[] = { "sys_enter", "sys_exit", NULL };

/* Kinds of system calls, by their use of descriptors. The model must never accuse a correct
 * program: a kind that may give descriptors unseen makes it forget, which costs only what it could
 * have found. */
enum call_kind {
	CALL_OTHER, CALL_USE, CALL_CLOSE, CALL_OPEN, CALL_FCNTL,
	CALL_HIDDEN,              /* may give some whose numbers it does not return */
	CALL_IOCTL,
	CALL_READER,              /* gives one from which CALL_READ reads others */
	CALL_READ,
	CALL_RING,                /* from now on the kernel opens some by itself */
	CALL_CLONE, CALL_CLONE3,
	CALL_SECCOMP
};

struct closed { uint64_t tsc; uint32_t pid, fd; bool is; };

struct entered_call {
	uint32_t nr, fd;
	uint32_t command;         /* fcntl's, ioctl's */
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
	uint64_t forgotten[CLOSED_MOST]; /* by pid: what was closed until then is not known to be */
	struct table_sharing sharing;
	bool reads;               /* a CALL_READER was called */
	const struct event *at;   /* the record that is looked at */
	VEC(struct monitored_thread) threads; /* by index into info->threads */
	VEC(uint8_t) records;     /* by event: enum record_kind */
};

enum record_kind { RECORD_UNKNOWN, RECORD_NONE, RECORD_ENTERS, RECORD_EXITS };

/* --- calls ------------------------------------------------------------------------------------ */

/* By name, because numbers differ between machines. A call that is not in the table and has a
 * descriptor as its first argument is CALL_USE. One that is new in the kernel and gives descriptors
 * has to be added here, or their use looks like that of closed ones. */
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
	{ "io_uring_setup", CALL_RING }, { "fanotify_init", CALL_READER },
	{ "userfaultfd", CALL_READER },  { "landlock_create_ruleset", CALL_OPEN },
	{ "fsopen", CALL_OPEN },         { "fsmount", CALL_OPEN },
	{ "fspick", CALL_OPEN },         { "open_tree", CALL_OPEN },
	{ "open_by_handle_at", CALL_OPEN }, { "mq_open", CALL_OPEN },
	{ "pipe", CALL_HIDDEN },         { "pipe2", CALL_HIDDEN },
	{ "socketpair", CALL_HIDDEN },   { "recvmsg", CALL_HIDDEN },
	{ "recvmmsg", CALL_HIDDEN },     { "bpf", CALL_HIDDEN },
	{ "ioctl", CALL_IOCTL },         { "seccomp", CALL_SECCOMP },
	{ "read", CALL_READ },           { "readv", CALL_READ },
	{ "pread64", CALL_READ },        { "preadv", CALL_READ },
	{ "preadv2", CALL_READ },        { "splice", CALL_READ },
	{ "sendfile64", CALL_READ },     { "io_submit", CALL_READ },
	{ "io_uring_enter", CALL_RING }, { "io_uring_register", CALL_RING },
	{ "clone", CALL_CLONE },         { "clone3", CALL_CLONE3 },
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

	m->info = m->sharing.info = info;
	for (uint32_t nr = 0; nr < SYSCALL_NUMBERS; nr++) {
		const struct syscall_info *s = syscall_by_number(nr);

		m->about_fd[nr] = s && s->arguments && is_about_fd(s->arguments);
		/* A number without a name here is a newer kernel's: it may do anything. */
		m->kinds[nr] = s ? kind_of(s, m->about_fd[nr]) : CALL_HIDDEN;
	}
	return m;
}

void monitors_free(struct monitors *m)
{
	if (!m)
		return;
	table_sharing_free(&m->sharing);
	vec_free(&m->threads);
	vec_free(&m->records);
	free(m);
}

/* --- closed descriptors ----------------------------------------------------------------------- */

/* The multiplier is that of Fibonacci hashing. The upper bits are taken, which depend on all bits
 * below; 52 leaves the 12 of CLOSED_MOST. */
static struct closed *closed_of(struct monitors *m, uint32_t pid, uint32_t fd)
{
	const uint64_t h = ((uint64_t)pid << 32 | fd) * 0x9e3779b97f4a7c15u;

	return &m->closed[h >> 52 & (CLOSED_MOST - 1)];
}

/* Processes may share one: then more is forgotten than was asked for. (20 leaves 12 bits of 32.) */
static uint64_t *forgotten_of(struct monitors *m, uint32_t pid)
{
	return &m->forgotten[pid * 0x9e3779b1u >> 20 & (CLOSED_MOST - 1)];
}

static bool is_closed(struct monitors *m, uint32_t pid, uint32_t fd)
{
	const struct closed *c = closed_of(m, pid, fd);

	return c->is && c->pid == pid && c->fd == fd && c->tsc > *forgotten_of(m, pid);
}

static void set_closed(struct monitors *m, uint32_t pid, uint32_t fd, bool closed)
{
	if (closed)
		*closed_of(m, pid, fd) = (struct closed){ m->at->tsc, pid, fd, true };
	else if (is_closed(m, pid, fd))
		closed_of(m, pid, fd)->is = false;
}

/* Numbers that were closed until tsc may be open again, unseen. A table_sharing_over. */
static void forget_before(void *arg, uint32_t pid, uint64_t tsc)
{
	struct monitors *m = arg;

	if (*forgotten_of(m, pid) < tsc)
		*forgotten_of(m, pid) = tsc;
}

static void forget_process(struct monitors *m, uint32_t pid)
{
	forget_before(m, pid, m->at->tsc);
}

/* Whether the descriptor is closed beyond doubt. table_sharing_is_clear() may forget on the way, so
 * that the table is asked again behind it. */
static bool is_surely_closed(struct monitors *m, uint32_t pid, uint32_t fd)
{
	return is_closed(m, pid, fd) &&
	       table_sharing_is_clear(&m->sharing, m->at, forget_before, m) &&
	       is_closed(m, pid, fd);
}

/* --- steps ------------------------------------------------------------------------------------ */

static const char open_state[] = "open", closed_state[] = "closed";

static void tell_step(uint32_t fd, bool closed, const char *event, const char *next,
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
	tell_step(fd, is_closed(m, pid, fd), "open", open_state, sink, arg);
	set_closed(m, pid, fd, false);
}

/* A close that the kernel refuses for another reason has closed nevertheless. (EINTR and EIO,
 * close(2): Linux frees the number before it flushes.) */
static void take_close(struct monitors *m, uint32_t pid, const struct entered_call *c,
		       int64_t result, monitor_sink *sink, void *arg)
{
	if (result != -EBADF)
		tell_step(c->fd, false, "close", closed_state, sink, arg);
	else if (c->was_closed && is_surely_closed(m, pid, c->fd))
		tell_step(c->fd, true, "close", NULL, sink, arg);
	else
		set_closed(m, pid, c->fd, false); /* it was unknown, and is so again */
}

static void take_use(struct monitors *m, uint32_t pid, uint32_t fd, int64_t result,
		     monitor_sink *sink, void *arg)
{
	if (result == -EBADF) {
		if (is_surely_closed(m, pid, fd))
			tell_step(fd, true, "use", NULL, sink, arg);
	} else {
		if (is_closed(m, pid, fd))
			take_open(m, pid, fd, sink, arg);
		tell_step(fd, false, "use", open_state, sink, arg);
	}
}

/* --- calls that give descriptors -------------------------------------------------------------- */

static bool gives_descriptor(enum call_kind kind, const struct entered_call *c)
{
	return kind == CALL_OPEN || kind == CALL_READER ||
	       (kind == CALL_FCNTL && (c->command == F_DUPFD || c->command == F_DUPFD_CLOEXEC));
}

/* Terminals and drivers have requests that give descriptors (TIOCGPTPEER, KVM_CREATE_VM); these, of
 * all kinds of files, do not. */
static bool is_harmless_ioctl(uint32_t request)
{
	return request == FIOCLEX || request == FIONCLEX || request == FIONBIO ||
	       request == FIOASYNC || request == FIONREAD || request == TCGETS ||
	       request == TIOCGWINSZ;
}

/* Whether the call may give descriptors whose numbers it does not return. The result is not looked
 * at: a call that fails at its end may have given some before. */
static bool gives_unseen(const struct monitors *m, const struct entered_call *c)
{
	const enum call_kind kind = m->kinds[c->nr];

	return kind == CALL_HIDDEN || kind == CALL_RING || (kind == CALL_READ && m->reads) ||
	       (kind == CALL_IOCTL && !is_harmless_ioctl(c->command));
}

/* /dev/userfaultfd gives what is read from; a supervisor's request opens in another process. */
static void begin_ioctl(struct monitors *m, uint32_t request)
{
	m->reads |= _IOC_TYPE(request) == USERFAULTFD_IOC;
	m->sharing.blind |= _IOC_TYPE(request) == SECCOMP_IOC_MAGIC && !is_harmless_ioctl(request);
}

/* Notes by which ways, other than its result, a call lets descriptors in: from its beginning on. */
static void begin_call(struct monitors *m, const struct event *e, enum call_kind kind)
{
	const uint64_t *args = e->payload + 1;

	if (kind == CALL_READER)
		m->reads = true;
	else if (kind == CALL_IOCTL)
		begin_ioctl(m, (uint32_t)args[1]);
	else if (kind == CALL_SECCOMP)
		m->sharing.blind |= args[0] == SECCOMP_SET_MODE_FILTER &&
				    args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER;
	else if (kind == CALL_RING)
		table_sharing_spoil(&m->sharing, m->info->threads.at[e->thread].pid);
	else if (kind == CALL_CLONE3 ||
		 (kind == CALL_CLONE && args[0] & CLONE_FILES && !(args[0] & CLONE_THREAD)))
		table_sharing_clone(&m->sharing, e, kind == CALL_CLONE, forget_before, m);
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
	if (kind == CALL_CLONE || kind == CALL_CLONE3)
		table_sharing_cloned(&m->sharing, m->at->thread, result);
	else if (gives_unseen(m, c))
		forget_process(m, pid);
	else if (gives_descriptor(kind, c) && result >= 0 && result <= INT32_MAX)
		take_open(m, pid, (uint32_t)result, sink, arg);
}

/* A thread begins a call and is in another one, which it was interrupted in, or whose return was
 * not recorded: what that has given is unknown. */
static void leave_calls(struct monitors *m, const struct monitored_thread *t, uint32_t pid)
{
	const struct entered_call *c = t->n ? &t->open[t->n - 1] : NULL;

	if (c && (gives_unseen(m, c) || gives_descriptor(m->kinds[c->nr], c)))
		forget_process(m, pid);
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

	leave_calls(m, t, pid);
	if (nr >= SYSCALL_NUMBERS)
		forget_process(m, pid);
	if (nr >= SYSCALL_NUMBERS || m->kinds[nr] == CALL_OTHER)
		return;
	begin_call(m, e, m->kinds[nr]);
	if (t->n == NESTED) {
		memmove(&t->open[0], &t->open[1], (NESTED - 1) * sizeof(t->open[0]));
		t->n--;
	}
	c = &t->open[t->n++];
	*c = (struct entered_call){ .nr = (uint32_t)nr, .fd = (uint32_t)e->payload[1],
				    .command = (uint32_t)e->payload[2] };
	if (m->kinds[nr] != CALL_CLOSE)
		return;
	c->was_closed = is_closed(m, pid, c->fd);
	if (!c->was_closed)
		set_closed(m, pid, c->fd, true);
}

/* The innermost call of that number: those within it have not returned. A return without its call,
 * from before the recording, tells nothing. */
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
static void forget_lost(struct monitors *m, const struct event *e)
{
	thread_of(m, e->thread)->n = 0;
	forget_process(m, m->info->threads.at[e->thread].pid);
}

void monitors_event(struct monitors *m, const struct event *e, monitor_sink *sink, void *arg)
{
	enum record_kind kind;

	if (e->thread >= m->info->threads.n)
		return;
	m->at = e;
	if (e->kind == EVENT_LOST) {
		forget_lost(m, e);
		return;
	}
	kind = e->kind == EVENT_TRACE ? kind_of_record(m, e->fn) : RECORD_NONE;
	if (kind == RECORD_ENTERS && e->count >= 8 * 3)
		take_enter(m, e);
	else if (kind == RECORD_EXITS && e->count >= 8 * 2)
		take_exit(m, e, sink, arg);
}
