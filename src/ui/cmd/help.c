/* SPDX-License-Identifier: MIT */
/* brace help: prints from the same tables that the parser reads. main() calls it, on brace's only
 * thread, also for --help of any command. Fails if there is no command of the name, or if the
 * output cannot be written. */
#include "ui/commands.h"
#include "ui/help.h"
#include "ui/screen.h"
#include "ui/say.h"

/* `brace help COMMAND`, and --help of every command, which comes here with inv->help set. */
int cmd_help(struct invocation *inv)
{
	const struct command *c = inv->help ? inv->command : NULL;
	struct screen o;

	if (!inv->help && inv->n_operands) {
		c = command_find(inv->operands[0]);
		if (!c) {
			say("brace: there is no command %s; `brace help` lists them\n",
			    inv->operands[0]);
			return EXIT_BRACE;
		}
	}
	screen_open(&o, inv, SCREEN_PLAIN, NULL);
	if (c)
		help_command(&o.text, c);
	else
		help_all(&o.text);
	return screen_close(&o, 0);
}
