/* SPDX-License-Identifier: MIT */
/* Owns the descriptors and mapped rings of perf events. Called only by switches.c, with its lock
 * held, on any thread. An event that cannot be opened is an error with the rule that forbids it; a
 * thread that ended meanwhile and a CPU that is off are none. */
#include "collect/perf_rings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/kernel_code.h"
#include "base/cursor.h"
#include "base/vec.h"

/* Powers of two. The larger a ring is, the longer brace may wait for its turn until records are
 * lost. With the page before it 512 KiB are what an ordinary user may lock for each CPU, in all
 * processes (kernel.perf_event_mlock_kb); if another has some of it, less may do. */
#define RING_BYTES_OF_ROOT (UINT64_C(1) << 20)
#define RING_BYTES_MOST (UINT64_C(512) << 10)
#define RING_BYTES_LEAST (UINT64_C(256) << 10)
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define NEEDY "sched:sched_switch, exceptions:page_fault_user and the option nosleep-time"

/* The ring of one CPU: mapped from its first event; all other events of the CPU are redirected
 * there. */
struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: no event yet */
	uint64_t bytes;            /* behind that page */
	bool full;                 /* at the last reading: the next record would tell of losses */
};

struct perf_rings {
	unsigned what;
	int signal_id;             /* of the tracepoint */
	VEC(struct cpu_ring) cpus;
	VEC(int) fds;
	VEC(pid_t) threads;        /* opened */
};

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- the tracepoint --------------------------------------------------------------------------- */

/* Opens a private, unmounted tracefs: /sys/kernel/tracing may be brace's own (`brace shell`). */
static int open_tracefs(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), fd;

	if (context < 0)
		return -1;
	fd = syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0
		     ? (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0) : -1;
	close(context);
	return fd;
}

/* The id of signal:signal_deliver, or -1 if it cannot be read: only root may. */
static int signal_id(void)
{
	int tracefs = open_tracefs(), id = -1;
	int fd = tracefs < 0
			 ? -1
			 : openat(tracefs, "events/signal/signal_deliver/id", O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		id = atoi(text);
	if (fd >= 0)
		close(fd);
	if (tracefs >= 0)
		close(tracefs);
	return id;
}

struct perf_rings *perf_rings_new(unsigned what)
{
	struct perf_rings *p = mem_zalloc(sizeof(*p));
	long n = sysconf(_SC_NPROCESSORS_CONF);

	p->what = what;
	p->signal_id = what & PERF_SIGNALS ? signal_id() : -1;
	for (long i = 0; i < n; i++)
		*vec_add(&p->cpus) = (struct cpu_ring){ .fd = -1 };
	return p;
}

void perf_rings_free(struct perf_rings *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->cpus.n; i++)
		if (p->cpus.at[i].page)
			munmap(p->cpus.at[i].page, page_bytes() + p->cpus.at[i].bytes);
	for (size_t i = 0; i < p->fds.n; i++)
		close(p->fds.at[i]);
	vec_free(&p->cpus);
	vec_free(&p->fds);
	vec_free(&p->threads);
	free(p);
}

/* --- opening -------------------------------------------------------------------------------- */

/* Returns as perf_event_open does. cpu -1: on any CPU, without inheritance. */
static int open_signals(pid_t tid, int cpu, int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)id,
		.sample_period = 1,
		/* The kernel refuses a ring for inherited events of all CPUs (cpu < 0). */
		.sample_type =
			PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
		.inherit = cpu >= 0,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};

	if (id < 0) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Returns as perf_event_open does: a record for each fault. */
static int open_faults(pid_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU,
		.sample_id_all = 1, .inherit = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Returns as perf_event_open does. A dummy event: only its side-band records are wanted. */
static int open_event(pid_t tid, int cpu, bool switches, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.context_switch = switches, .task = 1, .comm = 1, .comm_exec = 1, .inherit = 1,
		.exclude_kernel = !kernel, .exclude_hv = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* -2: not known; the kernel's own values begin at -1. */
static int read_paranoia(void)
{
	FILE *f = fopen(PARANOID, "re");
	int value = -2;

	if (f && fscanf(f, "%d", &value) != 1)
		value = -2;
	if (f)
		fclose(f);
	return value;
}

/* The sentence for a failed perf_event_open, by its errno and the kernel's settings. */
static int explain_refusal(int code, struct err *err)
{
	if (code == ENOENT || code == ENOSYS)
		return err_set(err, code,
			       "this kernel has no perf events, which " NEEDY
			       ", and signal:signal_deliver, are made from");
	if (read_paranoia() > 2)
		return err_set(err, code,
			       "kernel.perf_event_paranoid is %d: " NEEDY
			       " need 2 or less, or CAP_PERFMON",
			       read_paranoia());
	if (code == EPERM || code == EACCES)
		return err_set(err, code,
			       "perf_event_open, which " NEEDY
			       " need, is forbidden here: by a seccomp filter (a "
			       "container's), or because the process is another user's");
	return err_set(err, code, "perf_event_open, which " NEEDY " need: %s", strerror(code));
}

/* The tracepoint itself is not opened for the test: the kernel takes 40 ms to close it again. */
int perf_rings_allowed(unsigned what, struct err *err)
{
	int fd = open_event(0, -1, what & PERF_SWITCHES, what == PERF_SIGNALS);

	if (fd >= 0 && what == PERF_SIGNALS && signal_id() < 0) {
		close(fd);
		fd = -1;
		errno = EACCES;
	}
	if (fd < 0 && what == PERF_SIGNALS)
		return err_set(
			err, errno,
			"the kernel's own tracepoint of signals that are delivered is root's");
	if (fd < 0)
		return explain_refusal(errno, err);
	close(fd);
	return 0;
}

/* Maps a ring of the event, as large as it can be had. MAP_FAILED and errno: there is none. */
static void *map_ring(int fd, uint64_t *bytes)
{
	void *at;

	*bytes = geteuid() == 0 ? RING_BYTES_OF_ROOT : RING_BYTES_MOST;
	for (;;) {
		at = mmap(NULL, page_bytes() + *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED || *bytes == RING_BYTES_LEAST)
			return at;
		*bytes /= 2;
	}
}

/* Maps the ring of a CPU's first event; leads later events of the CPU there. */
static int lead_to_ring(struct cpu_ring *r, int fd, struct err *err)
{
	void *at;

	if (r->page)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) == 0
			       ? 0
			       : explain_refusal(errno, err);
	at = map_ring(fd, &r->bytes);
	if (at == MAP_FAILED)
		return err_set(err, errno,
			       "no memory may be locked for what " NEEDY
			       " need (kernel.perf_event_mlock_kb, "
			       "ulimit -l): %s",
			       strerror(errno));
	r->page = at;
	r->fd = fd;
	return 0;
}

static bool is_open(const struct perf_rings *p, pid_t tid)
{
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i] == tid)
			return true;
	return false;
}

/* fd: as perf_event_open gave it, with its errno. -ESRCH: the thread has ended. */
static int take_event(struct perf_rings *p, size_t cpu, int fd, struct err *err)
{
	if (fd < 0 && errno == ENODEV)
		return 0; /* the CPU is off */
	if (fd < 0)
		return errno == ESRCH ? -ESRCH : explain_refusal(errno, err);
	*vec_add(&p->fds) = fd;
	return lead_to_ring(&p->cpus.at[cpu], fd, err);
}

/* One event for each CPU: the kernel maps no ring for an inherited event that follows its thread
 * from CPU to CPU. */
static int open_thread(struct perf_rings *p, pid_t tid, struct err *err)
{
	for (size_t cpu = 0; cpu < p->cpus.n; cpu++) {
		int r = take_event(p, cpu,
				   open_event(tid, (int)cpu, p->what & PERF_SWITCHES, false), err);

		if (r == 0 && p->what & PERF_SIGNALS)
			r = take_event(p, cpu, open_signals(tid, (int)cpu, p->signal_id), err);
		if (r == 0 && p->what & PERF_FAULTS)
			r = take_event(p, cpu, open_faults(tid, (int)cpu), err);
		if (r < 0)
			return r;
	}
	*vec_add(&p->threads) = tid;
	return 0;
}

/* Returns the number of threads that were not open yet, or -errno. */
static int open_threads(struct perf_rings *p, pid_t pid, struct err *err)
{
	char name[64];
	struct dirent *e;
	DIR *d;
	int n = 0, r = 0;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	d = opendir(name);
	while (d && r == 0 && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || is_open(p, tid))
			continue;
		r = open_thread(p, tid, err);
		n += r == 0;
		if (r == -ESRCH)
			r = 0;
	}
	if (!d)
		return err_set(err, ESRCH, "process %d is gone", (int)pid);
	closedir(d);
	return r < 0 ? r : n;
}

/* A thread that was not open yet may have made others meanwhile, which are not followed: hence
 * until a look finds none. */
int perf_rings_cover(struct perf_rings *p, pid_t pid, struct err *err)
{
	int r;

	do
		r = open_threads(p, pid, err);
	while (r > 0);
	return r;
}

/* --- reading -------------------------------------------------------------------------------- */

#define RECORD_USUAL 64u /* no record but a signal's is longer */
/* header.size has 16 bits. */
#define RECORD_MAX 65536u

/* sample_id_all puts pid, tid, time and cpu behind every record. */
#define ID_BYTES 24u

/* A sample: pid, tid, time, cpu, then the tracepoint's record with its size. */
static bool read_signal(struct cursor c, struct perf_notice *n)
{
	uint32_t bytes;

	*n = (struct perf_notice){ .kind = PERF_SIGNAL };
	n->pid = cursor_u32(&c);
	n->tid = cursor_u32(&c);
	n->ns = cursor_u64(&c);
	n->cpu = (uint16_t)cursor_u32(&c);
	cursor_bytes(&c, 4);
	bytes = cursor_u32(&c);
	if (bytes < 8 + sizeof(n->signal) || bytes > cursor_left(&c))
		return false;
	/* The tracepoint's common fields (type, flags, pid): 8 bytes. */
	cursor_bytes(&c, 8);
	memcpy(&n->signal, cursor_bytes(&c, sizeof(n->signal)), sizeof(n->signal));
	n->signal.pad = 0;
	return true;
}

/* The size of a fault's sample, with its header; a signal's is larger. */
#define FAULT_BYTES 48u

/* A sample: address of the instruction, pid, tid, time, the address at fault, cpu. Of the error
 * code perf tells no other bit. */
static bool read_fault(struct cursor c, struct perf_notice *n)
{
	*n = (struct perf_notice){ .kind = PERF_FAULT, .fault.error_code = KERNEL_CODE_FAULT_USER };
	n->fault.ip = cursor_u64(&c);
	n->pid = cursor_u32(&c);
	n->tid = cursor_u32(&c);
	n->ns = cursor_u64(&c);
	n->fault.address = cursor_u64(&c);
	n->cpu = (uint16_t)cursor_u32(&c);
	return true;
}

/* False: not a notice. */
static bool read_record(const struct perf_event_header *h, struct cursor c, struct perf_notice *n)
{
	struct cursor id = c;
	uint64_t size = h->size - sizeof(*h);

	if (h->type == PERF_RECORD_SAMPLE)
		return h->size == FAULT_BYTES ? read_fault(c, n) : read_signal(c, n);
	if (size < ID_BYTES)
		return false;
	*n = (struct perf_notice){ 0 };
	cursor_bytes(&id, size - ID_BYTES);
	n->pid = cursor_u32(&id);
	n->tid = cursor_u32(&id);
	n->ns = cursor_u64(&id);
	n->cpu = (uint16_t)cursor_u32(&id);
	switch (h->type) {
	case PERF_RECORD_LOST:
		n->kind = PERF_LOST;
		return true;
	case PERF_RECORD_SWITCH:
		/* SWITCH_OUT_PREEMPT exists since Linux 4.17; before, a preempted thread counts as
		 * waiting. */
		n->kind = !(h->misc & PERF_RECORD_MISC_SWITCH_OUT)	  ? PERF_RUNS
			  : h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? PERF_PREEMPTED
									  : PERF_WAITS;
		return true;
	case PERF_RECORD_COMM:
		n->kind = PERF_NAMED;
		n->executed = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		n->pid = cursor_u32(&c);
		n->tid = cursor_u32(&c);
		for (size_t i = 0; i + 1 < sizeof(n->comm) && i < size - 8 - ID_BYTES; i++)
			n->comm[i] = (char)cursor_u8(&c);
		return true;
	case PERF_RECORD_EXIT:
		n->kind = PERF_ENDED;
		n->pid = cursor_u32(&c);
		cursor_bytes(&c, 4);
		n->tid = cursor_u32(&c);
		return true;
	case PERF_RECORD_FORK:
		n->kind = PERF_MADE;
		n->pid = cursor_u32(&c);
		cursor_bytes(&c, 4);
		n->tid = cursor_u32(&c);
		n->parent = cursor_u32(&c);
		return true;
	default:
		return false;
	}
}

/* Copies n bytes from the ring, which may wrap. */
static void copy_out(const struct cpu_ring *r, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)r->page + page_bytes();
	uint64_t first = r->bytes - at % r->bytes;

	if (first > n)
		first = n;
	memcpy(to, data + at % r->bytes, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

/* PERF_RECORD_LOST: an id, then the number. */
static uint64_t read_lost(struct cursor c)
{
	cursor_bytes(&c, 8);
	return cursor_u64(&c);
}

/* Gives f the notices in a ring, and frees their room. Returns how many records were lost. */
static uint64_t read_ring(struct cpu_ring *r, void (*f)(void *context, const struct perf_notice *n),
			  void *context)
{
	/* data_head pairs with the kernel's release after it has written records; only we write
	 * data_tail. */
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE),
		 tail = r->page->data_tail, lost = 0;
	static _Thread_local uint8_t bytes[RECORD_MAX];

	/* A ring that was full and has no new record is still taken as full: no loss has been
	 * told. */
	r->full = (r->full && head == tail) || head - tail > r->bytes - RECORD_USUAL;
	while (tail < head) {
		struct perf_event_header h;
		struct perf_notice n;
		struct cursor c;

		copy_out(r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		copy_out(r, tail, bytes, h.size);
		tail += h.size;
		c = cursor_of(bytes + sizeof(h), h.size - sizeof(h));
		if (h.type == PERF_RECORD_LOST)
			lost += read_lost(c);
		if (read_record(&h, c, &n))
			f(context, &n);
	}
	/* The kernel overwrites only before data_tail: pairs with its reading of data_tail. */
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return lost;
}

uint64_t perf_rings_read(struct perf_rings *p,
			 void (*f)(void *context, const struct perf_notice *n), void *context)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < p->cpus.n; i++)
		if (p->cpus.at[i].page)
			lost += read_ring(&p->cpus.at[i], f, context);
	return lost;
}

uint64_t perf_rings_full(const struct perf_rings *p)
{
	uint64_t full = 0;

	for (size_t i = 0; i < p->cpus.n; i++)
		full += p->cpus.at[i].full;
	return full;
}
