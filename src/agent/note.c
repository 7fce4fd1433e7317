/* SPDX-License-Identifier: MIT */
#include "agent/note.h"

#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"

static uint32_t own_pid(void)
{
	return agent.forbidden & NEED_THREADS ? 0 : (uint32_t)sys0(__NR_getpid);
}

static bool same(const struct memory_note *n, enum note_kind kind, uint32_t number, const char *name)
{
	if (!__atomic_load_n(&n->written, __ATOMIC_ACQUIRE) || n->kind != kind || n->number != number)
		return false;
	for (unsigned i = 0; i < NOTE_NAME; i++)
		if (n->name[i] != name[i])
			return false;
	return true;
}

static uint32_t place_of(struct memory_notes *notes, enum note_kind kind, uint32_t number, const char *name)
{
	uint32_t used = __atomic_load_n(&notes->used, __ATOMIC_RELAXED), i;
	struct memory_note *n;

	for (i = 0; i < used && i < NOTES_MAX; i++)
		if (same(&notes->at[i], kind, number, name))
			return i;
	if (used >= NOTES_MAX)
		return NOTES_MAX;
	i = __atomic_fetch_add(&notes->used, 1, __ATOMIC_RELAXED);
	if (i >= NOTES_MAX)
		return NOTES_MAX;
	n = &notes->at[i];
	n->kind = kind;
	n->number = number;
	n->pid = own_pid();
	for (unsigned c = 0; c < NOTE_NAME; c++)
		n->name[c] = name[c];
	__atomic_store_n(&n->written, 1, __ATOMIC_RELEASE);
	return i;
}

static void add(uint32_t note, uint32_t more)
{
	struct memory_notes *notes = &agent.memory->notes;
	uint32_t i = note & 0xffff;

	__atomic_fetch_add(&notes->counts[note >> 16], more, __ATOMIC_RELAXED);
	if (i < NOTES_MAX)
		__atomic_fetch_add(&notes->at[i].count, more, __ATOMIC_RELAXED);
}

uint32_t note_write(enum note_kind kind, uint32_t number, const char *name)
{
	uint32_t note = kind << 16 | place_of(&agent.memory->notes, kind, number, name);

	add(note, 1);
	return note;
}

void note_withdraw(uint32_t note)
{
	add(note, UINT32_MAX);
}
