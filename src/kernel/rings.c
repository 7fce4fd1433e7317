/* SPDX-License-Identifier: MIT */
/* Pages wait in memory until their records' turn comes: rings are read one after the other while
 * threads move between CPUs, so that what is later than the beginning of a pass is held back. */
#include "kernel/rings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_MAX_BYTES 65536u /* the greatest size of a sub-buffer */

struct held_page { uint8_t *bytes; size_t n; };

struct kernel_ring {
	int fd;                 /* -1: none */
	VEC(struct held_page) pages; /* from `at` on not read through */
	size_t at;
	bool begun;             /* `page` reads pages.at[at] */
	bool ready;             /* `next` is a record */
	struct kernel_page page;
	struct kernel_page_record next;
	uint64_t told;          /* records missing before `next`, to be told first */
	uint64_t lost;
};

struct kernel_rings {
	struct kernel_records *records;
	VEC(struct kernel_ring) at;    /* by CPU */
	uint8_t buffer[PAGE_MAX_BYTES];
};

struct kernel_rings *kernel_rings_empty(struct kernel_records *records)
{
	struct kernel_rings *r = mem_zalloc(sizeof(*r));

	r->records = records;
	return r;
}

/* CPUs may have gaps in their numbers, where others are offline: these get a ring without a
 * descriptor. */
static struct kernel_ring *ring_of(struct kernel_rings *r, uint16_t cpu)
{
	while (r->at.n <= cpu)
		*vec_add(&r->at) = (struct kernel_ring){ .fd = -1 };
	return &r->at.at[cpu];
}

/* O_NONBLOCK: an empty ring gives EAGAIN, where the read would wait for records otherwise. Each
 * open counts as a reader, which keeps the instance from being removed. */
static int open_ring(struct kernel_rings *r, const char *instance, unsigned cpu, struct err *err)
{
	char *path = mem_printf("%s/per_cpu/cpu%u/trace_pipe_raw", instance, cpu);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), e = 0;

	if (fd < 0)
		e = err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	else
		ring_of(r, (uint16_t)cpu)->fd = fd;
	free(path);
	return e;
}

int kernel_rings_open(const char *instance, struct kernel_records *records,
		      struct kernel_rings **out, struct err *err)
{
	char *path = mem_printf("%s/per_cpu", instance);
	DIR *dir = opendir(path);
	struct dirent *d;
	unsigned cpu;
	int e = 0;

	*out = kernel_rings_empty(records);
	if (!dir)
		e = err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	while (!e && (d = readdir(dir)))
		if (sscanf(d->d_name, "cpu%u", &cpu) == 1 && cpu < UINT16_MAX)
			e = open_ring(*out, instance, cpu, err);
	if (dir)
		closedir(dir);
	free(path);
	if (e) {
		kernel_rings_free(*out);
		*out = NULL;
	}
	return e;
}

/* The page is copied. n + 1, because an empty page is a pointer, too. */
void kernel_rings_add(struct kernel_rings *r, uint16_t cpu, const void *page, size_t n)
{
	struct held_page *p = vec_add(&ring_of(r, cpu)->pages);

	p->n = n;
	p->bytes = mem_realloc(NULL, n + 1, 1);
	memcpy(p->bytes, page, n);
}

/* Reads all pages that a ring has. A CPU that went away has none. A page that is still being
 * written comes as far as it is: the kernel copies its whole records, and what follows comes with
 * the next read. */
static int read_ring(struct kernel_rings *r, uint16_t cpu, size_t *taken, struct err *err)
{
	int fd = r->at.at[cpu].fd;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, r->buffer, sizeof(r->buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == ENODEV))
			return 0;
		if (n < 0)
			return err_set(err, errno, "cannot read the kernel's buffer of CPU %u: %s",
				       cpu, strerror(errno));
		kernel_rings_add(r, cpu, r->buffer, (size_t)n);
		*taken += 1;
	}
	return 0;
}

/* Losses stand at the beginning of the page before which they happened. An unknown number is at
 * least one. */
static void begin_page(struct kernel_ring *g)
{
	const struct held_page *p = &g->pages.at[g->at];

	kernel_page_begin(&g->page, p->bytes, p->n);
	g->begun = true;
	if (!g->page.lost)
		return;
	g->told = g->page.lost;
	g->lost += g->page.lost == KERNEL_PAGE_LOST_UNKNOWN ? 1 : g->page.lost;
}

/* Makes the ring's next record ready; false: it has none. */
static bool look_ahead(struct kernel_ring *g)
{
	while (!g->ready && g->at < g->pages.n) {
		if (!g->begun)
			begin_page(g);
		g->ready = kernel_page_next(&g->page, &g->next);
		if (g->ready)
			break;
		/* A damaged page is one loss: nobody can count its records behind the damage. */
		g->lost += g->page.bad;
		free(g->pages.at[g->at].bytes);
		g->pages.at[g->at++].bytes = NULL;
		g->begun = false;
		if (g->at == g->pages.n)
			g->at = g->pages.n = 0;
	}
	return g->ready;
}

/* The ring with the earliest record; NULL: all are empty. Of equal stamps the lower CPU's comes
 * first, always, so that two readings give one text. */
static struct kernel_ring *earliest(struct kernel_rings *r)
{
	struct kernel_ring *best = NULL;

	for (size_t i = 0; i < r->at.n; i++)
		if (look_ahead(&r->at.at[i]) &&
		    (!best || r->at.at[i].next.tsc < best->next.tsc))
			best = &r->at.at[i];
	return best;
}

/* Gives a record's event, and before it what is missing there. A record that is not understood is
 * counted by kernel_records_event() and gives nothing; what is missing before it is told with the
 * next one. */
static int give(struct kernel_rings *r, struct kernel_ring *g, kernel_rings_sink *sink,
		void *context, struct err *err)
{
	uint16_t cpu = (uint16_t)(g - r->at.at);
	struct event e, lost;
	int error = 0;

	g->ready = false;
	if (!kernel_records_event(r->records, cpu, &g->next, &e))
		return 0;
	lost = (struct event){ .kind = EVENT_LOST, .tsc = e.tsc, .thread = e.thread, .cpu = cpu,
			       .count = g->told };
	if (g->told)
		error = sink(context, &lost, err);
	g->told = 0;
	return error ? error : sink(context, &e, err);
}

int kernel_rings_read(struct kernel_rings *r, size_t *taken, struct err *err)
{
	int e = 0;

	*taken = 0;
	for (size_t i = 0; i < r->at.n && !e; i++)
		e = read_ring(r, (uint16_t)i, taken, err);
	return e;
}

int kernel_rings_give(struct kernel_rings *r, uint64_t until, kernel_rings_sink *sink,
		      void *context, struct err *err)
{
	struct kernel_ring *g;
	int e = 0;

	while (!e && (g = earliest(r)) && g->next.tsc <= until)
		e = give(r, g, sink, context, err);
	return e;
}

uint64_t kernel_rings_lost(const struct kernel_rings *r, uint16_t cpu)
{
	return cpu < r->at.n ? r->at.at[cpu].lost : 0;
}

uint16_t kernel_rings_cpus(const struct kernel_rings *r)
{
	return (uint16_t)r->at.n;
}

/* Pages before `at` were freed as they were read through. Descriptors are closed here, which is
 * what lets the instance be removed. */
void kernel_rings_free(struct kernel_rings *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->at.n; i++) {
		for (size_t k = r->at.at[i].at; k < r->at.at[i].pages.n; k++)
			free(r->at.at[i].pages.at[k].bytes);
		vec_free(&r->at.at[i].pages);
		if (r->at.at[i].fd >= 0)
			close(r->at.at[i].fd);
	}
	vec_free(&r->at);
	free(r);
}
