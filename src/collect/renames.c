/* SPDX-License-Identifier: MIT */
/* Reads the ring of names in a thread's slot, while its thread may write there. The owner of the
 * trace_info calls: the session's consumer, and recover. Nonsense is left out. */
#include "collect/renames.h"

#include <string.h>

#include "collect/clock.h"

enum read { READ_DONE, READ_TOO_LATE, READ_NOT_YET };

/* Reads rename number i. A seqlock: the name counts if its number is the same before and after. */
static enum read read_name(const struct memory_thread *slot, uint32_t i, struct trace_name *out)
{
	const volatile struct memory_name *from = &slot->names[i % MEMORY_NAMES];
	/* Pairs with the release of `number` in note_name() of agent/rename.c. */
	uint32_t number = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);

	if (number != i + 1)
		return number > i + 1 ? READ_TOO_LATE : READ_NOT_YET;
	out->tsc = from->tsc;
	for (size_t k = 0; k < sizeof(out->comm); k++)
		out->comm[k] = from->comm[k];
	/* Keeps the reading of the name before the second reading of its number. Pairs with the
	 * release fence in note_name(). */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number ? READ_DONE
									  : READ_TOO_LATE;
}

/* A thread gives itself a name by a system call: none takes so few ticks. */
#define RENAME_TICKS 64u

/* Whether a thread can have had n names since the session began, of which `seen` are known. The
 * program writes the count. */
static bool is_possible(const struct trace_info *info, uint32_t n, uint32_t seen, uint64_t now)
{
	uint64_t ticks = now - info->clock.tsc;

	return n >= seen && (now < info->clock.tsc || n <= ticks / RENAME_TICKS);
}

bool renames_take(const struct memory_thread *slot, uint32_t *seen, struct trace_info *info,
		  uint32_t thread)
{
	/* Pairs with nothing: note_name() of agent/rename.c raises it, relaxed, before it writes
	 * the name. Such a name is READ_NOT_YET, and comes the next time. */
	uint32_t n = __atomic_load_n(&slot->renames, __ATOMIC_ACQUIRE);
	uint64_t now = n == *seen ? 0 : clock_tsc();

	if (n != *seen && !is_possible(info, n, *seen, now)) {
		*seen = n;
		return false;
	}
	/* The ring keeps only the last MEMORY_NAMES names. */
	if (n - *seen > MEMORY_NAMES) {
		info->renames_left_out += n - *seen - MEMORY_NAMES;
		*seen = n - MEMORY_NAMES;
	}
	for (; *seen != n; ++*seen) {
		struct trace_name name;
		enum read r = read_name(slot, *seen, &name);

		if (r == READ_NOT_YET)
			return true;
		if (r == READ_TOO_LATE)
			info->renames_left_out++;
		else
			/* A spoiled slot must not name a thread in the future. */
			trace_info_rename(info, thread, name.tsc < now ? name.tsc : now, name.comm);
	}
	return true;
}
