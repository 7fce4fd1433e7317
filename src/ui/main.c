/* brace COMMAND: finds the command, reads its options, runs it. */
#include <stdio.h>
#include <string.h>

#include "ui/commands.h"
#include "ui/help.h"
#include "ui/screen.h"
#include "ui/say.h"

static int print_help(const struct command *c)
{
	struct invocation inv = { .command = c };

	inv.help = true;
	return cmd_help(&inv);
}

static int run(const struct command *c, char **argv)
{
	struct invocation inv = { .command = c, .session = "default" };
	struct err err;
	int status;

	settings_init(&inv.settings);
	if (invocation_parse(&inv, argv, &err))
		status = say_error(&err);
	else if (inv.help)
		status = print_help(c);
	else
		status = c->run(&inv);
	invocation_free(&inv);
	return status;
}

static int no_command(const char *name)
{
	const char *near = command_nearest(name);

	if (near)
		say("brace: there is no command %s; did you mean %s?\n", name, near);
	else
		say("brace: there is no command %s; `brace help` lists them\n", name);
	return EXIT_BRACE;
}

int main(int argc, char **argv)
{
	static const struct { const char *option, *command; } aliases[] = {
		{ "--help", "help" }, { "-h", "help" }, { "--version", "version" },
		{ "-V", "version" },
	};
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *c;

	if (!name) {
		say("brace: which command? `brace help` lists them\n");
		return EXIT_BRACE;
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcmp(name, aliases[i].option))
			name = aliases[i].command;
	c = command_find(name);
	return c ? run(c, argv + 2) : no_command(name);
}
