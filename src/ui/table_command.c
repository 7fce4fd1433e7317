/* SPDX-License-Identifier: MIT */
/* Called by the commands, on the main thread. Live, it takes the records while the monitor's thread
 * heeds interrupts (run.h); the table comes when the recording ends. What fails is said, and ends
 * the command with EXIT_BRACE. */
#include "ui/table_command.h"

#include "store/store.h"
#include "ui/say.h"
#include "ui/stream_run.h"
#include "ui/trace_file.h"

static int read_table_file(struct invocation *inv, const struct table_command *c,
			   const void *choice)
{
	struct store_reader *reader;
	struct source *source;
	int status = trace_file_open(inv, &reader);

	if (status)
		return status;
	source = store_source(reader);
	status = c->print(inv, choice, source, false);
	source->ops->close(source);
	store_close(reader);
	return status;
}

struct table_run {
	struct invocation *inv;
	const struct table_command *command;
	const void *choice;
	int status;               /* of what was printed */
};

/* No record is kept: only the table's rows take memory, however long the program runs. */
static int take_program(void *arg, struct source *source, struct err *err)
{
	struct table_run *r = arg;

	source->ordered |= r->command->ordered;
	r->status = r->command->print(r->inv, r->choice, source, true);
	return 0;
}

static int end_program(void *arg, const struct err *failed)
{
	const struct table_run *r = arg;

	return r->status;
}

static int run_program(struct invocation *inv, const struct table_command *c, const void *choice)
{
	static const struct stream_use use = { NULL, take_program, NULL, end_program };
	struct table_run run = { inv, c, choice, 0 };
	struct err err;

	return c->name_events(inv, choice, &err) ? say_error(&err) : stream_run(inv, &use, &run);
}

int table_command_run(struct invocation *inv, const struct table_command *c, const void *choice)
{
	if (inv->is_program && !inv->n_operands && !inv->pids.n) {
		say("brace: no program stands behind --\n");
		return EXIT_BRACE;
	}
	if (inv->is_program || inv->pids.n)
		return run_program(inv, c, choice);
	if (inv->n_operands < 2)
		return read_table_file(inv, c, choice);
	say("brace: one trace file, not %d; a program to run stands behind --\n", inv->n_operands);
	return EXIT_BRACE;
}
