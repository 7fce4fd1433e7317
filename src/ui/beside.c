/* SPDX-License-Identifier: MIT */
/* Called by the commands record and graph, around the session. An error of one kind closes those
 * that were opened before it. */
#include "ui/beside.h"

#include "ui/kernel_beside.h"

/* The options that ask for a source. The commands record and graph have them. */
const struct option beside_options[] = {
	{ 'k', "kernel", NULL, "trace the kernel, too, while it works for the program (root); what is for the kernel begins with k:, as in -l 'k:vfs_*'",
	  set_flag, offsetof(struct invocation, kernel) },
	{ 0, "elsewhere", NULL, "with -k: also what interrupts, softirqs and workers do for the program in the time of others, on tracks of their own",
	  set_flag, offsetof(struct invocation, elsewhere) },
	{ 0 }
};

static const struct beside_kind {
	/* Opens the source if an option asks for it: sets *own, which is not NULL then, and fills
	 * *out, which need not stay where it is. 0, or the exit status (said), and nothing is
	 * open. */
	int (*begin)(struct invocation *inv, struct session_beside *out, void **own);
	/* Closes it. As beside_end(). */
	int (*end)(void *own, const struct invocation *inv, int status);
} kinds[] = {
	{ kernel_beside_begin, kernel_beside_end },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))
_Static_assert(KINDS <= BESIDE_KINDS_MAX, "struct beside has room");

int beside_begin(struct invocation *inv, struct beside *out)
{
	struct session_beside *last = NULL;

	*out = (struct beside){ 0 };
	for (size_t i = 0; i < KINDS; i++) {
		int status = kinds[i].begin(inv, &out->at[i], &out->own[i]);

		if (status)
			return beside_end(out, inv, status);
		if (!out->own[i])
			continue;
		if (last)
			last->next = &out->at[i];
		last = &out->at[i];
	}
	return 0;
}

const struct session_beside *beside_first(const struct beside *b)
{
	for (size_t i = 0; i < KINDS; i++)
		if (b->own[i])
			return &b->at[i];
	return NULL;
}

int beside_end(struct beside *b, const struct invocation *inv, int status)
{
	for (size_t i = KINDS; i-- > 0;)
		if (b->own[i])
			status = kinds[i].end(b->own[i], inv, status);
	return status;
}
