/* SPDX-License-Identifier: MIT */
/* Owns the descriptors of perf events: which events they are, for which threads, with which
 * filters. tracepoints_rings.c reads their rings. Called by source.c, on the thread that takes
 * records. Opening fails by the kernel's rules for perf (perf_rules.h), by filters that it refuses,
 * or by too few descriptors or too little memory. */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/glob.h"
#include "event/filter_compile.h"
#include "kernel/perf_record.h"
#include "kernel/absent.h"
#include "kernel/perf_rules.h"
#include "kernel/tracefs.h"
#include "kernel/tracepoints_internal.h"

/* PERF_FORMAT_LOST, which headers before Linux 6.0 lack. */
#define FORMAT_LOST 16u

/* --- opening ---------------------------------------------------------------------------- */

/* Each event is a group of its own (-1). */
static int open_perf(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_clock(struct kernel_tracepoints *t, struct err *err)
{
	const int e = kernel_perf_clock_open(&t->clock);

	if (e == -EACCES || e == -EPERM)
		return err_set(err, EACCES,
			       "only root may trace the kernel: kernel.perf_event_paranoid is %d; events of system calls (-e k:syscalls:*) take 2, others -1, or CAP_PERFMON",
			       kernel_perf_paranoia());
	return !e ? 0
		  : err_set(err, -e,
			    "only root may trace the kernel, which has no perf events here: %s",
			    strerror(-e));
}

/* A CPU's ring is mapped of the first event that is opened on it (open_event()). */
int kernel_tracepoints_new(struct kernel_tracepoints **out, struct err *err)
{
	struct kernel_tracepoints *t = mem_zalloc(sizeof(*t));
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int e = open_clock(t, err);

	for (long i = 0; i < cpus; i++)
		*vec_add(&t->cpus) = (struct tracepoint_ring){ .fd = -1 };
	t->top = mem_strdup(KERNEL_TRACEFS_DIR);
	if (e) {
		kernel_tracepoints_free(t);
		return e;
	}
	t->counts_lost = true;
	*out = t;
	return 0;
}

/* leads: this event tells names, new threads and switches, too. */
static struct perf_event_attr attr_of(const struct kernel_tracepoints *t,
				      const struct tracepoint *p, bool leads)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(struct perf_event_attr),
		.config = p->id, .sample_period = 1, .sample_type = KERNEL_PERF_SAMPLE,
		.sample_id_all = 1, .read_format = t->counts_lost ? FORMAT_LOST : 0,
		.exclude_kernel = p->user_only, .inherit = !t->all,
		.comm = leads, .task = leads,
		.context_switch = leads && !t->all && t->switches.id,
		.use_clockid = kernel_perf_clock_is_raw(&t->clock),
		.clockid = kernel_perf_clock_is_raw(&t->clock) ? CLOCK_MONOTONIC_RAW : 0,
	};
}

/* For the calling thread, and disabled: what the kernel says to this, it says to all. The kernel
 * makes an event ready as it is opened first, and takes long to undo that. An old kernel knows no
 * counters of losses. */
static int open_test(struct kernel_tracepoints *t, struct tracepoint *p, struct err *err)
{
	for (;;) {
		struct perf_event_attr attr = attr_of(t, p, false);

		attr.disabled = 1;
		attr.inherit = 0;
		p->test = open_perf(&attr, 0, -1);
		if (p->test >= 0)
			return 0;
		if (errno == EINVAL && t->counts_lost)
			t->counts_lost = false;
		else if (errno == EACCES && !p->user_only && !strcmp(p->system, "syscalls"))
			p->user_only = true;
		else
			return kernel_perf_refused(p->system, p->name, false, errno, err);
	}
}

/* --- events ----------------------------------------------------------------------------- */

static void free_tracepoint(struct tracepoint *p)
{
	if (p->test >= 0)
		close(p->test);
	free(p->system);
	free(p->name);
	free(p->format);
	free(p->filter);
}

/* Patterns may overlap: an event is opened once. */
static bool is_known(const struct kernel_tracepoints *t, const char *system, const char *name)
{
	for (size_t i = 0; i < t->at.n; i++)
		if (!strcmp(t->at.at[i].system, system) && !strcmp(t->at.at[i].name, name))
			return true;
	return false;
}

/* By these the other side of a switch is written (put_switch()). */
static void find_switch_fields(struct kernel_tracepoints *t, const struct tracepoint *p)
{
	struct event_format *f;

	if (strcmp(p->system, "sched") || strcmp(p->name, "sched_switch"))
		return;
	f = event_format_parse(p->format, strlen(p->format), p->system, NULL);
	if (!f)
		return;
	t->switches = (struct switch_fields){
		p->id, event_record_bytes(f), kernel_records_offset(f, "prev_comm", 16),
		kernel_records_offset(f, "prev_pid", 4), kernel_records_offset(f, "next_comm", 16),
		kernel_records_offset(f, "next_pid", 4), kernel_records_offset(f, "next_prio", 4),
	};
	event_format_free(f);
}

/* A user who may not read tracefs finds no number, and no format. */
static int add_event(struct kernel_tracepoints *t, const char *system, const char *name,
		     struct err *err)
{
	struct tracepoint p = { .test = -1 };
	char *id_path = mem_printf("events/%s/%s/id", system, name);
	char *format_path = mem_printf("events/%s/%s/format", system, name);
	char *id = kernel_tracefs_read(t->top, id_path);
	int e;

	p.format = kernel_tracefs_read(t->top, format_path);
	p.system = mem_strdup(system);
	p.name = mem_strdup(name);
	p.id = id ? (uint32_t)strtoul(id, NULL, 10) : 0;
	e = p.id && p.format && *p.format ? open_test(t, &p, err)
					  : kernel_perf_no_numbers(t->top, system, err);
	if (e) {
		free_tracepoint(&p);
	} else {
		find_switch_fields(t, &p);
		*vec_add(&t->at) = p;
	}
	free(id);
	free(id_path);
	free(format_path);
	return e;
}

struct matching {
	struct kernel_tracepoints *t;
	const char *system, *event, *either; /* either: a name without a colon */
	size_t found;
	struct err *err;
	int e;
};

/* A name without a colon stands for events and for systems, as in set_event. */
static bool add_matching(void *context, const char *line)
{
	struct matching *m = context;
	const char *colon = strchr(line, ':');
	char *system = colon ? mem_strndup(line, (size_t)(colon - line)) : NULL;

	if (colon && ((glob_match(m->system, system) && glob_match(m->event, colon + 1)) ||
		      (m->either && glob_match(m->either, system)))) {
		m->found++;
		if (!is_known(m->t, system, colon + 1))
			m->e = add_event(m->t, system, colon + 1, m->err);
	}
	free(system);
	return !m->e;
}

/* The kernel's own list: patterns are of its grammar. */
int kernel_tracepoints_add(struct kernel_tracepoints *t, const char *pattern, struct err *err)
{
	const char *colon = strchr(pattern, ':');
	char *system = colon ? mem_strndup(pattern, (size_t)(colon - pattern)) : mem_strdup("*");
	struct matching m = { t, system, colon ? colon + 1 : pattern, colon ? NULL : pattern, 0,
			      err, 0 };
	char *list;

	if (colon && !colon[1])
		m.event = "*";
	t->last = t->at.n;
	list = kernel_tracefs_read(t->top, "available_events");
	if (!list)
		m.e = kernel_perf_no_numbers(t->top, system, err);
	else
		kernel_tracefs_lines(t->top, "available_events", add_matching, &m);
	if (!m.e && !m.found)
		m.e = kernel_absent_event(t->top, pattern, 0, err);
	free(list);
	free(system);
	return m.e;
}

/* The kernel gives perf no sentence. brace's own grammar is the kernel's, and finds the place. */
static int bad_filter(const struct tracepoint *p, const char *text, int code, struct err *err)
{
	struct event_format *f = event_format_parse(p->format, strlen(p->format), p->system, NULL);
	const struct filter_context context = { 0 };
	struct filter_program *program = NULL;
	struct filter_fault fault;
	int e;

	if (f && filter_compile(f, text, strlen(text), &context, &program, &fault) < 0)
		e = err_at(err, EINVAL, text, fault.position,
			   "the kernel refuses this filter of %s:%s: %s", p->system, p->name,
			   filter_fault_sentence(&fault));
	else
		e = err_at(err, code, text, 0, "the kernel refuses this filter of %s:%s: %s",
			   p->system, p->name, strerror(code));
	free(program);
	if (f)
		event_format_free(f);
	return e;
}

int kernel_tracepoints_filter(struct kernel_tracepoints *t, const char *text, struct err *err)
{
	for (size_t i = t->last; i < t->at.n; i++) {
		struct tracepoint *p = &t->at.at[i];

		if (ioctl(p->test, PERF_EVENT_IOC_SET_FILTER, text) < 0)
			return bad_filter(p, text, errno, err);
		free(p->filter);
		p->filter = mem_strdup(text);
		/* A record that is made here would not have passed it. */
		if (p->id == t->switches.id)
			t->switches.id = 0;
	}
	return 0;
}

void kernel_tracepoints_size(struct kernel_tracepoints *t, uint64_t kib)
{
	t->bytes = kib << 10;
}

int kernel_tracepoints_each(const struct kernel_tracepoints *t,
			    int (*each)(void *context, const char *system, const char *format,
					struct err *err),
			    void *context, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < t->at.n && !e; i++)
		e = each(context, t->at.at[i].system, t->at.at[i].format, err);
	return e;
}

/* --- following -------------------------------------------------------------------------- */

/* An event without its filter would record what was not asked for. */
static int set_filter(const struct kernel_tracepoints *t, const struct tracepoint *p, int fd,
		      struct err *err)
{
	char *text = p->filter ? mem_strdup(p->filter) : NULL, *both;
	int e = 0;

	if (t->all) {
		both = text ? mem_printf("(%s) && common_pid != %d", text, (int)getpid())
			    : mem_printf("common_pid != %d", (int)getpid());
		free(text);
		text = both;
	}
	if (text && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text) < 0)
		e = bad_filter(p, text, errno, err);
	free(text);
	return e;
}

/* Returns -errno, with the sentence in *err. */
static int refused(const struct kernel_tracepoints *t, const struct tracepoint *p, struct err *err)
{
	return kernel_perf_refused(p->system, p->name, t->all, errno, err);
}

/* 0, -ESRCH: the thread has ended, or another -errno and *err. */
static int open_event(struct kernel_tracepoints *t, const struct tracepoint *p, pid_t tid,
		      uint16_t cpu, struct err *err)
{
	struct perf_event_attr attr = attr_of(t, p, p == t->at.at);
	struct tracepoint_ring *r = &t->cpus.at[cpu];
	const int fd = open_perf(&attr, tid, cpu);
	int e;

	if (fd < 0 && errno == ENODEV)
		return 0; /* the CPU is off */
	if (fd < 0)
		return errno == ESRCH ? -ESRCH : refused(t, p, err);
	*vec_add(&t->opened) = (struct opened_tracepoint){ fd, cpu };
	e = set_filter(t, p, fd, err);
	if (e)
		return e;
	if (!r->page)
		return kernel_tracepoints_map(t, r, fd, err);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0 ? refused(t, p, err) : 0;
}

/* One event for each CPU: the kernel maps no ring for an inherited event that follows its thread
 * from CPU to CPU. */
static int open_thread(struct kernel_tracepoints *t, pid_t tid, struct err *err)
{
	int e = 0;

	for (size_t cpu = 0; cpu < t->cpus.n && !e; cpu++)
		for (size_t i = 0; i < t->at.n && !e; i++)
			e = open_event(t, &t->at.at[i], tid, (uint16_t)cpu, err);
	return e;
}

/* By number; the numbers of threads that have ended stay. */
static bool is_open(const struct kernel_tracepoints *t, pid_t tid)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i] == tid)
			return true;
	return false;
}

/* The name that the thread has now; later ones come as records (KERNEL_PERF_COMM). */
static int add_thread(struct kernel_tracepoints *t, pid_t pid, pid_t tid, struct err *err)
{
	char *path = mem_printf("%d/task/%d/comm", (int)pid, (int)tid);
	char *name = kernel_tracefs_read("/proc", path);
	int e = open_thread(t, tid, err);

	if (!e && name) {
		name[strcspn(name, "\n")] = '\0';
		kernel_perf_names_note(&t->names, (uint32_t)tid, name);
	}
	if (!e)
		*vec_add(&t->threads) = tid;
	free(name);
	free(path);
	return e;
}

/* Returns the number of threads that were not open yet, or -errno. */
static int add_threads(struct kernel_tracepoints *t, pid_t pid, struct err *err)
{
	char *path = mem_printf("/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	const struct dirent *d;
	int n = 0, e = dir ? 0 : err_set(err, ESRCH, "there is no process %d", (int)pid);

	while (!e && (d = readdir(dir))) {
		const pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

		if (tid <= 0 || is_open(t, tid))
			continue;
		e = add_thread(t, pid, tid, err);
		n += !e;
		e = e == -ESRCH ? 0 : e;
	}
	if (dir)
		closedir(dir);
	free(path);
	return e ? e : n;
}

/* The kernel opens the threads that an opened thread starts; one that was not opened yet may have
 * started others meanwhile: hence until a look finds none. */
int kernel_tracepoints_follow(struct kernel_tracepoints *t, pid_t pid, struct err *err)
{
	int n;

	do
		n = add_threads(t, pid, err);
	while (n > 0);
	return n;
}

/* -1: all tasks; a filter leaves brace out (set_filter()). */
int kernel_tracepoints_follow_all(struct kernel_tracepoints *t, struct err *err)
{
	t->all = true;
	return open_thread(t, -1, err);
}

/* --- the rest --------------------------------------------------------------------------- */

const char *kernel_tracepoints_names(const struct kernel_tracepoints *t)
{
	return kernel_perf_names_fresh(&t->names);
}

bool kernel_tracepoints_name(const void *t, uint32_t tid, char comm[TRACE_COMM])
{
	return kernel_perf_names_find(&((const struct kernel_tracepoints *)t)->names, tid, comm);
}

/* The rings stay: a disabled event's records can still be read. */
void kernel_tracepoints_stop(struct kernel_tracepoints *t)
{
	for (size_t i = 0; i < t->opened.n; i++)
		ioctl(t->opened.at[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void kernel_tracepoints_free(struct kernel_tracepoints *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->cpus.n; i++)
		kernel_tracepoints_unmap(&t->cpus.at[i]);
	for (size_t i = 0; i < t->opened.n; i++)
		close(t->opened.at[i].fd);
	for (size_t i = 0; i < t->at.n; i++)
		free_tracepoint(&t->at.at[i]);
	kernel_perf_clock_close(&t->clock);
	vec_free(&t->cpus);
	vec_free(&t->opened);
	vec_free(&t->at);
	vec_free(&t->threads);
	kernel_perf_names_free(&t->names);
	free(t->top);
	free(t);
}
