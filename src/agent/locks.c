/* SPDX-License-Identifier: MIT */
/* mlockall would fill and lock the whole session memory, a gigabyte of which little is used. So all is locked as
 * it is touched, and then filled: all but what is ours. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/sys.h"

#define CHUNK 1024

struct maps { long fd; char bytes[CHUNK]; long at, n; };

static int next_char(struct maps *m)
{
	if (m->at == m->n) {
		m->n = sys3(__NR_read, m->fd, m->bytes, CHUNK);
		m->at = 0;
		if (m->n <= 0) {
			m->n = 0;
			return -1;
		}
	}
	return (uint8_t)m->bytes[m->at++];
}

/* A hexadecimal number; the character behind it is read. */
static uint64_t next_number(struct maps *m, int *c)
{
	uint64_t v = 0;

	for (*c = next_char(m); (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f'); *c = next_char(m))
		v = v << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
	return v;
}

static bool overlaps(uint64_t start, uint64_t end, const void *at, uint64_t bytes)
{
	return start < (uint64_t)at + bytes && end > (uint64_t)at;
}

static bool is_ours(uint64_t start, uint64_t end)
{
	return overlaps(start, end, agent.memory, agent.memory_size) ||
	       overlaps(start, end, agent.image, sizeof(*agent.image)) ||
	       overlaps(start, end, agent_own, sizeof(agent_own)) ||
	       overlaps(start, end, agent_arena, SITE_ARENA_BYTES + SITE_BLOCK_BYTES);
}

static void fill_others(struct maps *m)
{
	int c = 0;

	while (c >= 0) {
		uint64_t start = next_number(m, &c), end = c == '-' ? next_number(m, &c) : 0;

		if (end > start && !is_ours(start, end))
			sys2(__NR_mlock, start, end - start);
		while (c >= 0 && c != '\n')
			c = next_char(m);
	}
}

uint64_t agent_lock_coming(const struct call_registers *r, struct call_plan *p)
{
	*p = call_as_it_is(r);
	if (agent.memory && !(agent.forbidden & NEED_LOCKS) && (r->rdi & (MCL_CURRENT | MCL_ONFAULT)) == MCL_CURRENT) {
		p->rdi = r->rdi | MCL_ONFAULT;
		p->lock = (uint32_t)r->rdi;
	}
	return 0;
}

void locks_done(const struct call_plan *p)
{
	struct maps m = { .at = 0 };

	if (!p->lock)
		return;
	if (p->lock & MCL_FUTURE) /* without filling what is there */
		sys1(__NR_mlockall, MCL_FUTURE);
	m.fd = sys4(__NR_openat, -100, "/proc/self/maps", 02000000 /* O_CLOEXEC */, 0);
	if (m.fd < 0) {
		sys1(__NR_mlockall, p->lock);
		return;
	}
	fill_others(&m);
	sys1(__NR_close, m.fd);
}
