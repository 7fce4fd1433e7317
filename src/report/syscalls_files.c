/* SPDX-License-Identifier: MIT */
/* The names of descriptors, by process: from what calls opened, copied and closed. A process that a
 * fork made begins with the names that its parent has when it is seen first. It may be seen before
 * the fork returns to its parent: then the parent is the one process that is forking; if several
 * are, its descriptors have no names. Called by syscalls.c alone. Descriptors and processes are a
 * trace's to choose: all have a limit, beyond which there are no names. On the thread that prints.
 * Nothing fails: a descriptor that is not known has no name. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <linux/close_range.h>

#include "base/mem.h"
#include "event/syscall_copies.h"
#include "report/syscalls_internal.h"

#define DESCRIPTORS_MOST 4096
#define PROCESSES_MOST 4096
#define BIRTHS_MOST 1024

struct files_descriptor {
	char *name;               /* NULL: not known */
	bool closes;              /* when the process executes a program */
	uint8_t netlink;          /* 1 and its protocol; 0: no socket of netlink, or unknown */
};

struct files_process {
	uint32_t pid;
	uint64_t image;           /* when the image began of which it has the names; 0: of none */
	VEC(struct files_descriptor) files; /* by descriptor */
};

struct files_birth { uint32_t child, parent; };

struct syscalls_files {
	VEC(struct files_process) processes;
	struct files_birth births[BIRTHS_MOST]; /* the latest ones, in a ring */
	size_t n_births;
	VEC(uint32_t) forking;    /* processes, one entry for each call */
};

/* No process yet: each comes with its first call. */
struct syscalls_files *syscalls_files_new(void)
{
	return mem_zalloc(sizeof(struct syscalls_files));
}

void syscalls_files_free(struct syscalls_files *f)
{
	for (size_t i = 0; i < f->processes.n; i++) {
		for (size_t k = 0; k < f->processes.at[i].files.n; k++)
			free(f->processes.at[i].files.at[k].name);
		vec_free(&f->processes.at[i].files);
	}
	vec_free(&f->processes);
	vec_free(&f->forking);
	free(f);
}

/* NULL: not known. From the end, since the latest processes are the busiest; valid until the next
 * one is added. */
static struct files_process *find_process(const struct syscalls_files *f, uint32_t pid)
{
	for (size_t i = f->processes.n; i-- > 0;)
		if (f->processes.at[i].pid == pid)
			return &f->processes.at[i];
	return NULL;
}

/* Looks from the latest birth back: the kernel uses a number again when its process has ended. */
static const struct files_process *parent_of(const struct syscalls_files *f, uint32_t pid)
{
	for (size_t i = 0; i < BIRTHS_MOST && i < f->n_births; i++) {
		const struct files_birth *b = &f->births[(f->n_births - 1 - i) % BIRTHS_MOST];

		if (b->child == pid)
			return find_process(f, b->parent);
	}
	return f->forking.n == 1 ? find_process(f, f->forking.at[0]) : NULL;
}

/* NULL: there are too many. */
static struct files_process *add_process(struct syscalls_files *f, uint32_t pid)
{
	struct files_process *p = find_process(f, pid);
	const struct files_process *parent;
	size_t at;

	if (p || f->processes.n >= PROCESSES_MOST)
		return p;
	at = f->processes.n;
	*vec_add(&f->processes) = (struct files_process){ .pid = pid };
	/* Looked up only here, since adding a process may have moved the others. */
	parent = parent_of(f, pid);
	p = &f->processes.at[at];
	for (size_t i = 0; parent && i < parent->files.n; i++) {
		const struct files_descriptor *d = &parent->files.at[i];

		*vec_add(&p->files) = (struct files_descriptor){
			d->name ? mem_strdup(d->name) : NULL, d->closes, d->netlink };
	}
	return p;
}

/* NULL: not known. A process beyond the limit (p NULL) has no names either. */
static const char *name_of(const struct files_process *p, uint64_t fd)
{
	return p && fd < p->files.n ? p->files.at[fd].name : NULL;
}

/* Takes the name over; NULL: the descriptor has none from now on. */
static void set_name(struct files_process *p, uint64_t fd, char *name, bool closes)
{
	if (!p || fd >= DESCRIPTORS_MOST) {
		free(name);
		return;
	}
	while (p->files.n <= fd)
		*vec_add(&p->files) = (struct files_descriptor){ 0 };
	free(p->files.at[fd].name);
	p->files.at[fd] = (struct files_descriptor){ name, closes, 0 };
}

/* Changes nothing of a descriptor without a name: without one it does not matter when it goes. */
static void set_closing(struct files_process *p, uint64_t fd, bool closes)
{
	if (p && fd < p->files.n)
		p->files.at[fd].closes = closes;
}

/* The program that is executed does not have them. If it cannot be executed their names are lost,
 * as returns of execve are not always seen. */
static void forget_closing(struct files_process *p)
{
	for (size_t i = 0; p && i < p->files.n; i++)
		if (p->files.at[i].closes)
			set_name(p, i, NULL, false);
}

/* Whether a program gave the name, and the path is the same from the root on. */
static bool is_end_of(const char *name, const char *path)
{
	size_t n = strlen(name), all = strlen(path);

	return n && n < all && path[all - n - 1] == '/' && strcmp(path + all - n, name) == 0;
}

/* Takes the path over. A name that the descriptor has stays if it is the path's end, so that the
 * file has one name in the trace. */
static void take_name(struct files_process *p, uint64_t fd, char *path)
{
	const char *known = name_of(p, fd);

	if (!known || !is_end_of(known, path)) {
		set_name(p, fd, path, false);
		return;
	}
	set_closing(p, fd, false);
	free(path);
}

/* Sets the names of an image's lines. One that is not as brace writes them ends them. */
static void set_names(struct files_process *p, const char *lines)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		char *name;
		unsigned long fd = strtoul(lines, &name, 10);

		if (name == lines || *name != ' ' || name > lines + n)
			return;
		name++;
		take_name(p, fd, mem_strndup(name, (size_t)(lines + n - name)));
		lines += n + (lines[n] == '\n');
	}
}

/* Whether the image's process is this one: a forked child has its parent's image, and the
 * descriptors that the parent had at the fork. */
void syscalls_files_image(struct syscalls_files *f, uint32_t pid, const struct trace_image *image)
{
	struct files_process *p;

	if (!image->files || !*image->files || image->pid != pid)
		return;
	p = add_process(f, pid);
	if (!p || p->image == image->tsc)
		return;
	p->image = image->tsc;
	/* A descriptor that no line names is closed. */
	for (size_t i = 0; i < p->files.n; i++)
		set_closing(p, i, true);
	set_names(p, image->files);
	forget_closing(p);
}

/* --- what calls are about ------------------------------------------------------------------ */

/* Whether the first argument is a descriptor. */
static bool takes_descriptor(const struct syscall_info *call)
{
	static const char *const names[] = { "fd", "ufd", "epfd", "fildes", "oldfd", "dfd", "out_fd",
					     "fd_in", "mqdes", "fanotify_fd", "pidfd" };
	char type[64], name[64];

	if (!*call->arguments)
		return false;
	syscall_argument(call, 0, type, name, sizeof(name));
	if (strchr(type, '*')) /* pipe's are what it gives */
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Names the call's file: by the path that it was given, by its descriptor's name, or by the
 * descriptor's number. */
static void write_name(const struct files_process *p, const struct syscalls_call *c, char *name,
		       size_t n)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	uint32_t fd = (uint32_t)c->args[0];
	const char *known;

	if (c->path) {
		snprintf(name, n, "%s", c->path);
		return;
	}
	if (!call || !takes_descriptor(call) || fd == (uint32_t)AT_FDCWD) {
		snprintf(name, n, "(none)");
		return;
	}
	known = name_of(p, fd);
	if (known)
		snprintf(name, n, "%s", known);
	else
		snprintf(name, n, "fd %d", (int)fd);
}

/* --- what calls change --------------------------------------------------------------------- */

/* The object of a call's new descriptor: a path, the descriptor that is its first argument, or
 * something without a name. */
enum file_source { OF_PATH, OF_DESCRIPTOR, OF_KIND };

struct opening {
	const char *call;
	enum file_source source;
	const char *kind;
	uint8_t flags;            /* 1 + number of the argument that may have O_CLOEXEC; 0: none */
};

/* All these calls have one bit for it. */
_Static_assert(SOCK_CLOEXEC == O_CLOEXEC && EPOLL_CLOEXEC == O_CLOEXEC, "one flag for all calls");

/* Calls that return a descriptor. Those of recvmsg stay without a name. */
static const struct opening openings[] = {
	{ "open", OF_PATH, NULL, 2 },
	{ "openat", OF_PATH, NULL, 3 },
	{ "openat2", OF_PATH, NULL, 0 },
	{ "creat", OF_PATH, NULL, 0 },
	{ "memfd_create", OF_PATH, NULL, 2 },
	{ "mq_open", OF_PATH, NULL, 0 },
	{ "dup", OF_DESCRIPTOR, NULL, 0 },
	{ "dup2", OF_DESCRIPTOR, NULL, 0 },
	{ "dup3", OF_DESCRIPTOR, NULL, 3 },
	{ "fcntl", OF_DESCRIPTOR, NULL, 0 },
	{ "socket", OF_KIND, "socket", 2 },
	{ "accept", OF_KIND, "socket", 0 },
	{ "accept4", OF_KIND, "socket", 4 },
	{ "epoll_create", OF_KIND, "epoll", 0 },
	{ "epoll_create1", OF_KIND, "epoll", 1 },
	{ "eventfd", OF_KIND, "eventfd", 0 },
	{ "eventfd2", OF_KIND, "eventfd", 2 },
	{ "timerfd_create", OF_KIND, "timerfd", 2 },
	{ "signalfd4", OF_KIND, "signalfd", 4 },
	{ "inotify_init1", OF_KIND, "inotify", 1 },
};

/* By name, because numbers differ between machines. */
static bool is_call(const struct syscalls_call *c, const char *name)
{
	const struct syscall_info *call = syscall_by_number(c->nr);

	return call && strcmp(call->name, name) == 0;
}

/* NULL: the call makes no descriptor. */
static const struct opening *opening_of(const struct syscalls_call *c)
{
	const struct syscall_info *call = syscall_by_number(c->nr);

	if (is_call(c, "fcntl") && c->args[1] != F_DUPFD && c->args[1] != F_DUPFD_CLOEXEC)
		return NULL;
	for (size_t i = 0; call && i < sizeof(openings) / sizeof(*openings); i++)
		if (strcmp(openings[i].call, call->name) == 0)
			return &openings[i];
	return NULL;
}

/* Whether the new descriptor is closed when a program is executed. */
static bool opens_closing(const struct opening *o, const struct syscalls_call *c)
{
	if (is_call(c, "fcntl"))
		return c->args[1] == F_DUPFD_CLOEXEC;
	if (is_call(c, "memfd_create"))
		return c->args[1] & MFD_CLOEXEC;
	return is_call(c, "mq_open") || (o->flags && c->args[o->flags - 1] & O_CLOEXEC);
}

/* Protocols beyond a byte are none of the kernel's. */
static uint8_t netlink_of(const struct files_process *p, const struct opening *o,
			  const struct syscalls_call *c)
{
	if (o->source == OF_DESCRIPTOR)
		return p && (uint32_t)c->args[0] < p->files.n
			       ? p->files.at[(uint32_t)c->args[0]].netlink : 0;
	return is_call(c, "socket") && c->args[0] == AF_NETLINK && (uint32_t)c->args[2] < UINT8_MAX
		       ? (uint8_t)(c->args[2] + 1) : 0;
}

/* A copy takes over the name, not the state of being closed: dup() clears it. */
static void open_file(struct files_process *p, const struct opening *o,
		      const struct syscalls_call *c, uint64_t fd)
{
	const char *name = o->source == OF_PATH	      ? c->path
			   : o->source == OF_DESCRIPTOR ? name_of(p, (uint32_t)c->args[0])
							: o->kind;

	const uint8_t netlink = netlink_of(p, o, c);

	/* dup2() of a descriptor onto itself changes nothing. */
	if (o->source == OF_DESCRIPTOR && fd == (uint32_t)c->args[0])
		return;
	set_name(p, fd, name ? mem_strdup(name) : NULL, opens_closing(o, c));
	if (p && fd < p->files.n)
		p->files.at[fd].netlink = netlink;
}

/* Ends at the last descriptor that is known: `last` may be UINT32_MAX. */
static void close_range_of(struct files_process *p, const struct syscalls_call *c)
{
	uint32_t last = (uint32_t)c->args[1];

	for (uint64_t fd = (uint32_t)c->args[0]; p && fd <= last && fd < p->files.n; fd++)
		if (c->args[2] & CLOSE_RANGE_CLOEXEC)
			set_closing(p, fd, true);
		else
			set_name(p, fd, NULL, false);
}

/* A thread's birth is noted, too, where the call does not tell; no process has its number. */
static bool is_birth(const struct syscalls_call *c)
{
	return is_call(c, "fork") || is_call(c, "vfork") || is_call(c, "clone3") ||
	       (is_call(c, "clone") && !(c->args[0] & CLONE_THREAD));
}

const char *syscalls_files_name(struct syscalls_files *f, uint32_t pid, uint32_t fd)
{
	return name_of(add_process(f, pid), fd);
}

unsigned syscalls_files_netlink(struct syscalls_files *f, uint32_t pid, uint32_t fd)
{
	const struct files_process *p = add_process(f, pid);

	return p && fd < p->files.n ? p->files.at[fd].netlink : 0;
}

bool syscalls_files_opens(const struct syscalls_call *c)
{
	return opening_of(c) != NULL;
}

/* Calls that give a pair, and the argument that may have O_CLOEXEC, counted from 1. */
static const struct opening pairs[] = {
	{ "pipe", OF_KIND, "pipe", 0 },
	{ "pipe2", OF_KIND, "pipe", 2 },
	{ "socketpair", OF_KIND, "socket", 2 },
};

void syscalls_files_pair(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c,
			 const int32_t two[2])
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (is_call(c, pairs[i].call))
			for (unsigned k = 0; k < 2; k++)
				set_name(add_process(f, pid), (uint32_t)two[k],
					 mem_strdup(pairs[i].kind), opens_closing(&pairs[i], c));
}

/* The name is written at the begin, since close() forgets it at the return. */
void syscalls_files_begin(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c,
			  char *name, size_t n)
{
	struct files_process *p = add_process(f, pid);

	write_name(p, c, name, n);
	if (is_call(c, "execve") || is_call(c, "execveat"))
		forget_closing(p);
	if (is_birth(c) && f->forking.n < BIRTHS_MOST)
		*vec_add(&f->forking) = pid;
}

void syscalls_files_forget(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c)
{
	if (!is_birth(c))
		return;
	for (size_t i = 0; i < f->forking.n; i++)
		if (f->forking.at[i] == pid) {
			/* The entries have no order: the last one fills the gap. */
			f->forking.at[i] = f->forking.at[--f->forking.n];
			return;
		}
}

void syscalls_files_return(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c,
			   int64_t result)
{
	const struct opening *o = opening_of(c);

	syscalls_files_forget(f, pid, c);
	/* A call that failed has changed no descriptor. */
	if (result < 0)
		return;
	if (is_birth(c))
		f->births[f->n_births++ % BIRTHS_MOST] =
			(struct files_birth){ (uint32_t)result, pid };
	else if (o)
		open_file(add_process(f, pid), o, c, (uint64_t)result);
	else if (is_call(c, "close"))
		set_name(add_process(f, pid), (uint32_t)c->args[0], NULL, false);
	else if (is_call(c, "close_range"))
		close_range_of(add_process(f, pid), c);
	else if (is_call(c, "fcntl") && c->args[1] == F_SETFD)
		set_closing(add_process(f, pid), (uint32_t)c->args[0], c->args[2] & FD_CLOEXEC);
	else if (is_call(c, "ioctl") && (c->args[1] == FIOCLEX || c->args[1] == FIONCLEX))
		set_closing(add_process(f, pid), (uint32_t)c->args[0], c->args[1] == FIOCLEX);
}
