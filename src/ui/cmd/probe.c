/* SPDX-License-Identifier: MIT */
/* brace probe: perf probe's habits over brace. A definition in the source's words becomes an event
 * of `brace graph`, whose hits are printed as they come; or, with -n, a line to be written to a
 * session's uprobe_events. The lists are probe_source.c's. main() calls it, on brace's only thread.
 * A failure is said, and is EXIT_BRACE. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ui/binary.h"
#include "ui/commands.h"
#include "ui/probe_option.h"
#include "ui/probe_source.h"
#include "ui/say.h"
#include "ui/screen.h"

/* The program or library of a list: -x, or the one that is run or attached to. NULL: said. */
static char *file_of_list(const struct invocation *inv)
{
	char *path = inv->binary ? binary_path(inv->binary) : probe_options_program(inv);

	if (!path)
		say("brace: whose? -x FILE, -p PID, or a program behind --\n");
	return path;
}

static int print_list(struct invocation *inv)
{
	char *path = file_of_list(inv);
	int status = EXIT_BRACE;

	if (path && inv->of_probe.variables)
		status = probe_source_variables(inv, path);
	else if (path && inv->of_probe.lines)
		status = probe_source_lines(inv, path);
	else if (path)
		status = probe_source_functions(inv, path);
	free(path);
	return status;
}

/* Each definition becomes what -e and -f of `brace graph` are given. */
static int write_probes(struct invocation *inv, struct err *err)
{
	static const struct option event = { 'a', "add", .file = "set_event", .append = true },
				   filter = { 'f', "filter", .file = "filter" };
	char *path = inv->binary ? binary_path(inv->binary) : NULL, real[PATH_MAX];

	/* The line that is made is good in any folder. */
	if (path && file_real_path(path, real)) {
		free(path);
		path = mem_strdup(real);
	}
	for (size_t i = 0; i < inv->of_probe.probes.n; i++) {
		const struct probe_spec *p = &inv->of_probe.probes.at[i];

		probe_options_add_perf(inv, &event, p->text, path);
		if (p->filter)
			set_of_event(inv, &filter, p->filter, err);
	}
	free(path);
	return probe_options_resolve(inv, err);
}

/* --dry-run: the lines can be written into uprobe_events as they are. */
static int print_definitions(const struct invocation *inv)
{
	struct screen o;

	screen_open(&o, inv, SCREEN_PLAIN, NULL);
	for (size_t i = 0; i < inv->definitions.n; i++)
		out_printf(&o.text, "%s\n", inv->definitions.at[i].line);
	return screen_close(&o, 0);
}

/* The sentence for what does not go together; NULL: all does. Definitions have been taken. */
static const char *wrong_probes(const struct invocation *inv)
{
	if (!inv->of_probe.probes.n)
		return "a probe is missing: brace probe 'FUNCTION VARIABLE...' -- PROGRAM; -F lists functions, -L lines, -V variables";
	if (!inv->of_probe.dry_run && !inv->pids.n && !inv->n_operands)
		return "a program stands behind --, or -p PID names one that runs; -n prints the definition alone";
	return NULL;
}

/* Operands before -- are probes, as -a has them. */
int cmd_probe(struct invocation *inv)
{
	const char *wrong;
	struct err err;

	if (inv->list_events + !!inv->of_probe.variables + !!inv->of_probe.lines > 1) {
		say("brace: -F, -V or -L: one list at a time\n");
		return EXIT_BRACE;
	}
	if (inv->list_events || inv->of_probe.variables || inv->of_probe.lines)
		return print_list(inv);
	for (int i = 0; i < inv->n_questions; i++)
		*vec_add(&inv->of_probe.probes) = (struct probe_spec){ inv->questions[i], NULL };
	wrong = wrong_probes(inv);
	if (wrong) {
		say("brace: %s\n", wrong);
		return EXIT_BRACE;
	}
	if (write_probes(inv, &err) < 0)
		return say_error(&err);
	return inv->of_probe.dry_run ? print_definitions(inv) : cmd_graph(inv);
}
