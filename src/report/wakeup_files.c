/* SPDX-License-Identifier: MIT */
/* Descriptors by process, from the calls that make, copy and close them, and the objects behind
 * them. Called by the other files of this report, on their thread. Only what threads wake each
 * other by is an object: pipes, pairs of sockets, eventfds, epoll sets. A child of a fork has its
 * parent's descriptors. Numbers are a trace's to choose: all have a limit, beyond which nothing is
 * known. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/mem.h"
#include "report/wakeup_internal.h"

#define DESCRIPTORS_MOST 4096u
#define PROCESSES_MOST 1024u
#define OBJECTS_MOST 65536u

struct process_ends {
	uint32_t pid;
	unsigned forking;         /* calls that may make a child and have not returned */
	VEC(struct wakeup_ends) fds;
};

struct file_object {
	enum wakeup_way way;
	unsigned n;
	uint32_t sets[WAKEUP_SETS];
};

struct wakeup_files {
	VEC(struct process_ends) processes;
	VEC(struct file_object) objects; /* object n is at n - 1 */
};

/* Zeros are an empty list: no process and no object. */
struct wakeup_files *wakeup_files_new(void)
{
	return mem_zalloc(sizeof(struct wakeup_files));
}

void wakeup_files_free(struct wakeup_files *f)
{
	for (size_t i = 0; i < f->processes.n; i++)
		vec_free(&f->processes.at[i].fds);
	vec_free(&f->processes);
	vec_free(&f->objects);
	free(f);
}

/* --- processes ------------------------------------------------------------------------------ */

/* NULL: not known. From the end, since the latest processes are the busiest. */
static struct process_ends *find_process(const struct wakeup_files *f, uint32_t pid)
{
	for (size_t i = f->processes.n; i-- > 0;)
		if (f->processes.at[i].pid == pid)
			return &f->processes.at[i];
	return NULL;
}

/* The one process that is making a child; NULL: there is none, or several. */
static const struct process_ends *forking_process(const struct wakeup_files *f)
{
	const struct process_ends *found = NULL;

	for (size_t i = 0; i < f->processes.n; i++)
		if (f->processes.at[i].forking) {
			if (found)
				return NULL;
			found = &f->processes.at[i];
		}
	return found;
}

/* With what the parent has, NULL: nothing. NULL: there are too many. */
static struct process_ends *add_process(struct wakeup_files *f, uint32_t pid, uint32_t parent)
{
	const struct process_ends *from;
	struct process_ends p = { .pid = pid };

	if (f->processes.n >= PROCESSES_MOST)
		return NULL;
	from = parent ? find_process(f, parent) : forking_process(f);
	for (size_t i = 0; from && i < from->fds.n; i++)
		*vec_add(&p.fds) = from->fds.at[i];
	*vec_add(&f->processes) = p;
	return &f->processes.at[f->processes.n - 1];
}

/* NULL: there are too many. Valid until the next one is added. */
static struct process_ends *process_of(struct wakeup_files *f, uint32_t pid)
{
	struct process_ends *p = find_process(f, pid);

	return p ? p : add_process(f, pid, 0);
}

/* Both ends 0: the descriptor is no object's, or not known. */
struct wakeup_ends wakeup_files_ends(struct wakeup_files *f, uint32_t pid, uint64_t fd)
{
	const struct process_ends *p = process_of(f, pid);

	fd = (uint32_t)fd;
	return p && fd < p->fds.n ? p->fds.at[fd] : (struct wakeup_ends){ 0 };
}

/* A descriptor of no interest needs no place behind the last one that is known. */
static void set_ends(struct wakeup_files *f, uint32_t pid, uint64_t fd, struct wakeup_ends ends)
{
	struct process_ends *p = process_of(f, pid);

	if (!p || fd >= DESCRIPTORS_MOST || (fd >= p->fds.n && !ends.reads && !ends.writes))
		return;
	while (p->fds.n <= fd)
		*vec_add(&p->fds) = (struct wakeup_ends){ 0 };
	p->fds.at[fd] = ends;
}

/* --- objects -------------------------------------------------------------------------------- */

/* 0: there are too many. */
static uint32_t add_object(struct wakeup_files *f, enum wakeup_way way)
{
	if (f->objects.n >= OBJECTS_MOST)
		return 0;
	*vec_add(&f->objects) = (struct file_object){ .way = way };
	return (uint32_t)f->objects.n;
}

/* An object that is not known counts as a pipe's. */
enum wakeup_way wakeup_files_way(const struct wakeup_files *f, uint32_t object)
{
	return object && object <= f->objects.n ? f->objects.at[object - 1].way : WAY_PIPE;
}

/* The number of epoll sets that wait for the object too; *sets is valid until one is added. */
unsigned wakeup_files_sets(const struct wakeup_files *f, uint32_t object, const uint32_t **sets)
{
	if (!object || object > f->objects.n)
		return 0;
	*sets = f->objects.at[object - 1].sets;
	return f->objects.at[object - 1].n;
}

/* closes: both are closed by an exec. */
void wakeup_files_pair(struct wakeup_files *f, uint32_t pid, const int32_t fds[2], bool socket,
		       bool closes)
{
	uint32_t a = add_object(f, socket ? WAY_SOCKET : WAY_PIPE);
	uint32_t b = socket ? add_object(f, WAY_SOCKET) : 0;

	/* A pipe's second descriptor writes what the first one reads. */
	set_ends(f, pid, (uint32_t)fds[0], (struct wakeup_ends){ a, b, closes });
	set_ends(f, pid, (uint32_t)fds[1], (struct wakeup_ends){ b, a, closes });
}

/* NULL: there is no such object. */
static struct file_object *object_of(struct wakeup_files *f, uint32_t object)
{
	return object && object <= f->objects.n ? &f->objects.at[object - 1] : NULL;
}

/* Beyond WAKEUP_SETS a wake by one more set is not seen. */
static void join_set(struct wakeup_files *f, uint32_t object, uint32_t set)
{
	struct file_object *o = object_of(f, object);

	for (unsigned i = 0; o && i < o->n; i++)
		if (o->sets[i] == set)
			return;
	if (o && set && o->n < WAKEUP_SETS)
		o->sets[o->n++] = set;
}

/* EPOLL_CTL_DEL. That another descriptor of the object may stay in the set is not followed. */
static void leave_set(struct wakeup_files *f, uint32_t object, uint32_t set)
{
	struct file_object *o = object_of(f, object);

	for (unsigned i = 0; o && i < o->n; i++)
		if (o->sets[i] == set) {
			o->sets[i] = o->sets[--o->n];
			return;
		}
}

/* --- calls ---------------------------------------------------------------------------------- */

enum file_act {
	MAKES_OTHER, MAKES_EVENTFD, MAKES_EPOLL, COPIES, COPIES_BY_FCNTL, CLOSES, ADDS, FORKS,
	EXECUTES
};

/* flags: 1 + the number of the argument that may have O_CLOEXEC; 0: none. */
static const struct file_call {
	const char *name;
	enum file_act act;
	uint8_t flags;
} calls[] = {
	{ "open", MAKES_OTHER, 0 }, { "openat", MAKES_OTHER, 0 }, { "openat2", MAKES_OTHER, 0 },
	{ "creat", MAKES_OTHER, 0 }, { "socket", MAKES_OTHER, 0 }, { "accept", MAKES_OTHER, 0 },
	{ "accept4", MAKES_OTHER, 0 }, { "memfd_create", MAKES_OTHER, 0 },
	{ "timerfd_create", MAKES_OTHER, 0 }, { "signalfd4", MAKES_OTHER, 0 },
	{ "eventfd", MAKES_EVENTFD, 0 }, { "eventfd2", MAKES_EVENTFD, 2 },
	{ "epoll_create", MAKES_EPOLL, 0 }, { "epoll_create1", MAKES_EPOLL, 1 },
	{ "dup", COPIES, 0 }, { "dup2", COPIES, 0 }, { "dup3", COPIES, 3 },
	{ "fcntl", COPIES_BY_FCNTL, 0 }, { "close", CLOSES, 0 }, { "epoll_ctl", ADDS, 0 },
	{ "fork", FORKS, 0 }, { "vfork", FORKS, 0 }, { "clone", FORKS, 0 }, { "clone3", FORKS, 0 },
	{ "execve", EXECUTES, 0 }, { "execveat", EXECUTES, 0 },
};

/* By name, because numbers differ between machines; looked up once. NULL: it is of no interest. */
static const struct file_call *file_call_of(uint32_t nr)
{
	static uint8_t known[SYSCALL_NUMBERS];
	static bool made;

	for (uint32_t n = 0; !made && n < SYSCALL_NUMBERS; n++) {
		const struct syscall_info *s = syscall_by_number(n);

		for (uint8_t i = 0; s && i < sizeof(calls) / sizeof(*calls); i++)
			if (!strcmp(s->name, calls[i].name))
				known[n] = i + 1;
	}
	made = true;
	return nr < SYSCALL_NUMBERS && known[nr] ? &calls[known[nr] - 1] : NULL;
}

/* A thread is made by the same calls: no process has its number. */
static void end_fork(struct wakeup_files *f, uint32_t pid, int64_t result)
{
	struct process_ends *p = process_of(f, pid);

	if (p && p->forking)
		p->forking--;
	if (p && result > 0 && !find_process(f, (uint32_t)result))
		add_process(f, (uint32_t)result, pid);
}

/* The program that is executed does not have these. */
static void close_at_exec(struct wakeup_files *f, uint32_t pid)
{
	struct process_ends *p = process_of(f, pid);

	for (size_t i = 0; p && i < p->fds.n; i++)
		if (p->fds.at[i].closes)
			p->fds.at[i] = (struct wakeup_ends){ 0 };
}

/* The effect of a call's begin: an exec closes before it is known whether it succeeds. */
void wakeup_files_enter(struct wakeup_files *f, uint32_t pid, const struct wakeup_call *c)
{
	const struct file_call *call = file_call_of(c->nr);
	struct process_ends *p;

	if (!call)
		return;
	if (call->act == EXECUTES)
		close_at_exec(f, pid);
	if (call->act == FORKS && (p = process_of(f, pid)))
		p->forking++;
}

/* epoll_ctl(): also EPOLL_CTL_MOD, which changes nothing here. */
static void change_set(struct wakeup_files *f, uint32_t pid, const struct wakeup_call *c)
{
	const struct wakeup_ends set = wakeup_files_ends(f, pid, c->args[0]),
				 of = wakeup_files_ends(f, pid, c->args[2]);

	(c->args[1] == EPOLL_CTL_DEL ? leave_set : join_set)(f, of.reads, set.reads);
}

/* The copy has a flag of its own; dup2() onto itself changes nothing. */
static void copy_ends(struct wakeup_files *f, uint32_t pid, const struct wakeup_call *c,
		      int64_t result, bool closes)
{
	struct wakeup_ends ends = wakeup_files_ends(f, pid, c->args[0]);

	ends.closes = closes;
	if ((uint32_t)result != (uint32_t)c->args[0])
		set_ends(f, pid, (uint64_t)result, ends);
}

/* Results of calls, since only they tell the new descriptor's number. dup2() onto an open
 * descriptor closes that one: its ends are overwritten. */
void wakeup_files_leave(struct wakeup_files *f, uint32_t pid, const struct wakeup_call *c,
			int64_t result)
{
	const struct file_call *call = file_call_of(c->nr);
	const struct wakeup_ends none = { 0 };
	bool closes = call && call->flags && c->args[call->flags - 1] & O_CLOEXEC;
	uint32_t object;

	if (call && call->act == FORKS)
		end_fork(f, pid, result);
	/* A call that failed has changed no descriptor. */
	if (!call || result < 0)
		return;
	if (call->act == MAKES_OTHER)
		set_ends(f, pid, (uint64_t)result, none);
	else if (call->act == CLOSES)
		set_ends(f, pid, (uint32_t)c->args[0], none);
	else if (call->act == ADDS)
		change_set(f, pid, c);
	else if (call->act == COPIES)
		copy_ends(f, pid, c, result, closes);
	else if (call->act == COPIES_BY_FCNTL &&
		 (c->args[1] == F_DUPFD || c->args[1] == F_DUPFD_CLOEXEC))
		copy_ends(f, pid, c, result, c->args[1] == F_DUPFD_CLOEXEC);
	else if (call->act == MAKES_EVENTFD || call->act == MAKES_EPOLL) {
		bool epoll = call->act == MAKES_EPOLL;

		object = add_object(f, epoll ? WAY_EPOLL : WAY_EVENTFD);
		set_ends(f, pid, (uint64_t)result,
			 (struct wakeup_ends){ object, epoll ? 0 : object, closes });
	}
}
