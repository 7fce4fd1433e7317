/* SPDX-License-Identifier: MIT */
/* cmd/fleet.c calls it, on brace's only thread. The file has its name only when it is whole. Fails
 * on a run whose file is not there, or not all of it, and on a file that cannot be written. */
#include "ui/fleet_fetch.h"

#include <stdlib.h>

#include "base/new_file.h"
#include "fleet/trace_file.h"
#include "ui/fleet_option.h"
#include "ui/interrupt.h"
#include "ui/say.h"

/* 0, or EXIT_BRACE (said). */
static int read_run(const struct invocation *inv, uint64_t *run)
{
	const char *word = inv->n_operands == 2 ? inv->operands[1] : "";
	char cut[SAY_WORD];

	if (inv->n_operands != 2)
		say("brace: fleet fetch wants a run: brace fleet fetch RUN -o FILE; brace fleet runs lists them\n");
	else if (!fleet_option_run(word, run))
		say("brace: %s is no run, 16 digits as brace fleet runs prints it\n", say_word(word, cut));
	else if (!inv->output)
		say("brace: fleet fetch wants a name for the file: -o FILE\n");
	else
		return 0;
	return EXIT_BRACE;
}

/* Two errors: that of the fetching is the cause, and is told before that of the file's end. */
static int fetch(const struct invocation *inv, const struct fleet_servers *s, uint64_t run)
{
	struct whole_file file;
	struct fleet_answer a;
	struct err err, end;
	int r = new_file_begin(&file, inv->output, "trace file", &err), e;

	if (r < 0)
		return say_error(&err);
	r = fleet_trace_fetch(s, run, file.fd, &a, &err);
	e = new_file_end(&file, !r, &end);
	if (r || e)
		return say_error(r ? &err : &end);
	return 0;
}

int fleet_fetch(const struct invocation *inv)
{
	struct fleet_servers servers = { 0 };
	uint64_t run;
	int status = read_run(inv, &run);

	if (!status)
		status = fleet_option_servers(inv, "fleet", &servers);
	for (size_t i = 0; i < servers.at.n; i++)
		/* An interrupt ends the transfer, and new_file_end() takes the half file away. */
		servers.at.at[i].stop = interrupt_catch();
	if (!status)
		status = fetch(inv, &servers, run);
	fleet_servers_free(&servers);
	return status;
}
