/* SPDX-License-Identifier: MIT */
/* Owns the descriptors and mapped rings of perf events. Called by source.c, on the thread that
 * takes records. Pages are made of what the rings give, so that everything behind them is as with
 * tracefs: merging, losses, formats. Stamps are perf's (perf_clock.h). */
#include "kernel/tracepoints.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/glob.h"
#include "event/filter_compile.h"
#include "kernel/perf_clock.h"
#include "kernel/perf_record.h"
#include "kernel/tracefs.h"

#define RING_BYTES (UINT64_C(1) << 20)
#define RECORD_MAX 65536u       /* header.size has 16 bits */
#define TID_MAX (1u << 22)
#define UNKNOWN_PARANOIA (-2)   /* the kernel's own values begin at -1 */
/* PERF_FORMAT_LOST, which headers before Linux 6.0 lack. */
#define FORMAT_LOST 16u

struct tracepoint {
	char *system, *name, *format;
	char *filter;           /* or NULL */
	uint32_t id;
	bool user_only;         /* opened with exclude_kernel */
	int test;               /* opened for the calling thread, disabled: keeps the event ready */
};

struct tracepoint_ring {
	int fd;                 /* that the ring is mapped of */
	struct perf_event_mmap_page *page; /* NULL: no event yet */
	uint64_t bytes;
	struct kernel_made_page made;
	uint64_t told;          /* lost before the next record */
	bool full;              /* at the last reading */
};

struct opened_tracepoint { int fd; uint16_t cpu; };
struct thread_comm { char text[TRACE_COMM]; };

/* Where a record of sched_switch has its fields; 0: there is no such event, or it is filtered. */
struct switch_fields {
	uint32_t id, bytes;
	uint16_t prev_comm, prev_pid, next_comm, next_pid, next_prio;
};

struct kernel_tracepoints {
	char *top;              /* tracefs */
	VEC(struct tracepoint) at;
	size_t last;            /* where the last pattern's begin */
	VEC(struct tracepoint_ring) cpus;
	VEC(struct opened_tracepoint) opened;
	VEC(pid_t) threads;     /* opened */
	bool all;               /* of all tasks */
	bool counts_lost;       /* events have a counter of their losses */
	uint64_t bytes;         /* asked for; 0: not */
	struct kernel_perf_clock clock;
	struct switch_fields switches;
	VEC(uint32_t) by_tid;   /* 1 + index in comms */
	VEC(struct thread_comm) comms;
	VEC(char) fresh;        /* lines of the last reading's names */
	uint8_t record[RECORD_MAX];
};

/* --- what the kernel forbids -------------------------------------------------------------- */

static int read_number(const char *file, int otherwise)
{
	char *text = kernel_tracefs_read("/proc/sys/kernel", file);
	const int value = text && *text ? (int)strtol(text, NULL, 10) : otherwise;

	free(text);
	return value;
}

static int paranoia(void)
{
	return read_number("perf_event_paranoid", UNKNOWN_PARANOIA);
}

static bool is_of_system_calls(const char *system)
{
	return !strcmp(system, "syscalls") || !strcmp(system, "raw_syscalls");
}

/* The least that the kernel's rule has to be for this event. What an event holds is root's, but for
 * system calls; those that have no registers of the program (raw_syscalls) count as the kernel's
 * own work. */
static int rule_for(const char *system, bool all)
{
	if (!is_of_system_calls(system))
		return -1;
	return all ? 0 : !strcmp(system, "syscalls") ? 2 : 1;
}

/* The sentence for a perf_event_open that failed with `code`. */
static int explain(const struct tracepoint *p, bool all, int code, struct err *err)
{
	const int rule = rule_for(p->system, all);

	if (code == EMFILE || code == ENFILE)
		return err_set(err, code,
			       "perf takes a descriptor for each event, thread and CPU, and there are no more: fewer events (-e), or a higher ulimit -n");
	if ((code == EACCES || code == EPERM) && paranoia() > rule)
		return err_set(err, code,
			       "only root may trace the kernel's %s:%s%s: kernel.perf_event_paranoid is %d, and it takes %d, or CAP_PERFMON",
			       p->system, p->name, all ? " of all tasks" : "", paranoia(), rule);
	return err_set(err, code, "perf cannot open the kernel's %s:%s: %s", p->system, p->name,
		       strerror(code));
}

/* Both rules at once, so that the user meets no second one behind the first. */
static int no_numbers(const char *top, const char *system, struct err *err)
{
	const int rule = rule_for(system, false);
	char also[96] = "";

	if (paranoia() > rule)
		snprintf(also, sizeof(also),
			 "; and kernel.perf_event_paranoid, which is %d, has to be %d", paranoia(),
			 rule);
	return err_set(err, EACCES,
		       "only root may trace the kernel: perf wants the numbers of its events, and %s/events is not this user's to read: sudo mount -o remount,gid=GROUP,mode=750 %s lets a group%s",
		       top, top, also);
}

static int open_perf(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* --- opening ------------------------------------------------------------------------------ */

static int open_clock(struct kernel_tracepoints *t, struct err *err)
{
	const int e = kernel_perf_clock_open(&t->clock);

	if (e == -EACCES || e == -EPERM)
		return err_set(err, EACCES,
			       "only root may trace the kernel: kernel.perf_event_paranoid is %d; events of system calls (-e k:syscalls:*) take 2, others -1, or CAP_PERFMON",
			       paranoia());
	return !e ? 0
		  : err_set(err, -e,
			    "only root may trace the kernel, which has no perf events here: %s",
			    strerror(-e));
}

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
			return explain(p, false, errno, err);
	}
}

/* --- events ------------------------------------------------------------------------------- */

static void free_tracepoint(struct tracepoint *p)
{
	if (p->test >= 0)
		close(p->test);
	free(p->system);
	free(p->name);
	free(p->format);
	free(p->filter);
}

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
					  : no_numbers(t->top, system, err);
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
		m.e = no_numbers(t->top, system, err);
	else
		kernel_tracefs_lines(t->top, "available_events", add_matching, &m);
	if (!m.e && !m.found)
		m.e = err_at(err, EINVAL, pattern, 0,
			     "the kernel has no such event; %s/available_events lists them", t->top);
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

/* --- rings -------------------------------------------------------------------------------- */

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The size of a CPU's ring to begin with: a power of two. An ordinary user may lock
 * perf_event_mlock_kb for each CPU; half of it is left to the session's own rings
 * (collect/perf_rings.c). */
static uint64_t first_size(const struct kernel_tracepoints *t)
{
	uint64_t most = t->bytes ? t->bytes : RING_BYTES, size = page_bytes();

	if (!t->bytes && paranoia() > -1 && geteuid() != 0)
		most = (uint64_t)read_number("perf_event_mlock_kb", 516) << 9;
	while (2 * size <= most && 2 * size <= UINT32_MAX / 2)
		size *= 2;
	return size;
}

/* A ring whose size was asked for is not made smaller in silence. */
static int map_ring(const struct kernel_tracepoints *t, struct tracepoint_ring *r, int fd,
		    struct err *err)
{
	uint64_t size = first_size(t);
	void *at;

	do {
		at = mmap(NULL, page_bytes() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED) {
			r->page = at;
			r->bytes = size;
			r->fd = fd;
			return 0;
		}
		size /= 2;
	} while (!t->bytes && size >= page_bytes());
	return err_set(err, errno,
		       "no memory may be locked for perf's rings (kernel.perf_event_mlock_kb is %d for each CPU, ulimit -l): %s%s",
		       read_number("perf_event_mlock_kb", 516), strerror(errno),
		       t->bytes ? "; a smaller -b" : "");
}

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
		return errno == ESRCH ? -ESRCH : explain(p, t->all, errno, err);
	*vec_add(&t->opened) = (struct opened_tracepoint){ fd, cpu };
	e = set_filter(t, p, fd, err);
	if (e)
		return e;
	if (!r->page)
		return map_ring(t, r, fd, err);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0 ? explain(p, t->all, errno, err) : 0;
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

/* --- names -------------------------------------------------------------------------------- */

static uint32_t *place_of(struct kernel_tracepoints *t, uint32_t tid)
{
	tid = tid < TID_MAX ? tid : TID_MAX;
	while (t->by_tid.n <= tid)
		*vec_add(&t->by_tid) = 0;
	return &t->by_tid.at[tid];
}

bool kernel_tracepoints_name(const void *tracepoints, uint32_t tid, char comm[TRACE_COMM])
{
	const struct kernel_tracepoints *t = tracepoints;

	if (tid >= t->by_tid.n || !t->by_tid.at[tid])
		return false;
	memcpy(comm, t->comms.at[t->by_tid.at[tid] - 1].text, TRACE_COMM);
	return true;
}

static void note_name(struct kernel_tracepoints *t, uint32_t tid, const char *name)
{
	uint32_t *place = place_of(t, tid);
	char line[16 + TRACE_COMM];
	const int n = snprintf(line, sizeof(line), "%u %.15s\n", tid, name);

	if (!*place) {
		vec_add(&t->comms);
		*place = (uint32_t)t->comms.n;
	}
	snprintf(t->comms.at[*place - 1].text, TRACE_COMM, "%.15s", name);
	vec_reserve(&t->fresh, t->fresh.n + (size_t)n + 1);
	memcpy(t->fresh.at + t->fresh.n, line, (size_t)n + 1);
	t->fresh.n += (size_t)n;
}

const char *kernel_tracepoints_names(const struct kernel_tracepoints *t)
{
	return t->fresh.n ? t->fresh.at : "";
}

/* --- following ---------------------------------------------------------------------------- */

static bool is_open(const struct kernel_tracepoints *t, pid_t tid)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.at[i] == tid)
			return true;
	return false;
}

static int add_thread(struct kernel_tracepoints *t, pid_t pid, pid_t tid, struct err *err)
{
	char *path = mem_printf("%d/task/%d/comm", (int)pid, (int)tid);
	char *name = kernel_tracefs_read("/proc", path);
	int e = open_thread(t, tid, err);

	if (!e && name) {
		name[strcspn(name, "\n")] = '\0';
		note_name(t, (uint32_t)tid, name);
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

/* What an opened thread starts is opened by the kernel; a thread that was not yet may have started
 * others meanwhile: hence until a look finds none. */
int kernel_tracepoints_follow(struct kernel_tracepoints *t, pid_t pid, struct err *err)
{
	int n;

	do
		n = add_threads(t, pid, err);
	while (n > 0);
	return n;
}

int kernel_tracepoints_follow_all(struct kernel_tracepoints *t, struct err *err)
{
	t->all = true;
	return open_thread(t, -1, err);
}

/* --- reading ------------------------------------------------------------------------------ */

/* Copies n bytes from the ring, which may wrap. */
static void copy_out(const struct tracepoint_ring *r, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)r->page + page_bytes();
	size_t first = (size_t)(r->bytes - at % r->bytes);

	first = first < n ? first : n;
	memcpy(to, data + at % r->bytes, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

static size_t end_page(struct tracepoint_ring *r, uint16_t cpu, struct kernel_rings *rings)
{
	if (!r->made.bytes.n && !r->told)
		return 0;
	kernel_made_end(&r->made, r->told);
	kernel_rings_add(rings, cpu, r->made.bytes.at, r->made.bytes.n, 0);
	r->made.bytes.n = 0;
	r->told = 0;
	return 1;
}

/* A task's own events end with its switch to another task, and the switch back is the other task's
 * event, which an ordinary user does not have. perf tells that the thread runs again, and nothing
 * of who ran before: that side stays unknown. */
static void put_switch(struct kernel_tracepoints *t, struct tracepoint_ring *r,
		       const struct kernel_perf_record *p)
{
	const struct switch_fields *s = &t->switches;
	uint8_t record[256] = { 0 };
	const uint16_t id = (uint16_t)s->id;
	const int32_t nobody = -1, normal = 120;
	char comm[TRACE_COMM] = KERNEL_NAMELESS;

	if (!s->id || s->bytes > sizeof(record) || !s->prev_pid || !s->next_pid ||
	    !s->prev_comm || !s->next_comm || !s->next_prio)
		return;
	kernel_tracepoints_name(t, p->tid, comm);
	memcpy(record, &id, sizeof(id));
	memcpy(record + 4, &p->tid, 4);
	memcpy(record + s->prev_comm, KERNEL_NAMELESS, sizeof(KERNEL_NAMELESS));
	memcpy(record + s->prev_pid, &nobody, 4);
	memcpy(record + s->next_comm, comm, sizeof(comm));
	memcpy(record + s->next_pid, &p->tid, 4);
	memcpy(record + s->next_prio, &normal, 4);
	kernel_made_add(&r->made, kernel_perf_clock_tsc(&t->clock, p->time), record,
			(s->bytes + 3) & ~3u);
}

/* A loss lies before the next record, and a page tells it at its beginning. Returns how many pages
 * were ended. */
static size_t take(struct kernel_tracepoints *t, uint16_t cpu, const struct kernel_perf_record *p,
		   struct kernel_rings *rings)
{
	struct tracepoint_ring *r = &t->cpus.at[cpu];
	char comm[TRACE_COMM];
	size_t pages = 0;

	if (p->kind == KERNEL_PERF_SAMPLE_OF)
		kernel_made_add(&r->made, kernel_perf_clock_tsc(&t->clock, p->time), p->data,
				p->n & ~3u);
	else if (p->kind == KERNEL_PERF_RUNS)
		put_switch(t, r, p);
	else if (p->kind == KERNEL_PERF_COMM)
		note_name(t, p->tid, p->comm);
	else if (p->kind == KERNEL_PERF_FORK && kernel_tracepoints_name(t, p->parent, comm))
		note_name(t, p->tid, comm);
	if (p->kind == KERNEL_PERF_LOST && r->made.bytes.n)
		pages = end_page(r, cpu, rings);
	r->told += p->lost;
	if (r->made.bytes.n >= KERNEL_MADE_FULL)
		pages += end_page(r, cpu, rings);
	return pages;
}

static size_t read_ring(struct kernel_tracepoints *t, uint16_t cpu, struct kernel_rings *rings)
{
	struct tracepoint_ring *r = &t->cpus.at[cpu];
	/* data_head pairs with the kernel's release after it has written records; only we write
	 * data_tail. */
	const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;
	struct kernel_perf_record p;
	struct perf_event_header h;
	size_t pages = 0;

	r->full = head - tail > r->bytes - page_bytes() / 4;
	while (tail < head) {
		copy_out(r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		copy_out(r, tail, t->record, h.size);
		tail += h.size;
		if (kernel_perf_record_read(t->record, h.size, &p))
			pages += take(t, cpu, &p, rings);
	}
	/* The kernel overwrites only before data_tail: pairs with its reading of data_tail. */
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return pages + end_page(r, cpu, rings);
}

/* The clocks are read before the rings: records are no later than that, or by little. */
size_t kernel_tracepoints_read(struct kernel_tracepoints *t, struct kernel_rings *rings)
{
	size_t pages = 0;

	t->fresh.n = 0;
	kernel_perf_clock_read(&t->clock);
	for (size_t cpu = 0; cpu < t->cpus.n; cpu++)
		if (t->cpus.at[cpu].page)
			pages += read_ring(t, (uint16_t)cpu, rings);
	return pages;
}

void kernel_tracepoints_stop(struct kernel_tracepoints *t)
{
	for (size_t i = 0; i < t->opened.n; i++)
		ioctl(t->opened.at[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* A loss at the end has no record behind it that tells of it. Where events do not count, a ring
 * that was full at the last reading counts as one loss. */
uint64_t kernel_tracepoints_lost(const struct kernel_tracepoints *t, uint16_t cpu, uint64_t seen)
{
	uint64_t counted = 0, values[2];

	for (size_t i = 0; i < t->opened.n && t->counts_lost; i++)
		if (t->opened.at[i].cpu == cpu &&
		    read(t->opened.at[i].fd, values, sizeof(values)) == sizeof(values))
			counted += values[1];
	if (!t->counts_lost && cpu < t->cpus.n && t->cpus.at[cpu].full)
		counted = seen + 1;
	return counted > seen ? counted : seen;
}

void kernel_tracepoints_free(struct kernel_tracepoints *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->cpus.n; i++) {
		if (t->cpus.at[i].page)
			munmap(t->cpus.at[i].page, page_bytes() + t->cpus.at[i].bytes);
		vec_free(&t->cpus.at[i].made.bytes);
	}
	for (size_t i = 0; i < t->opened.n; i++)
		close(t->opened.at[i].fd);
	for (size_t i = 0; i < t->at.n; i++)
		free_tracepoint(&t->at.at[i]);
	kernel_perf_clock_close(&t->clock);
	vec_free(&t->cpus);
	vec_free(&t->opened);
	vec_free(&t->at);
	vec_free(&t->threads);
	vec_free(&t->by_tid);
	vec_free(&t->comms);
	vec_free(&t->fresh);
	free(t->top);
	free(t);
}
