/* SPDX-License-Identifier: MIT */
/* Parses /proc/PID/maps and searches gaps; planners and holders call it (image/, inject/), each on
 * its own thread. All state is the caller's, no lock. The process may map memory at any time: a
 * place that is free here has to be tested again when it is held (maps_are_free), or mapped with
 * MAP_FIXED_NOREPLACE. A process that is gone, or a file of /proc that does not come in time, is
 * -errno and a sentence. */
#include "image/maps.h"
#include "arch/page.h"
#include "base/apart.h"
#include "shared/aot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define REACH (UINT64_C(2) << 30)
#define SLACK (UINT64_C(64) << 20)    /* rip-relative operands near the edges stay in reach too */
#define LOWEST UINT64_C(0x110000)     /* above vm.mmap_min_addr everywhere */
#define HEAP_ROOM (UINT64_C(1) << 30) /* brk grows upwards from the executable */

/* False: not a line of a mapping. */
static bool parse_line(char *line, struct map *out)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char perms[5];
	int path = 0;

	/* START-END PERMS OFFSET MAJOR:MINOR INODE PATH. The path may have blanks, so that only its
	 * beginning is taken from sscanf. */
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		   &minor, &inode, &path) < 7 ||
	    !path)
		return false;
	line[strcspn(line, "\n")] = '\0';
	*out = (struct map){ start,
			     end,
			     offset,
			     makedev(major, minor),
			     inode,
			     perms[2] == 'x',
			     perms[1] == 'w',
			     perms[3] == 's',
			     mem_strdup(line + path) };
	return true;
}

/* A private mapping of /dev/zero is anonymous memory, though it has an inode. */
bool maps_is_text(const struct map *m)
{
	return m->exec && !m->shared && m->inode && strcmp(m->path, "/dev/zero") != 0 &&
	       !aot_is_file(m->path);
}

static bool is_same_file(const struct map *a, const struct map *b)
{
	return a->inode == b->inode && a->device == b->device;
}

/* How many mappings away a module's code is looked for: it is next to its constants, and a program
 * can map one file some ten thousand times. */
#define MODULE_NEAR 64

/* A module's mappings stand one behind the other, and one of them has code. A file of data, which
 * others may write to, has none. */
static bool is_of_module(const struct maps *m, size_t i)
{
	const struct map *at = &m->at.at[i];
	size_t first = i;

	while (first && i - first < MODULE_NEAR && is_same_file(&m->at.at[first - 1], at))
		first--;
	for (size_t k = first;
	     k < m->at.n && k < i + MODULE_NEAR && is_same_file(&m->at.at[k], at); k++)
		if (maps_is_text(&m->at.at[k]))
			return true;
	return false;
}

/* ld.so takes the right to write away from a part of a segment: the file goes on behind it without
 * a gap, writable. */
static bool is_relocated(const struct maps *m, size_t i)
{
	const struct map *at = &m->at.at[i], *next = at + 1;

	return i + 1 < m->at.n && next->write && is_same_file(at, next) && next->start == at->end &&
	       next->offset == at->offset + (at->end - at->start);
}

bool maps_is_constant(const struct maps *m, size_t i)
{
	const struct map *at = &m->at.at[i];

	return !at->write && !at->shared && at->inode && is_of_module(m, i) && !is_relocated(m, i);
}

/* The name that image/patches.c gives the code memory. */
bool maps_is_trampolines(const struct map *m)
{
	return m->exec && strncmp(m->path, "/memfd:brace-code", 17) == 0;
}

static int cannot_read(pid_t pid, int code, struct err *err)
{
	if (code == ETIMEDOUT)
		return err_set(
			err, code,
			"the mappings of process %d cannot be read: somebody holds them, and brace waited %d s",
			(int)pid, APART_MS / 1000);
	return err_set(err, code, "cannot read /proc/%d/maps: %s", (int)pid, strerror(code));
}

int maps_read(pid_t pid, struct maps *out, struct err *err)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f;

	memset(out, 0, sizeof(*out));
	f = apart_stream(pid, "maps");
	if (!f)
		return cannot_read(pid, errno, err);
	while (getline(&line, &cap, f) > 0) {
		struct map m;

		if (parse_line(line, &m))
			*vec_add(&out->at) = m;
	}
	free(line);
	fclose(f);
	return 0;
}

void maps_free(struct maps *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		free(m->at.at[i].path);
	vec_free(&m->at);
}

/* Inserts a taken range at index i, which keeps the order of addresses. */
static void insert_map(struct maps *m, size_t i, uint64_t start, uint64_t bytes)
{
	(void)vec_add(&m->at);
	memmove(&m->at.at[i + 1], &m->at.at[i], (m->at.n - 1 - i) * sizeof(m->at.at[0]));
	m->at.at[i] = (struct map){
		.start = start, .end = start + bytes, .exec = true, .path = mem_strdup("[brace]")
	};
}

/* Keeps the order by address, on which the searches depend. */
void maps_take(struct maps *m, uint64_t start, uint64_t bytes)
{
	size_t i = 0;

	while (i < m->at.n && m->at.at[i].start < start)
		i++;
	insert_map(m, i, start, bytes);
}

bool maps_are_free(const struct maps *maps, uint64_t from, uint64_t bytes)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (maps->at.at[i].start < from + bytes && maps->at.at[i].end > from)
			return false;
	return true;
}

/* so wide a gap is below all libraries, or above the executable */
#define GAP_MIN (UINT64_C(4) << 30)

/* Free bytes right below mapping i. */
static uint64_t gap_below(const struct maps *m, size_t i)
{
	return m->at.at[i].start - (i ? m->at.at[i - 1].end : LOWEST);
}

/* For a program that has mapped nothing yet: a place far from its heap, its stack and its later
 * mappings. */
static uint64_t middle_of_all(const struct maps *m, uint64_t bytes)
{
	size_t widest = 0;

	/* Above is [vsyscall]. */
	for (size_t i = 1; i < m->at.n && m->at.at[i].start < ARCH_ADDRESS_END; i++)
		if (gap_below(m, i) > gap_below(m, widest))
			widest = i;
	if (!m->at.n || m->at.at[widest].start < LOWEST || gap_below(m, widest) < bytes)
		return 0;
	return (m->at.at[widest].start - gap_below(m, widest) / 2 - bytes / 2) & ~UINT64_C(0xffff);
}

uint64_t maps_find_gap(const struct maps *m, uint64_t bytes)
{
	for (size_t i = m->at.n; i-- > 0;) {
		uint64_t hi = m->at.at[i].start;

		/* Not above user addresses, and not right below the stack, which grows
		 * downwards. */
		if (hi > ARCH_ADDRESS_END || hi < LOWEST ||
		    strcmp(m->at.at[i].path, "[stack]") == 0 || gap_below(m, i) < GAP_MIN + bytes)
			continue;
		return (hi - GAP_MIN / 2 - bytes) & ~UINT64_C(0xffff);
	}
	return middle_of_all(m, bytes);
}

/* Whether the heap may grow there: from right behind an executable, or at a random distance from
 * it. */
static bool in_heap_way(const struct maps *m, uint64_t start, uint64_t bytes)
{
	for (size_t i = 0; i < m->at.n; i++) {
		const struct map *p = &m->at.at[i];

		if (strcmp(p->path, "[heap]") == 0 && start + bytes > p->start &&
		    start < p->end + HEAP_ROOM)
			return true;
	}
	return false;
}

/* Whether the stretch lies in the gap, reaches the whole module, and leaves the heap its room. */
static bool gap_fits(const struct maps *m, uint64_t start, uint64_t bytes, uint64_t gap_lo,
		     uint64_t gap_hi, uint64_t lo, uint64_t hi)
{
	return start >= gap_lo && start >= LOWEST && start + bytes <= gap_hi &&
	       start + bytes > start &&
	       (start < hi ? hi - start : start + bytes - lo) < REACH - SLACK &&
	       !in_heap_way(m, start, bytes);
}

uint64_t maps_find_room(struct maps *m, uint64_t lo, uint64_t hi, uint64_t bytes)
{
	size_t n = m->at.n;

	/* Downwards from the module: at the top of each gap below it. */
	for (size_t i = n; i-- > 0;) {
		uint64_t gap_hi = m->at.at[i].start, gap_lo = i ? m->at.at[i - 1].end : LOWEST;

		if (gap_hi > lo || gap_hi < bytes + LOWEST)
			continue;
		if (m->distance &&
		    gap_fits(m, gap_hi - bytes - m->distance, bytes, gap_lo, gap_hi, lo, hi))
			gap_hi -= m->distance;
		if (gap_fits(m, gap_hi - bytes, bytes, gap_lo, gap_hi, lo, hi)) {
			insert_map(m, i, gap_hi - bytes, bytes);
			return m->at.at[i].start;
		}
	}
	/* Upwards, as far off as displacements allow, so that the heap keeps its room. */
	for (size_t i = 0; i < n; i++) {
		uint64_t gap_lo = m->at.at[i].end,
			 gap_hi = i + 1 < n ? m->at.at[i + 1].start : UINT64_MAX >> 17;
		uint64_t start = lo + REACH - SLACK - ARCH_PAGE - bytes;

		if (gap_lo < hi)
			continue;
		if (start + bytes > gap_hi)
			start = gap_hi - bytes;
		start &= ~(ARCH_PAGE - 1);
		if (gap_fits(m, start, bytes, gap_lo, gap_hi, lo, hi)) {
			insert_map(m, i + 1, start, bytes);
			return start;
		}
	}
	return 0;
}
