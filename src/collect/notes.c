/* SPDX-License-Identifier: MIT */
#include "collect/notes.h"

#include <stdio.h>
#include <string.h>

#define COUNT_MAX (1u << 30) /* more is a number that was taken below zero */

static uint32_t counted(const uint32_t *at)
{
	uint32_t n = __atomic_load_n(at, __ATOMIC_RELAXED);

	return n < COUNT_MAX ? n : 0;
}

/* What another memory said already is said more often. */
static void add_note(struct trace_info *info, const struct trace_note *note)
{
	for (size_t i = 0; i < info->notes.n; i++) {
		struct trace_note *n = &info->notes.at[i];

		if (n->kind != note->kind || n->number != note->number || strcmp(n->name, note->name) != 0)
			continue;
		n->count += note->count < UINT32_MAX - n->count ? note->count : UINT32_MAX - n->count;
		return;
	}
	*vec_add(&info->notes) = *note;
}

static void take_one(const struct memory_note *n, struct trace_info *info, uint32_t *rest)
{
	struct trace_note note = { .kind = n->kind, .pid = n->pid, .number = n->number, .count = counted(&n->count) };

	if (!__atomic_load_n(&n->written, __ATOMIC_ACQUIRE) || note.kind >= NOTE_KINDS || !note.count)
		return;
	memcpy(note.name, n->name, sizeof(n->name));
	note.name[sizeof(note.name) - 1] = '\0';
	for (char *c = note.name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	rest[note.kind] -= note.count < rest[note.kind] ? note.count : rest[note.kind];
	add_note(info, &note);
}

void notes_take(const struct memory_notes *from, struct trace_info *info)
{
	uint32_t used = __atomic_load_n(&from->used, __ATOMIC_ACQUIRE), rest[NOTE_KINDS];

	for (unsigned k = 0; k < NOTE_KINDS; k++)
		rest[k] = counted(&from->counts[k]);
	for (uint32_t i = 0; i < used && i < NOTES_MAX; i++)
		take_one(&from->at[i], info, rest);
	for (unsigned k = NOTE_NONE + 1; k < NOTE_KINDS; k++)
		if (rest[k])
			add_note(info, &(struct trace_note){ .kind = k, .count = rest[k] });
}

static void add(struct memory_notes *to, enum note_kind kind, uint32_t number, pid_t pid, const char *name)
{
	uint32_t i = __atomic_fetch_add(&to->used, 1, __ATOMIC_RELAXED);
	struct memory_note *n;

	__atomic_fetch_add(&to->counts[kind], 1, __ATOMIC_RELAXED);
	if (i >= NOTES_MAX)
		return;
	n = &to->at[i];
	n->kind = kind;
	n->pid = (uint32_t)pid;
	n->number = number;
	n->count = 1;
	snprintf(n->name, sizeof(n->name), "%s", name);
	__atomic_store_n(&n->written, 1, __ATOMIC_RELEASE);
}

void notes_add(struct memory_notes *to, enum note_kind kind, pid_t pid, const char *program)
{
	const char *last = strrchr(program, '/');

	add(to, kind, 0, pid, last ? last + 1 : program);
}

static void add_once(struct memory_notes *to, enum note_kind kind, uint32_t number, pid_t pid, const char *name)
{
	uint32_t used = __atomic_load_n(&to->used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < used && i < NOTES_MAX; i++)
		if (to->at[i].kind == kind && strncmp(to->at[i].name, name, sizeof(to->at[i].name) - 1) == 0)
			return;
	add(to, kind, number, pid, name);
}

void notes_add_handler(struct memory_notes *to, uint32_t reason, pid_t pid, const char *handler)
{
	add_once(to, NOTE_HANDLER, reason, pid, handler);
}

void notes_add_file(struct memory_notes *to, int code, pid_t pid, const char *module)
{
	add_once(to, NOTE_FILE, (uint32_t)code, pid, module);
}
