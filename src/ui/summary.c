/* SPDX-License-Identifier: MIT */
#include "ui/summary.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "hook/plan.h"
#include "report/last.h"
#include "ui/notes.h"
#include "ui/say.h"

#define LAST_THREADS 16 /* that are shown; the file has all */

const char *summary_grouped(uint64_t v, char *buf)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	char *p = buf;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}

static void say_counts(const struct session_result *r, const char *trace_file)
{
	char calls[32], lost[32], bytes[32];

	say("brace: %s calls", summary_grouped(r->calls, calls));
	if (trace_file) {
		say(", %s bytes", summary_grouped(r->bytes, bytes));
		if (r->calls)
			say(" (%.2f a call)", (double)r->bytes / (double)r->calls);
	}
	say(", %s records lost", r->lost ? summary_grouped(r->lost, lost) : "no");
	if (!r->attached)
		say("; main after %.1f ms, ran %.3f s", (double)r->to_main_ns / 1e6, (double)r->run_ns / 1e9);
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
static uint32_t sum(const uint32_t *counts, unsigned n)
{
	uint32_t total = 0;

	for (unsigned i = 1; i < n; i++)
		total += counts[i];
	return total;
}

void summary_hooks(const uint32_t *by_kind, const uint32_t *by_reason)
{
	uint32_t hooked = sum(by_kind, HOOK_KINDS_N), left[REASONS_N];
	char n[32];

	memcpy(left, by_reason, sizeof(left));
	left[REASON_COLD] = left[REASON_FILTERED] = 0; /* no functions; not asked for */
	say("brace: %s of", summary_grouped(hooked, n));
	say(" %s functions hooked", summary_grouped(hooked + sum(left, REASONS_N), n));
	if (hooked)
		say(": ");
	say_words(by_kind, HOOK_KINDS_N, hook_kind_words);
	if (sum(left, REASONS_N))
		say("; not hooked: ");
	say_words(left, REASONS_N, hook_reason_words);
	if (by_reason[REASON_FILTERED])
		say("; %s filtered out", summary_grouped(by_reason[REASON_FILTERED], n));
	say("\n");
}

/* --- the black box ---------------------------------------------------------------------- */

static int print_last(struct store_reader *reader, int sig, unsigned n, struct err *err)
{
	const struct trace_info *info = store_info(reader);
	uint32_t pid = info->images.n ? info->images.at[0].pid : 0;
	struct last last;
	struct out out;
	int e = last_read(reader, pid, n, sig, &last, err);

	say("brace: SIG%s (%s) ended the program; its threads' last calls:\n", sigabbrev_np(sig) ? sigabbrev_np(sig) : "?",
	    strsignal(sig));
	out_init(&out, say_bytes, NULL);
	last_print(&last, LAST_THREADS, "brace: ", &out);
	out_flush(&out);
	out_free(&out);
	last_free(&last);
	return e;
}

void summary_last(const char *trace_file, int wait_status, unsigned n)
{
	struct store_reader *reader;
	struct err err;

	if (!n || !WIFSIGNALED(wait_status))
		return;
	if (store_open(trace_file, &reader, &err)) {
		say_error(&err);
		return;
	}
	if (print_last(reader, WTERMSIG(wait_status), n, &err) < 0)
		say_error(&err);
	store_close(reader);
}

/* How the attached processes fared. */
static void say_attached(const struct session_result *r)
{
	say("brace: attached for %.3f s; the longest stop was %.2f ms going in and %.2f ms coming out, of %u thread%s\n",
	    (double)r->run_ns / 1e9, (double)r->attach_ns / 1e6, (double)r->leave_ns / 1e6, r->threads,
	    r->threads == 1 ? "" : "s");
	if (r->changed)
		say("brace: %u places were changed by somebody else meanwhile, and left as they are\n", r->changed);
	if (r->stuck)
		say("brace: %u process%s could not be left as before: %s\n", r->stuck, r->stuck == 1 ? "" : "es",
		    r->stuck_why.text);
}

static void say_notes(const struct session_result *r)
{
	struct out out;

	out_init(&out, say_bytes, NULL);
	notes_print(&out, "brace: ", r->notes, r->n_notes);
	out_flush(&out);
	out_free(&out);
}

void summary_full(const struct session_result *r)
{
	char lost[32], all[32];

	if (r->full.code && r->lost)
		say("brace: %s: %s of %s records are lost\n", r->full.text, summary_grouped(r->lost, lost),
		    summary_grouped(r->lost + r->records, all));
	else if (r->full.code)
		say_error(&r->full);
}

void summary_print(const struct session_result *r, const char *trace_file)
{
	say_counts(r, trace_file);
	summary_hooks(r->by_kind, r->by_reason);
	if (r->attached)
		say_attached(r);
	say_notes(r);
	if (trace_file)
		say("brace: trace in %s\n", trace_file);
}
