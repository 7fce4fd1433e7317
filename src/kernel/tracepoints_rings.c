/* SPDX-License-Identifier: MIT */
/* Owns the mapped rings of perf events, a ring a CPU, and makes pages of what they give. Called by
 * tracepoints.c as it opens events, and by source.c for each reading, on the thread that takes
 * records. Mapping fails where the user may lock no more memory; reading fails never: a record that
 * does not fit ends the reading of its ring. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/perf_record.h"
#include "kernel/perf_rules.h"
#include "kernel/tracepoints_internal.h"

#define RING_BYTES (UINT64_C(1) << 20)

/* --- mapping ------------------------------------------------------------------------------ */

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

	if (!t->bytes && kernel_perf_paranoia() > -1 && geteuid() != 0)
		most = (uint64_t)kernel_perf_lockable() << 9;
	while (2 * size <= most && 2 * size <= UINT32_MAX / 2)
		size *= 2;
	return size;
}

/* A ring whose size was asked for is not made smaller in silence. */
int kernel_tracepoints_map(const struct kernel_tracepoints *t, struct tracepoint_ring *r, int fd,
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
		       kernel_perf_lockable(), strerror(errno),
		       t->bytes ? "; a smaller -b" : "");
}

void kernel_tracepoints_unmap(struct tracepoint_ring *r)
{
	if (r->page)
		munmap(r->page, page_bytes() + r->bytes);
	vec_free(&r->made.bytes);
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
	kernel_perf_names_find(&t->names, p->tid, comm);
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
static size_t take_perf_record(struct kernel_tracepoints *t, uint16_t cpu,
			       const struct kernel_perf_record *p, struct kernel_rings *rings)
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
		kernel_perf_names_note(&t->names, p->tid, p->comm);
	else if (p->kind == KERNEL_PERF_FORK && kernel_perf_names_find(&t->names, p->parent, comm))
		kernel_perf_names_note(&t->names, p->tid, comm);
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
			pages += take_perf_record(t, cpu, &p, rings);
	}
	/* The kernel overwrites only before data_tail: pairs with its reading of data_tail. */
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return pages + end_page(r, cpu, rings);
}

/* The clocks are read before the rings: records are no later than that, or by little. */
size_t kernel_tracepoints_read(struct kernel_tracepoints *t, struct kernel_rings *rings)
{
	size_t pages = 0;

	t->names.fresh.n = 0;
	kernel_perf_clock_read(&t->clock);
	for (size_t cpu = 0; cpu < t->cpus.n; cpu++)
		if (t->cpus.at[cpu].page)
			pages += read_ring(t, (uint16_t)cpu, rings);
	return pages;
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
