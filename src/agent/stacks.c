/* SPDX-License-Identifier: MIT */
/* State mode's stacks of live calls: one for each thread, and for each stack that a thread has left and may
 * come back to (park.c). Which there are is noted, because threads end without telling us, and at a
 * detach all memory is to go. A block of thread-local memory may outlive its thread and be another's after
 * the detach: it says for which session its stack was taken. */
#include <linux/mman.h>
#include <asm/unistd.h>

#include "agent/live.h"
#include "agent/needs.h"
#include "agent/sys.h"

#define NOTED 8192u
#define UNUSED UINT64_C(1)

static uint64_t noted[NOTED];
static uint32_t n_noted, n_unused;

static uint32_t known_stacks(void)
{
	uint32_t n = __atomic_load_n(&n_noted, __ATOMIC_ACQUIRE);

	return n < NOTED ? n : NOTED;
}

static uint64_t take_unused(void)
{
	for (uint32_t i = 0, n = known_stacks(); i < n && __atomic_load_n(&n_unused, __ATOMIC_RELAXED); i++) {
		uint64_t at = __atomic_load_n(&noted[i], __ATOMIC_RELAXED);

		if (at & UNUSED && __atomic_compare_exchange_n(&noted[i], &at, at & ~UNUSED, false, __ATOMIC_ACQUIRE,
							       __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&n_unused, 1, __ATOMIC_RELAXED);
			return at & ~UNUSED;
		}
	}
	return 0;
}

static uint64_t take_new(void)
{
	long at = sys6(__NR_mmap, 0, AGENT_STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint32_t i;

	if (at <= 0)
		return 0;
	i = __atomic_fetch_add(&n_noted, 1, __ATOMIC_RELAXED);
	if (i < NOTED)
		__atomic_store_n(&noted[i], (uint64_t)at, __ATOMIC_RELEASE);
	return (uint64_t)at;
}

bool stack_take(struct agent_tls *t)
{
	uint64_t signals, base;

	if (agent.forbidden & (NEED_STACKS | NEED_SIGNALS))
		return false;
	signals = signals_block();
	if (!stack_is_there(t)) {
		t->known = (t->known & TLS_KNOWN_MASK) | STACK_SESSION;
		base = take_unused();
		live_move(t, base ? base : take_new(), live_none(t->live));
	}
	signals_restore(signals);
	return t->stack_base != 0;
}

void stack_give(uint64_t base)
{
	for (uint32_t i = 0, n = base ? known_stacks() : 0; i < n; i++)
		if (__atomic_load_n(&noted[i], __ATOMIC_RELAXED) == base) {
			__atomic_store_n(&noted[i], base | UNUSED, __ATOMIC_RELEASE);
			__atomic_fetch_add(&n_unused, 1, __ATOMIC_RELAXED);
			return;
		}
	if (base)
		sys2(__NR_munmap, base, AGENT_STACK_BYTES);
}

/* The kernel mostly puts each right below the one before. */
void stacks_end(void)
{
	for (uint32_t i = 0, n = known_stacks(), next; i < n; i = next) {
		uint64_t low = noted[i] & ~UNUSED;

		for (next = i + 1; next < n && (noted[next] & ~UNUSED) == low - AGENT_STACK_BYTES; next++)
			low -= AGENT_STACK_BYTES;
		sys2(__NR_munmap, low, (uint64_t)(next - i) * AGENT_STACK_BYTES);
	}
	n_noted = n_unused = 0;
}
