/* SPDX-License-Identifier: MIT */
/* brace import: another tool's trace as a trace file. main() calls it, on brace's only thread.
 * Fails on what is none, and on an output that cannot be written. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "ui/commands.h"
#include "ui/run_helper.h"
#include "ui/say.h"
#include "ui/summary.h"

/* Bytes of a tool's text that are read: it is kept in memory until its calls are. */
#define TEXT_MOST (1u << 30)

/* The tool that knows all versions of a file, how its text's records end, and why there may be
 * none. */
static const struct reading_tool {
	const char *name, *arguments[4];
	const char *end;       /* of a record of the text, behind which it may be cut */
	const char *missing;
} tools[IMPORT_BINARIES_N] = {
	[IMPORT_TRACE_DAT] = { "trace-cmd", { "report", "-t", "-i" }, "\n",
		"trace-cmd, which reads a trace.dat, is not there (package trace-cmd) or refuses it" },
	[IMPORT_PERF_DATA] = { "perf", { "script", "-i" }, "\n\n",
		"perf, which reads its own file, is not there (package linux-perf) or refuses it: perf script -i FILE tells why" },
	[IMPORT_CTF] = { "babeltrace2", { "--clock-seconds", "--no-delta" }, "\n",
		"babeltrace2, which reads CTF, is not there (package babeltrace2) or refuses it: babeltrace2 DIRECTORY tells why" },
};

/* The path as a tool takes it: one that begins with `-` would be an option, and babeltrace2 takes
 * `help` for a command. free() it. */
static char *path_for_tool(const char *path)
{
	return mem_printf("%s%s", *path == '/' ? "" : "./", path);
}

/* The number of events that the tracer of a CTF trace discarded. Only where babeltrace2 prints the
 * events it warns of those between two packets, so that it prints all once more. `given`: the path
 * as babeltrace2 takes it. */
static uint64_t discarded_of(const char *path, const char *given)
{
	static const char mark[] = "Tracer discarded ";
	const char *const argv[] = { "babeltrace2", given, NULL };
	struct helper_text said = run_helper_errors(argv, TEXT_MOST, "\n");
	uint64_t n = 0;

	for (char *at = said.text; at && (at = strstr(at, mark)); at += strlen(mark))
		n += strtoull(at + strlen(mark), NULL, 10);
	if (n)
		say_warning("the tracer of %s discarded %" PRIu64 " events: calls that are open there end with the next call that can be told",
			    path, n);
	free(said.text);
	return n;
}

/* Runs the tool on the path, in the form that the tool takes. Returns its output; the caller frees
 * the text. */
static struct helper_text run_tool(const struct reading_tool *tool, const char *given)
{
	const char *argv[6] = { tool->name };
	size_t n = 1;

	for (size_t i = 0; i < 4 && tool->arguments[i]; i++)
		argv[n++] = tool->arguments[i];
	argv[n] = given;
	return run_helper(argv, TEXT_MOST, tool->end);
}

/* read_binary() of a path that is one. */
static int read_by_tool(const char *path, enum import_binary is, char **text, uint64_t *discarded)
{
	const struct reading_tool *tool = &tools[is];
	char *given = path_for_tool(path);
	struct helper_text printed = run_tool(tool, given);

	*text = printed.text;
	if (is == IMPORT_CTF && printed.text)
		*discarded = discarded_of(path, given);
	free(given);
	if (!printed.text) {
		say("brace: cannot import %s: %s\n", path, tool->missing);
		return EXIT_BRACE;
	}
	if (printed.cut)
		say_warning("%s prints more than %u MiB of %s: what it prints behind that is left out",
			    tool->name, TEXT_MOST >> 20, path);
	return 0;
}

/* *text: what the file's own tool prints of it, for free(). NULL: the path is none of those.
 * *discarded: events that it has no more. 0, or the exit status, when it is said. */
static int read_binary(const char *path, char **text, uint64_t *discarded)
{
	const enum import_binary is = import_binary_of(path);
	struct err err;

	*text = NULL;
	*discarded = 0;
	if (is == IMPORT_NO_BINARY)
		return 0;
	if (is == IMPORT_CTF && import_check_below(path, &err))
		return say_error(&err);
	return read_by_tool(path, is, text, discarded);
}

/* A warning tells the records that were left out, also with -q: the trace has less than its
 * source. */
int cmd_import(struct invocation *inv)
{
	const char *output = inv->output ? inv->output : "imported.brace";
	struct import_result r;
	char calls[32], lost[32];
	struct err err;
	uint64_t discarded;
	char *text;
	int failed = read_binary(inv->operands[0], &text, &discarded);

	if (failed)
		return failed;
	failed = import_trace(inv->operands[0], text, output, &r, &err);
	free(text);
	if (failed)
		return say_error(&err);
	r.lost += discarded;
	if (r.left_out)
		say_warning("%" PRIu64 " records of %s are left out: they are no calls", r.left_out,
			    r.tool);
	if (r.strange)
		say_warning("%" PRIu64 " binaries here are not those that were traced: their functions have addresses for names",
			    r.strange);
	if (inv->quiet)
		return 0;
	say("brace: %s calls of %" PRIu64 " thread%s from %s, %s records lost\n",
	    summary_grouped(r.calls, calls), r.threads, r.threads == 1 ? "" : "s", r.tool,
	    r.lost ? summary_grouped(r.lost, lost) : "no");
	say("brace: trace in %s; brace report and brace replay read it\n", output);
	return 0;
}
