/* SPDX-License-Identifier: MIT */
#include "inject/thread_blocks.h"

#include <stdio.h>
#include <string.h>

#include "shared/tls.h"

/* glibc's tcbhead_t on x86-64: itself at 0 and at 0x10, `multiple_threads` at 0x18, 64 bytes that nobody
 * uses before struct pthread's own fields, of which the thread's id is the second word. The sanitizers
 * rely on the size of this head: it has been the same since 2.4. */
#define GLIBC_SELF 0x10
#define GLIBC_MULTIPLE 0x18
#define GLIBC_FREE 0x280
#define GLIBC_TID 0x2d0

/* As the process itself sees it: in a container it is another number. */
static pid_t inner_tid(pid_t pid, pid_t tid)
{
	char name[64], line[256];
	int inner = tid;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "NSpid:", 6) == 0)
			sscanf(strrchr(line, '\t') ? strrchr(line, '\t') : line + 6, "%d", &inner);
	if (f)
		fclose(f);
	return inner;
}

static bool is_glibc(struct tracee *t, size_t i)
{
	uint64_t fs = tracee_regs(t, i)->fs_base, head[GLIBC_TID / 8 + 1];
	struct err err;

	/* The free bytes may be somebody else's after all. */
	static const uint8_t none[sizeof(struct agent_tls)];

	return fs && tracee_read(t, fs, head, sizeof(head), &err) == 0 && head[0] == fs &&
	       head[GLIBC_SELF / 8] == fs && head[GLIBC_MULTIPLE / 8] <= 1 &&
	       memcmp(&head[GLIBC_FREE / 8], none, sizeof(none)) == 0 &&
	       (uint32_t)head[GLIBC_TID / 8] == (uint32_t)inner_tid(tracee_pid(t), tracee_tid(t, i));
}

/* C libraries have their thread pointers point to themselves. */
static bool is_of_its_own_making(struct tracee *t, size_t i)
{
	uint64_t fs = tracee_regs(t, i)->fs_base, word;
	struct err err;

	return fs && tracee_read(t, fs - 8, &word, sizeof(word), &err) == 0 &&
	       (tracee_read(t, fs, &word, sizeof(word), &err) < 0 || word != fs);
}

struct thread_layout thread_layout_of(struct tracee *t)
{
	const struct thread_layout glibc = { GLIBC_FREE, GLIBC_TID, AGENT_KEY_IS_TID | AGENT_BY_HAND };
	struct thread_layout far = { 0, 0, AGENT_FAR | AGENT_BY_HAND | AGENT_GO };
	bool all_glibc = true;

	for (size_t i = 0; i < tracee_threads(t); i++) {
		all_glibc &= is_glibc(t, i);
		if (!is_of_its_own_making(t, i))
			far.flags &= ~AGENT_GO;
	}
	return all_glibc ? glibc : far;
}

void thread_blocks_clear(struct tracee *t, const struct thread_layout *l)
{
	static const struct agent_tls none;

	for (size_t i = 0; i < tracee_threads(t) && !(l->flags & AGENT_FAR); i++) {
		uint64_t fs = tracee_regs(t, i)->fs_base;
		struct err err;

		if (fs)
			tracee_write(t, fs + (uint64_t)l->tls, &none, sizeof(none), &err);
	}
}

#define OUT_OF_REACH (UINT64_C(1) << 62) /* agent/leave.c: pos of a thread that is to say where it goes on */

static void renew(struct agent_tls *block)
{
	if (block->pos >= OUT_OF_REACH)
		block->pos = block->end - block->room;
	block->depth = 0;
	block->top_sp = 0;
	block->live = 0;
	block->known &= TLS_THREAD | ~TLS_KNOWN_MASK;
}

static void forget_code(struct agent_tls *block)
{
	if (block->pos >= OUT_OF_REACH)
		block->leaving = 0;
}

void thread_blocks_change(struct tracee *t, const struct thread_layout *l, bool other_tracer)
{
	for (size_t i = 0; i < tracee_threads(t); i++) {
		uint64_t fs = tracee_regs(t, i)->fs_base, at = fs + (uint64_t)l->tls;
		struct agent_tls block;
		struct err err;

		if (l->flags & AGENT_FAR || !fs || tracee_read(t, at, &block, sizeof(block), &err) < 0)
			continue;
		(other_tracer ? renew : forget_code)(&block);
		tracee_write(t, at, &block, sizeof(block), &err);
	}
}
