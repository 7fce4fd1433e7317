/* SPDX-License-Identifier: MIT */
/* A reader of /proc/self/maps without libc, a character at a time from a buffer. texts.c uses it
 * under its lock, locks.c on the thread that calls mlockall. An error in the midst sets `failed`;
 * the lines so far are right. */
#include "agent/own_maps.h"

#include <asm/unistd.h>

#include "agent/sys.h"
#include "shared/aot.h"

bool own_maps_open(struct own_maps *m)
{
	m->at = m->n = 0;
	m->failed = false;
	m->fd = sys4(__NR_openat, -100, "/proc/self/maps", 02000000 /* O_CLOEXEC */, 0);
	return m->fd >= 0;
}

void own_maps_close(const struct own_maps *m)
{
	sys1(__NR_close, m->fd);
}

static int next_char(struct own_maps *m)
{
	if (m->at == m->n) {
		m->n = sys3(__NR_read, m->fd, m->bytes, sizeof(m->bytes));
		m->at = 0;
		if (m->n <= 0) {
			m->failed |= m->n < 0;
			m->n = 0;
			return -1;
		}
	}
	return (uint8_t)m->bytes[m->at++];
}

/* Reads a hexadecimal number and the character after it. */
static uint64_t next_number(struct own_maps *m, int *c)
{
	uint64_t v = 0;

	for (*c = next_char(m); (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f');
	     *c = next_char(m))
		v = v << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
	return v;
}

/* True if the line's path begins with `path`; *c is the first character of it, then of the rest. */
static bool begins_with(struct own_maps *m, int *c, const char *path)
{
	while (*path && *c == *path) {
		*c = next_char(m);
		path++;
	}
	return !*path;
}

/* rwxp offset major:minor inode path. /dev/zero has an inode, but its private memory is no
 * file's. */
static void read_kind(struct own_maps *m, struct own_map *out, int *c)
{
	char permissions[4];
	uint64_t inode;

	for (int i = 0; i < 4; i++)
		permissions[i] = (char)(*c = next_char(m));
	next_char(m);
	next_number(m, c);
	next_number(m, c);
	next_number(m, c);
	inode = next_number(m, c);
	while (*c == ' ')
		*c = next_char(m);
	out->exec = permissions[2] == 'x';
	out->text = out->exec && permissions[3] == 'p' && inode && !begins_with(m, c, "/dev/zero");
}

bool own_maps_next(struct own_maps *m, struct own_map *out)
{
	uint64_t tail = 0;
	int c;

	out->start = next_number(m, &c);
	if (c != '-')
		return false;
	out->end = next_number(m, &c);
	if (c == ' ')
		read_kind(m, out, &c);
	while (c >= 0 && c != '\n') {
		tail = aot_tail(tail, (char)c);
		c = next_char(m);
	}
	out->text &= !aot_is_tail(tail);
	return true;
}
