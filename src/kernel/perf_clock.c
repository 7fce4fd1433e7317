/* SPDX-License-Identifier: MIT */
/* Owns a perf event and its page. Called by tracepoints.c and tracepoints_rings.c, on the session's
 * thread. Where the page tells nothing, the clock is taken from pairs of readings. */
#include "kernel/perf_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/clock.h"

/* The kernel changes the page while it counts `lock` up. An event's clock is chosen as it is
 * opened, so that a page which tells nothing later changes nothing. */
static void read_page(struct kernel_perf_clock *c)
{
	const volatile struct perf_event_mmap_page *p = c->page;
	uint32_t seq;

	/* The acquires keep the reads of the fields between those of `lock`; they pair with the
	 * kernel's writes of it, before and behind its own. */
	do {
		seq = p->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (p->cap_user_time && p->cap_user_time_zero && p->time_mult) {
			c->zero = p->time_zero;
			c->mult = p->time_mult;
			c->shift = p->time_shift;
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (p->lock != seq || seq & 1);
}

static void read_pair(struct kernel_perf_clock *c)
{
	c->tsc[0] = c->tsc[1];
	c->ns[0] = c->ns[1];
	clock_instant(&c->tsc[1], &c->ns[1]);
}

int kernel_perf_clock_open(struct kernel_perf_clock *c)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	void *page;

	*c = (struct kernel_perf_clock){ 0 };
	c->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, c->fd, 0);
	c->page = page == MAP_FAILED ? NULL : page;
	if (c->page)
		read_page(c);
	read_pair(c);
	return 0;
}

bool kernel_perf_clock_is_raw(const struct kernel_perf_clock *c)
{
	return !c->mult;
}

void kernel_perf_clock_read(struct kernel_perf_clock *c)
{
	if (c->mult)
		read_page(c);
	else
		read_pair(c);
}

/* Records lie between the two readings, but for few. */
uint64_t kernel_perf_clock_tsc(const struct kernel_perf_clock *c, uint64_t stamp)
{
	double rate;

	if (c->mult)
		return (uint64_t)(((unsigned __int128)(stamp - c->zero) << c->shift) / c->mult);
	if (c->ns[1] == c->ns[0])
		return c->tsc[1];
	rate = (double)(c->tsc[1] - c->tsc[0]) / (double)(c->ns[1] - c->ns[0]);
	return c->tsc[1] + (uint64_t)(int64_t)((double)(int64_t)(stamp - c->ns[1]) * rate);
}

void kernel_perf_clock_close(struct kernel_perf_clock *c)
{
	if (c->page)
		munmap(c->page, (size_t)sysconf(_SC_PAGESIZE));
	if (c->fd >= 0)
		close(c->fd);
	c->page = NULL;
	c->fd = -1;
}
