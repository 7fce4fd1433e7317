/* SPDX-License-Identifier: MIT */
/* Used by the closing summaries (summary.c, kernel_run.c) and by brace info. Names come from traced
 * programs and are escaped (out_foreign). Kinds that this brace does not know are left out. On the
 * main thread. */
#include "ui/messages.h"

#include <asm/unistd.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "hook/plan.h"
#include "shared/messages.h"

#define NAMES_MAX 4 /* names of one kind in a line */

/* Sum of the counts of one kind's messages: programs, processes or lost switches, by the kind. */
static uint32_t count_of(const struct trace_message *messages, size_t n, uint32_t kind)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (messages[i].kind == kind)
			count += messages[i].count;
	return count;
}

/* " (busybox, ldconfig, ...)": a few names are a hint; `brace info --json` has all of them. */
static void print_names(struct out *o, const struct trace_message *messages, size_t n,
			uint32_t kind)
{
	unsigned shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (messages[i].kind != kind || !messages[i].name[0])
			continue;
		if (shown == NAMES_MAX) {
			out_str(o, ", ...");
			break;
		}
		out_str(o, shown++ ? ", " : " (");
		out_foreign(o, messages[i].name, sizeof(messages[i].name));
	}
	if (shown)
		out_char(o, ')');
}

/* "PID (NAME): " for one process, "N processes (NAME): " for several: a message counts processes of
 * one name and cause. */
static void print_processes(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o, "%s%" PRIu32 "%s (", prefix, note->count == 1 ? note->pid : note->count,
		   note->count == 1 ? "" : " processes");
	out_foreign(o, note->name, sizeof(note->name));
	out_str(o, "): ");
}

/* "PID (NAME): stopped recording: ..." and why. */
static void print_stopped(struct out *o, const char *prefix, const struct trace_message *note)
{
	print_processes(o, prefix, note);
	/* note->number is the system call that is forbidden; prctl's stands for the dispatch that
	 * it switches on. */
	if (note->number == __NR_prctl) {
		out_str(o, "stopped recording: it dispatches system calls itself "
			   "(PR_SET_SYSCALL_USER_DISPATCH)\n");
		return;
	}
	out_str(o, "stopped recording: its seccomp filter forbids ");
	if (note->number == __NR_rt_sigprocmask)
		out_str(o, "rt_sigprocmask");
	else
		out_printf(o, "system call %" PRIu32, note->number);
	out_char(o, '\n');
}

/* Not an error: brace keeps its own list, and what the process wrote led nowhere. */
static void print_forged(struct out *o, const char *prefix, const struct trace_message *note)
{
	print_processes(o, prefix, note);
	out_str(o, "told of its patches what cannot be: such a patch counts as not written\n");
}

/* For the session as a whole: whose stores they were cannot be told. */
static void print_spoiled(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(
		o,
		"%sa traced program spoiled the session memory: counts that made no sense are left out,"
		" and threads of programs that do not exist are shown as the first program's\n",
		prefix);
}

static void print_holes(struct out *o, const char *prefix, uint32_t pages)
{
	out_printf(
		o,
		"%s%" PRIu32 " pages (4 KiB) were taken out of the session memory, or out of its ring: what had"
		" been there is lost, and not all of it is counted\n",
		prefix, pages);
}

/* " (REASON)"; the number comes from a file, perhaps a newer writer's: a reason that is not known
 * here is left out. */
static void print_reason(struct out *o, uint32_t number)
{
	if (number < REASONS_N && number)
		out_printf(o, " (%s)", hook_reason_words[number]);
}

/* `number` is the errno of opening the module's file (image/mapped_file.c); two of them have causes
 * worth a sentence. */
static void print_file(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_str(o, prefix);
	out_foreign(o, note->name[0] ? note->name : "a module", sizeof(note->name));
	if (note->number == ESTALE)
		out_str(o,
			" is not traced: another file than the one that the process runs stands at its path, or none"
			" (replaced meanwhile, or another mount namespace); brace as root traces it\n");
	else if (note->number == ETIMEDOUT)
		out_str(o,
			" is not traced: its file does not answer (a process serves its file system)\n");
	else
		out_printf(o, " is not traced: brace cannot read its file: %s\n",
			   strerror((int)note->number));
}

/* `number` is the errno that ended the file. */
static void print_full(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o, "%sthe trace file could not take all: %s\n", prefix,
		   strerror((int)note->number));
}

static void print_unseen(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(
		o,
		"%sthe kernel had no room for %" PRIu32
		" or more of the threads' switches (nosleep-time): durations may hold time slept\n",
		prefix, count);
}

/* Calls whose condition is about a value that they never returned. */
static void print_unreturned(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(o,
		   "%s%" PRIu32 " call%s with a condition on $retval had not returned at the end, "
		   "and %s left out\n",
		   prefix, count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

/* Calls that could not be held back until their condition was known. */
static void print_too_long(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(o,
		   "%s%" PRIu32 " call%s with a condition on $retval could not be held back until "
		   "%s returned: more was recorded in %s than there is room for, or records were "
		   "lost; what %s called counts as lost (-n leaves functions out)\n",
		   prefix, count, count == 1 ? "" : "s", count == 1 ? "it" : "they",
		   count == 1 ? "it" : "them", count == 1 ? "it" : "they");
}

/* Each event of which returns are missing. */
static void print_unkept(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o, "%s%" PRIu32 " return%s of ", prefix, note->count,
		   note->count == 1 ? "" : "s");
	out_foreign(o, note->name, sizeof(note->name));
	out_printf(o,
		   " %s not recorded: %s had begun before the event was switched on, or too many "
		   "calls were open to keep the arguments of all\n",
		   note->count == 1 ? "is" : "are", note->count == 1 ? "the call" : "the calls");
}

static void print_renames(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(
		o,
		"%s%" PRIu32
		" of the names that threads gave themselves are not known: some records may bear an older one\n",
		prefix, count);
}

/* Without the count: a name may be in it several times. */
static void print_unnamed(struct out *o, const char *prefix, uint32_t count)
{
	out_printf(
		o,
		"%sprograms told of more code that they made than brace keeps names of: some stacks show its addresses, or end there\n",
		prefix);
}

/* Once for the machine, whatever the count. Files of older versions have no number. */
static void print_clock(struct out *o, const char *prefix, const struct trace_message *m)
{
	static const char printed[] = MESSAGE_CLOCK_PRINTED " ";
	const uint32_t apart_ns = m->number;
	/* The message has one text: of a file it is the error in ns, of what is printed at once a
	 * word and, behind it, the error. */
	const uint64_t error_ns = strtoull(m->name, NULL, 10);

	out_printf(o, "%sthis machine's TSC is not steady: times, and the order of what different processors did, may be wrong",
		   prefix);
	if (apart_ns == UINT32_MAX)
		out_str(o, "; they were found more than 4 s apart");
	else if (apart_ns)
		out_printf(o, "; they were found to be no more than %.1f us apart", apart_ns / 1e3);
	if (error_ns)
		out_printf(o, "; readers of the file put times right by %" PRIu32
			      " pairs of clocks, to %.1f us",
			   m->count, error_ns / 1e3);
	else if (!strncmp(m->name, printed, sizeof(printed) - 1))
		out_printf(o, "; lines that are printed at once have times put right by %" PRIu32
			      " pairs of clocks, to %.1f us",
			   m->count, strtoull(m->name + sizeof(printed) - 1, NULL, 10) / 1e3);
	else if (!strcmp(m->name, MESSAGE_CLOCK_PRINTED))
		out_str(o, "; what is printed at once has the counter's times, those of a file of brace record are put right");
	out_char(o, '\n');
}

/* "PID (NAME): stopped recording: ..." */
static void print_user(struct out *o, const char *prefix, const struct trace_message *note)
{
	print_processes(o, prefix, note);
	out_str(o, "stopped recording: another user's now, from where brace is not reached\n");
}

/* " by SIGSEGV (Segmentation fault), core dumped", or with which status. status: as of waitpid(2);
 * -1: nobody told it. */
static void print_end(struct out *o, int status)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

	if (status == -1)
		out_str(o, ", how is not known");
	else if (WIFEXITED(status))
		out_printf(o, " with status %d", WEXITSTATUS(status));
	else if (name)
		out_printf(o, " by SIG%s (%s)%s", name, strsignal(WTERMSIG(status)),
			   WCOREDUMP(status) ? ", core dumped" : "");
	else
		out_printf(o, " by signal %d", WTERMSIG(status));
}

/* "PID (NAME): ended by SIGSEGV (...), while it was attached" */
static void print_ended(struct out *o, const char *prefix, const struct trace_message *note)
{
	int status = (int)note->number;

	print_processes(o, prefix, note);
	out_str(o, status != -1 && WIFEXITED(status) ? "exited" : "ended");
	print_end(o, status);
	out_str(o, note->count == 1 ? ", while it was attached\n" : ", while they were attached\n");
}

/* "N connections were refused: process PID, the first, is none of the session's programs" */
static void print_strangers(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o,
		   "%s%" PRIu32 " connection%s refused: process %" PRIu32
		   "%s is none of the session's programs\n",
		   prefix, note->count, note->count == 1 ? " was" : "s were", note->pid,
		   note->count == 1 ? "" : ", the first,");
}

/* Mode block, which loses nothing but here. */
static void print_unblocked(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_str(o, prefix);
	out_foreign(o, note->name, sizeof(note->name));
	out_printf(o, " went on without room %" PRIu32 " time%s, and lost records: ", note->count,
		   note->count == 1 ? "" : "s");
	if (note->kind == MESSAGE_VAIN)
		out_str(o,
			"for a second all sub-buffers were kept by threads that neither recorded nor ended\n");
	else
		out_str(o, "brace had no turn for 0.9 s, or was stopped\n");
}

static void print_no_stack(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o, "%s", prefix);
	out_foreign(o, note->name, sizeof(note->name));
	out_printf(o,
		   " had no memory for the live calls of %" PRIu32
		   " thread%s, which the settings of depth, time or -g need: calls without it count as lost\n",
		   note->count, note->count == 1 ? "" : "s");
}

/* The name is a number of records. */
static void print_rotated(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o, "%sthe recording began in %" PRIu32 " file%s before this one", prefix,
		   note->number, note->number == 1 ? "" : "s");
	if (note->count) {
		out_printf(o, "; %" PRIu32 " of them %s removed (--keep), with ", note->count,
			   note->count == 1 ? "was" : "were");
		out_foreign(o, note->name, sizeof(note->name));
		out_str(o, " records");
	}
	out_char(o, '\n');
}

/* number: how long the call lasted, in us; 0: a signal has asked. count 1: the call had
 * returned. */
static void print_snapshot(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_printf(o, "%swritten %s ", prefix, note->number ? "because" : "on");
	out_foreign(o, note->name, sizeof(note->name));
	if (note->number)
		out_printf(o, " lasted %" PRIu32 ".%03" PRIu32 " ms%s (thread %" PRIu32 ")",
			   note->number / 1000, note->number % 1000,
			   note->count == 1 ? "" : " and had not returned", note->pid);
	out_char(o, '\n');
}

/* The name is a number of records. */
static void print_overwritten(struct out *o, const char *prefix, const struct trace_message *note)
{
	out_str(o, prefix);
	out_foreign(o, note->name, sizeof(note->name));
	out_str(o, " older records are not in it: newer ones took their place\n");
}

/* --- the table -------------------------------------------------------------------------------- */

/* Lines come in the order of these values. Messages of one value, whatever their kinds, come in the
 * order in which they were told. */
enum message_turn {
	TURN_NONE, /* no line of its own */
	TURN_PROCESSES,
	TURN_FILES,
	TURN_HANDLERS, /* from here on what is less exact than it looks */
	TURN_PROBES,
	TURN_SPOILED,
	TURN_HOLES,
	TURN_UNSEEN,
	TURN_UNRETURNED,
	TURN_TOO_LONG,
	TURN_UNKEPT,
	TURN_RENAMES,
	TURN_UNNAMED,
	TURN_CLOCK,
	TURNS_N
};

/* A kind's line: one for each message (each), or one for all, of the sum of their counts (sum) or
 * of their names, with reasons, behind the words of `names`. */
static const struct message_row {
	const char *name;     /* for `brace info --json`. Scripts compare them: a name stays */
	const char *untraced; /* a reason why a program ran untraced, which all share a line */
	enum message_turn turn;
	void (*each)(struct out *o, const char *prefix, const struct trace_message *note);
	void (*sum)(struct out *o, const char *prefix, uint32_t count);
	const char *names;
} rows[MESSAGE_KINDS] = {
	[MESSAGE_STATIC] = { "static", "static" },
	[MESSAGE_32BIT] = { "32bit", "32-bit" },
	[MESSAGE_MACHINE] = { "machine", "for another processor" },
	[MESSAGE_SETUID] = { "setuid", "set-uid" },
	[MESSAGE_CAPABILITIES] = { "capabilities", "with file capabilities" },
	[MESSAGE_ROOT] = { "root", "in a changed root" },
	[MESSAGE_NETWORK] = { "network", "in another network namespace" },
	[MESSAGE_FILTERED] = { "filtered", "under a seccomp filter" },
	[MESSAGE_LIMIT] = { "limit", "in a limited address space" },
	[MESSAGE_LOADER] = { "loader", "with another C library" },
	[MESSAGE_UNPLANNED] = { "unplanned", "not planned" },
	[MESSAGE_BRACE] = { "brace", "traced by another brace" },
	[MESSAGE_STOPPED] = { "stopped", .turn = TURN_PROCESSES, .each = print_stopped },
	[MESSAGE_FORGED] = { "forged", .turn = TURN_PROCESSES, .each = print_forged },
	[MESSAGE_USER] = { "user", .turn = TURN_PROCESSES, .each = print_user },
	[MESSAGE_ENDED] = { "ended", .turn = TURN_PROCESSES, .each = print_ended },
	[MESSAGE_STRANGER] = { "stranger", .turn = TURN_PROCESSES, .each = print_strangers },
	[MESSAGE_VAIN] = { "vain", .turn = TURN_PROCESSES, .each = print_unblocked },
	[MESSAGE_GIVEN_UP] = { "given-up", .turn = TURN_PROCESSES, .each = print_unblocked },
	[MESSAGE_NO_STACK] = { "no-stack", .turn = TURN_PROCESSES, .each = print_no_stack },
	[MESSAGE_FILE] = { "file", .turn = TURN_FILES, .each = print_file },
	[MESSAGE_FULL] = { "full", .turn = TURN_FILES, .each = print_full },
	[MESSAGE_ROTATED] = { "rotated", .turn = TURN_FILES, .each = print_rotated },
	[MESSAGE_SNAPSHOT] = { "snapshot", .turn = TURN_FILES, .each = print_snapshot },
	[MESSAGE_OVERWRITTEN] = { "overwritten", .turn = TURN_FILES, .each = print_overwritten },
	[MESSAGE_HANDLER] = { "handler", .turn = TURN_HANDLERS,
			      .names = "not told are signals that were delivered to " },
	[MESSAGE_PROBE] = { "probe", .turn = TURN_PROBES,
			    .names = "some places of these events are not probed: " },
	[MESSAGE_SPOILED] = { "spoiled", .turn = TURN_SPOILED, .sum = print_spoiled },
	[MESSAGE_HOLES] = { "holes", .turn = TURN_HOLES, .sum = print_holes },
	[MESSAGE_UNSEEN] = { "unseen", .turn = TURN_UNSEEN, .sum = print_unseen },
	[MESSAGE_UNRETURNED] = { "unreturned", .turn = TURN_UNRETURNED, .sum = print_unreturned },
	[MESSAGE_TOO_LONG] = { "too-long", .turn = TURN_TOO_LONG, .sum = print_too_long },
	[MESSAGE_UNKEPT] = { "unkept", .turn = TURN_UNKEPT, .each = print_unkept },
	[MESSAGE_RENAMES] = { "renames", .turn = TURN_RENAMES, .sum = print_renames },
	[MESSAGE_UNNAMED] = { "unnamed", .turn = TURN_UNNAMED, .sum = print_unnamed },
	[MESSAGE_CLOCK] = { "clock", .turn = TURN_CLOCK, .each = print_clock },
};

/* A trace of a later brace may have kinds that this one lacks. */
static const struct message_row *row_of_kind(uint32_t kind)
{
	static const struct message_row unknown = { "unknown" };

	return kind < MESSAGE_KINDS && rows[kind].name ? &rows[kind] : &unknown;
}

const char *messages_kind(uint32_t kind)
{
	return row_of_kind(kind)->name;
}

/* One line for all programs that ran untraced, by their reasons. */
static void print_untraced(struct out *o, const char *prefix, const struct trace_message *messages,
			   size_t n)
{
	const char *comma = "";
	uint32_t total = 0;

	for (uint32_t k = 0; k < MESSAGE_KINDS; k++)
		total += rows[k].untraced ? count_of(messages, n, k) : 0;
	if (!total)
		return;
	out_printf(o, "%s%" PRIu32 " program%s ran untraced: ", prefix, total,
		   total == 1 ? "" : "s");
	for (uint32_t k = 0; k < MESSAGE_KINDS; k++) {
		if (!rows[k].untraced || !count_of(messages, n, k))
			continue;
		out_printf(o, "%s%" PRIu32 " %s", comma, count_of(messages, n, k),
			   rows[k].untraced);
		print_names(o, messages, n, k);
		comma = ", ";
	}
	out_char(o, '\n');
}

/* One line for all messages of a kind: names, each with its reason. */
static void print_reasons(struct out *o, const char *prefix, uint32_t kind,
			  const struct trace_message *messages, size_t n)
{
	const char *comma = "";

	out_printf(o, "%s%s", prefix, rows[kind].names);
	for (size_t i = 0; i < n; i++) {
		if (messages[i].kind != kind)
			continue;
		out_str(o, comma);
		out_foreign(o, messages[i].name[0] ? messages[i].name : "others",
			    sizeof(messages[i].name));
		if (kind == MESSAGE_HANDLER && messages[i].number == MESSAGE_NOT_HELD)
			out_str(o, " (brace may not stop it)");
		else
			print_reason(o, messages[i].number);
		comma = ", ";
	}
	out_char(o, '\n');
}

/* The lines for all messages of a kind. */
static void print_kind(struct out *o, const char *prefix, uint32_t kind,
		       const struct trace_message *messages, size_t n)
{
	const uint32_t count = count_of(messages, n, kind);

	if (count && rows[kind].sum)
		rows[kind].sum(o, prefix, count);
	if (count && rows[kind].names)
		print_reasons(o, prefix, kind, messages, n);
}

/* Programs that ran untraced come first. */
void messages_print(struct out *o, const char *prefix, const struct trace_message *messages,
		    size_t n)
{
	print_untraced(o, prefix, messages, n);
	for (unsigned turn = TURN_NONE + 1; turn < TURNS_N; turn++) {
		for (size_t i = 0; i < n; i++) {
			const struct message_row *row = row_of_kind(messages[i].kind);

			if (row->turn == turn && row->each)
				row->each(o, prefix, &messages[i]);
		}
		for (uint32_t kind = 0; kind < MESSAGE_KINDS; kind++)
			if (rows[kind].turn == turn)
				print_kind(o, prefix, kind, messages, n);
	}
}
