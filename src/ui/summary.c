/* SPDX-License-Identifier: MIT */
/* Called on the main thread after a session, by the commands that trace. Only prints; a trace file
 * that cannot be read again is said, and changes no status. */
#include "ui/summary.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "hook/plan.h"
#include "report/black_box.h"
#include "ui/messages.h"
#include "ui/say.h"

#define COVERAGE_SAID 95 /* per cent of the code: where more is known nothing is said */
#define LAST_THREADS 16 /* threads shown; the file has all */

const char *summary_grouped(uint64_t v, char *buf)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	char *p = buf;

	/* A comma goes before every digit that begins a group of three. */
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}

/* "brace: 1,234 calls, 5,678 bytes (4.60 a call), no records lost; main after 1.2 ms, ran 0.003 s".
 * Where only events were recorded, their number is told too. */
static void say_counts(const struct session_result *r, const char *trace_file)
{
	char calls[32], lost[32], bytes[32];

	say("brace: %s calls", summary_grouped(r->calls, calls));
	if (!r->calls && r->records)
		say(", %s event%s", summary_grouped(r->records, calls), r->records == 1 ? "" : "s");
	if (trace_file) {
		say(", %s bytes", summary_grouped(r->bytes, bytes));
		if (r->calls)
			say(" (%.2f a call)", (double)r->bytes / (double)r->calls);
	}
	say(", %s records lost", r->lost ? summary_grouped(r->lost, lost) : "no");
	if (!r->attached)
		say("; main after %.1f ms, ran %.3f s", (double)r->to_main_ns / 1e6,
		    (double)r->run_ns / 1e9);
	say("\n");
}

/* "1,234 jump, 5 short" for the non-zero of n counts, words from a table. */
static void say_words(const uint32_t *counts, unsigned n, const char *const *words)
{
	const char *comma = "";
	char buf[32];

	for (unsigned i = 1; i < n; i++) {
		if (!counts[i])
			continue;
		say("%s%s %s", comma, summary_grouped(counts[i], buf), words[i]);
		comma = ", ";
	}
}

/* The sum of n counts without the first, which stands for "none". */
static uint32_t sum_counts(const uint32_t *counts, unsigned n)
{
	uint32_t total = 0;

	for (unsigned i = 1; i < n; i++)
		total += counts[i];
	return total;
}

/* Hooked ones by kind, others by reason: whoever misses a function sees at once where to look.
 * Without a newline: summary_print() may add the number of programs. */
static void say_hooks(const uint32_t *by_kind, const uint32_t *by_reason)
{
	uint32_t hooked = sum_counts(by_kind, HOOK_KINDS_N), left[REASONS_N];
	char n[32];

	/* Index 0 of both counts is "none", which sum_counts and say_words skip. */
	memcpy(left, by_reason, sizeof(left));
	left[REASON_COLD] = left[REASON_FILTERED] = 0; /* not functions; not asked for */
	say("brace: %s of", summary_grouped(hooked, n));
	say(" %s functions hooked", summary_grouped(hooked + sum_counts(left, REASONS_N), n));
	if (hooked)
		say(": ");
	say_words(by_kind, HOOK_KINDS_N, hook_kind_words);
	if (sum_counts(left, REASONS_N))
		say("; not hooked: ");
	say_words(left, REASONS_N, hook_reason_words);
	if (by_reason[REASON_FILTERED])
		say("; %s filtered out", summary_grouped(by_reason[REASON_FILTERED], n));
}

void summary_hooks(const uint32_t *by_kind, const uint32_t *by_reason)
{
	say_hooks(by_kind, by_reason);
	say("\n");
}

void summary_coverage(uint64_t code_bytes, uint64_t unknown_bytes)
{
	/* Without code there is nothing unknown. */
	double known = code_bytes
			       ? 100.0 * (double)(code_bytes - unknown_bytes) / (double)code_bytes
			       : 100;

	if (known < COVERAGE_SAID)
		say("brace: all known functions are %.1f %% of the code; the rest has neither symbols, unwind tables nor callers that are known, and is not seen\n",
		    known);
}

/* --- the black box ---------------------------------------------------------------------- */

/* Prints all that could be read, also after a failure, which is the result. The first image is the
 * launched program's. */
static int print_last(struct store_reader *reader, int sig, unsigned n, struct err *err)
{
	const struct trace_info *info = store_info(reader);
	const struct trace_image *program = trace_info_program(info);
	uint32_t pid = program ? program->pid : 0;
	struct black_box last;
	struct out out;
	int e = black_box_read(reader, pid, n, sig, &last, err);

	say("brace: SIG%s (%s) ended the program; its threads' last calls:\n",
	    sigabbrev_np(sig) ? sigabbrev_np(sig) : "?", strsignal(sig));
	out_init(&out, say_bytes, NULL);
	black_box_print(&last, LAST_THREADS, "brace: ", &out);
	out_flush(&out);
	out_free(&out);
	black_box_free(&last);
	return e;
}

/* Only a program that a signal ended has last calls to be asked about. */
void summary_black_box(const char *trace_file, int wait_status, unsigned n)
{
	struct store_reader *reader;
	struct err err;

	if (!n || !WIFSIGNALED(wait_status))
		return;
	/* Read back from the file, which has all threads' records in their order. */
	if (store_open(trace_file, &reader, &err)) {
		say_error(&err);
		return;
	}
	if (print_last(reader, WTERMSIG(wait_status), n, &err) < 0)
		say_error(&err);
	store_close(reader);
}

/* Tells how long attached processes were stopped, and what was left in them. */
static void say_attached(const struct session_result *r)
{
	say("brace: attached for %.3f s; the longest stop was %.2f ms going in and %.2f ms coming out, of %u thread%s\n",
	    (double)r->run_ns / 1e9, (double)r->attach_ns / 1e6, (double)r->leave_ns / 1e6,
	    r->threads, r->threads == 1 ? "" : "s");
	if (sum_counts(r->by_kind, HOOK_KINDS_N) && !r->records && !r->lost)
		say("brace: no call was made meanwhile: brace stack -p PID prints where its threads stand, brace locks --now -p PID who waits for whose lock\n");
	if (r->changed)
		say("brace: %u places were changed by somebody else meanwhile, and left as they are\n",
		    r->changed);
}

/* Tells that arguments, or types of values, were asked for and none were found. */
static void print_arguments(struct out *o, const struct argument_count *c)
{
	char n[32];

	if (c->unfit) {
		out_printf(o, "brace: %s function%s with a condition %s not traced: ",
			   summary_grouped(c->unfit, n), c->unfit == 1 ? "" : "s",
			   c->unfit == 1 ? "is" : "are");
		out_foreign(o, c->fault.text, strlen(c->fault.text));
		out_str(o, "\n");
	}
	if (c->asked_args && !c->args)
		out_str(o, "brace: no traced function matches --args=GLOB: brace list shows their names\n");
	if (c->asked_types && !c->types)
		out_str(o, "brace: no traced function matches --retval=GLOB: brace list shows their names\n");
	if (!c->modules)
		return;
	out_str(o, "brace: ");
	out_foreign(o, c->module, sizeof(c->module));
	if (c->modules > 1)
		out_printf(o, " and %" PRIu32 " other file%s have", c->modules - 1,
			   c->modules == 2 ? "" : "s");
	out_printf(o,
		   "%s no debug information: arguments and types of %s function%s are not known (compile with -g, or install the -dbgsym package)\n",
		   c->modules > 1 ? "" : " has", summary_grouped(c->unknown, n),
		   c->unknown == 1 ? "" : "s");
}

void summary_messages(const struct session_result *r)
{
	struct out out;

	out_init(&out, say_bytes, NULL);
	print_arguments(&out, &r->arguments);
	messages_print(&out, "brace: ", r->messages, r->n_messages);
	out_flush(&out);
	out_free(&out);
}

void summary_full(const struct session_result *r)
{
	char lost[32], all[32];

	/* The writer failed while the program ran on: what came after that is lost. An error
	 * without a loss is told by itself. */
	if (r->full.code && r->lost)
		say("brace: %s: %s of %s records are lost\n", r->full.text,
		    summary_grouped(r->lost, lost), summary_grouped(r->lost + r->records, all));
	else if (r->full.code)
		say_error(&r->full);
}

bool summary_stuck(const struct session_result *r)
{
	if (!r->stuck)
		return false;
	say("brace: %u process%s could not be left as before: %s\n", r->stuck,
	    r->stuck == 1 ? "" : "es", r->stuck_why.text);
	/* The patches do no harm, but only another brace takes them out: say how. */
	say("brace: process %d runs on, patches of brace still in it; brace record -p %d --duration 1ms takes the patches out\n",
	    (int)r->stuck_pid, (int)r->stuck_pid);
	return r->attached;
}

/* With --rotate, how many files there are, and what those had that were removed. */
static void say_file(const struct session_result *r, const char *trace_file)
{
	char gone[32], all[32];

	if (r->files_removed)
		say("brace: %u of %u trace files were removed (--keep), with %s of %s records\n",
		    r->files_removed, r->files_before + 1,
		    summary_grouped(r->records_removed, gone), summary_grouped(r->records, all));
	if (r->files_before > r->files_removed)
		say("brace: the trace is in %u files, %s and %s.N; brace report and brace replay read each of them\n",
		    r->files_before - r->files_removed + 1, trace_file, trace_file);
	else
		say("brace: trace in %s; brace report and brace replay read it\n", trace_file);
}

/* Figures first, then what was hooked, what was left in attached processes, messages, and where the
 * trace is. */
void summary_print(const struct session_result *r, const char *trace_file)
{
	say_counts(r, trace_file);
	say_hooks(r->by_kind, r->by_reason);
	if (r->programs > 1 && !r->attached)
		say("; this is the first of %u programs", r->programs);
	say("\n");
	summary_coverage(r->code_bytes, r->unknown_bytes);
	if (r->attached)
		say_attached(r);
	summary_messages(r);
	if (trace_file)
		say_file(r, trace_file);
}
