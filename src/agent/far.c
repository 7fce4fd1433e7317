/* SPDX-License-Identifier: MIT */
/* Threads of programs that leave us no room at a fixed distance from the thread pointer (musl, Go,
 * no libc at all), or that may have no thread pointer, or another's (started by clone itself): their blocks stand in a table by thread id, which the kernel tells. Slower by that
 * system call, and the same otherwise. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"

#define TIDS (UINT64_C(1) << 22) /* the kernel's own limit */
#define BYTES (TIDS * sizeof(struct agent_tls))

static struct agent_tls *blocks;
uint32_t agent_far, agent_go; /* for entry.S */

bool far_begin(const struct protocol_welcome *w)
{
	long at;

	agent_far = 0;
	agent.flags |= w->flags & AGENT_FAR;
	agent_go = w->flags & AGENT_GO;
	if (!(agent.flags & AGENT_FAR))
		return true;
	at = sys6(__NR_mmap, 0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at < 0 && at > -4096)
		return false;
	agent.key = 0;
	blocks = (struct agent_tls *)at;
	agent_far = 1;
	return sys3(__NR_madvise, at, BYTES, MADV_WIPEONFORK) == 0;
}

void far_end(void)
{
	if (blocks)
		sys2(__NR_munmap, blocks, BYTES);
	blocks = 0;
}

/* After a detach a stub's return may still ask: a block that leads to the slow path, and no further. */
struct agent_tls *agent_far_block(void)
{
	static struct agent_tls none;

	return blocks && !(agent.forbidden & NEED_THREADS) ? &blocks[(uint64_t)sys0(__NR_gettid) & (TIDS - 1)] : &none;
}
