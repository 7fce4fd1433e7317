/* SPDX-License-Identifier: MIT */
/* brace help: prints from the same tables that the parser reads. main() calls it, on brace's only
 * thread, also for --help of any command. Fails if there is no command of the name, if nothing has
 * the words of --search, or if the output cannot be written. */
#include "ui/commands.h"
#include "ui/help.h"
#include "ui/help_search.h"
#include "ui/screen.h"
#include "ui/say.h"

/* Without words it prints the index. */
static int search(const struct invocation *inv)
{
	struct screen o;
	size_t n;

	screen_open(&o, inv, SCREEN_PAGED, NULL);
	if (!inv->n_operands) {
		help_wants(&o.text);
		return screen_close(&o, 0);
	}
	n = help_search(&o.text, inv->operands, inv->n_operands);
	if (!n)
		say("brace: nothing in the help or the manual has these words; `brace help --search` "
		    "without words lists questions\n");
	return screen_close(&o, n ? 0 : EXIT_BRACE);
}

/* `brace help COMMAND`, and --help of every command, which comes here with inv->help set. */
int cmd_help(struct invocation *inv)
{
	const struct command *c = inv->help ? inv->command : NULL;
	char cut[SAY_WORD];
	struct screen o;

	if (!inv->help && inv->search)
		return search(inv);
	if (!inv->help && inv->n_operands > 1) {
		say("brace: help: unexpected argument: %s; `brace help --search WORDS` searches\n",
		    say_word(inv->operands[1], cut));
		return EXIT_BRACE;
	}
	if (!inv->help && inv->n_operands) {
		c = command_find(inv->operands[0]);
		if (!c) {
			say("brace: there is no command %s; `brace help` lists them\n",
			    say_word(inv->operands[0], cut));
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
