/* SPDX-License-Identifier: MIT */
#include "ui/notes.h"

#include <asm/unistd.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "hook/plan.h"
#include "shared/notes.h"

#define NAMES_MAX 4 /* of one kind, in a line */

static const char *const words[NOTE_KINDS] = {
	[NOTE_STATIC] = "static",
	[NOTE_32BIT] = "32-bit",
	[NOTE_MACHINE] = "for another processor",
	[NOTE_SETUID] = "set-uid",
	[NOTE_CAPABILITIES] = "with file capabilities",
	[NOTE_ROOT] = "in a changed root",
	[NOTE_NETWORK] = "in another network namespace",
	[NOTE_FILTERED] = "under a seccomp filter",
	[NOTE_LIMIT] = "in a limited address space",
	[NOTE_LOADER] = "with another C library",
	[NOTE_UNPLANNED] = "not planned",
	[NOTE_BRACE] = "traced by another brace",
};

static const char *const kinds[NOTE_KINDS] = {
	[NOTE_STATIC] = "static",     [NOTE_32BIT] = "32bit",         [NOTE_MACHINE] = "machine",
	[NOTE_SETUID] = "setuid",     [NOTE_CAPABILITIES] = "capabilities", [NOTE_ROOT] = "root",
	[NOTE_NETWORK] = "network",   [NOTE_FILTERED] = "filtered",   [NOTE_LIMIT] = "limit",
	[NOTE_STOPPED] = "stopped",   [NOTE_LOADER] = "loader",
	[NOTE_SPOILED] = "spoiled",   [NOTE_HANDLER] = "handler",   [NOTE_UNSEEN] = "unseen",
	[NOTE_UNPLANNED] = "unplanned", [NOTE_FILE] = "file",      [NOTE_FORGED] = "forged",
	[NOTE_USER] = "user",         [NOTE_FULL] = "full",        [NOTE_BRACE] = "brace",
	[NOTE_CLOCK] = "clock",
};

const char *notes_kind(uint32_t kind)
{
	return kind < NOTE_KINDS && kinds[kind] ? kinds[kind] : "unknown";
}

static bool is_untraced(const struct trace_note *n)
{
	return n->kind < NOTE_KINDS && words[n->kind];
}

static uint32_t count_of(const struct trace_note *notes, size_t n, uint32_t kind)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (notes[i].kind == kind)
			count += notes[i].count;
	return count;
}

/* " (busybox, ldconfig, ...)" */
static void print_names(struct out *o, const struct trace_note *notes, size_t n, uint32_t kind)
{
	unsigned shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (notes[i].kind != kind || !notes[i].name[0])
			continue;
		if (shown == NAMES_MAX) {
			out_str(o, ", ...");
			break;
		}
		out_str(o, shown++ ? ", " : " (");
		out_foreign(o, notes[i].name, sizeof(notes[i].name));
	}
	if (shown)
		out_char(o, ')');
}

static void print_untraced(struct out *o, const char *prefix, const struct trace_note *notes, size_t n)
{
	const char *comma = "";
	uint32_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += is_untraced(&notes[i]) ? notes[i].count : 0;
	if (!total)
		return;
	out_printf(o, "%s%" PRIu32 " program%s ran untraced: ", prefix, total, total == 1 ? "" : "s");
	for (uint32_t k = 0; k < NOTE_KINDS; k++) {
		if (!words[k] || !count_of(notes, n, k))
			continue;
		out_printf(o, "%s%" PRIu32 " %s", comma, count_of(notes, n, k), words[k]);
		print_names(o, notes, n, k);
		comma = ", ";
	}
	out_char(o, '\n');
}

static void print_processes(struct out *o, const char *prefix, const struct trace_note *note)
{
	out_printf(o, "%s%" PRIu32 "%s (", prefix, note->count == 1 ? note->pid : note->count,
		   note->count == 1 ? "" : " processes");
	out_foreign(o, note->name, sizeof(note->name));
	out_str(o, "): ");
}

static void print_stopped(struct out *o, const char *prefix, const struct trace_note *note)
{
	print_processes(o, prefix, note);
	out_str(o, "stopped recording: its seccomp filter forbids ");
	if (note->number == __NR_rt_sigprocmask)
		out_str(o, "rt_sigprocmask");
	else
		out_printf(o, "system call %" PRIu32, note->number);
	out_char(o, '\n');
}

static void print_forged(struct out *o, const char *prefix, const struct trace_note *note)
{
	print_processes(o, prefix, note);
	out_str(o, "wrote into the list of its patches: brace went by its own\n");
}

static void print_spoiled(struct out *o, const char *prefix)
{
	out_printf(o, "%sthe traced program spoiled the session memory: counts of lost records that made no sense are left out\n",
		   prefix);
}

static void print_handlers(struct out *o, const char *prefix, const struct trace_note *notes, size_t n)
{
	const char *comma = "";

	if (!count_of(notes, n, NOTE_HANDLER))
		return;
	out_printf(o, "%snot told are signals that were delivered to ", prefix);
	for (size_t i = 0; i < n; i++) {
		if (notes[i].kind != NOTE_HANDLER)
			continue;
		out_str(o, comma);
		out_foreign(o, notes[i].name[0] ? notes[i].name : "others", sizeof(notes[i].name));
		if (notes[i].number == NOTE_NOT_HELD)
			out_str(o, " (brace may not stop it)");
		else if (notes[i].number < REASONS_N && notes[i].number)
			out_printf(o, " (%s)", hook_reason_words[notes[i].number]);
		comma = ", ";
	}
	out_char(o, '\n');
}

static void print_file(struct out *o, const char *prefix, const struct trace_note *note)
{
	out_str(o, prefix);
	out_foreign(o, note->name[0] ? note->name : "a module", sizeof(note->name));
	if (note->number == ESTALE)
		out_str(o, " is not traced: another file than the one that the process runs stands at its path, or none"
			" (replaced meanwhile, or another mount namespace); brace as root traces it\n");
	else
		out_printf(o, " is not traced: brace cannot open its file: %s\n", strerror((int)note->number));
}

static void print_full(struct out *o, const char *prefix, const struct trace_note *note)
{
	out_printf(o, "%sthe trace file could not take all: %s\n", prefix, strerror((int)note->number));
}

static void print_unseen(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(o, "%sthe kernel had no room for %" PRIu32 " or more of the threads' switches (nosleep-time): durations may hold time slept\n",
		   prefix, count);
}

static void print_clock(struct out *o, const char *prefix)
{
	out_printf(o, "%sthis machine's TSC is not steady: times, and the order of what different processors did, may be wrong\n",
		   prefix);
}

static void print_user(struct out *o, const char *prefix, const struct trace_note *note)
{
	print_processes(o, prefix, note);
	out_str(o, "stopped recording: another user's now, from where brace is not reached\n");
}

void notes_print(struct out *o, const char *prefix, const struct trace_note *notes, size_t n)
{
	print_untraced(o, prefix, notes, n);
	for (size_t i = 0; i < n; i++)
		if (notes[i].kind == NOTE_STOPPED)
			print_stopped(o, prefix, &notes[i]);
		else if (notes[i].kind == NOTE_FORGED)
			print_forged(o, prefix, &notes[i]);
		else if (notes[i].kind == NOTE_USER)
			print_user(o, prefix, &notes[i]);
	for (size_t i = 0; i < n; i++)
		if (notes[i].kind == NOTE_FILE)
			print_file(o, prefix, &notes[i]);
		else if (notes[i].kind == NOTE_FULL)
			print_full(o, prefix, &notes[i]);
	print_handlers(o, prefix, notes, n);
	if (count_of(notes, n, NOTE_SPOILED))
		print_spoiled(o, prefix);
	if (count_of(notes, n, NOTE_UNSEEN))
		print_unseen(o, prefix, count_of(notes, n, NOTE_UNSEEN));
	if (count_of(notes, n, NOTE_CLOCK))
		print_clock(o, prefix);
}
