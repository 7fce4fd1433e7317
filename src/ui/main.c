/* SPDX-License-Identifier: MIT */
/* brace COMMAND: finds the command, parses its options, runs it. The exit status is the command's,
 * or EXIT_BRACE with a sentence. It is the main thread. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/child_signal.h"
#include "ui/commands.h"
#include "ui/help.h"
#include "ui/hint.h"
#include "ui/others.h"
#include "ui/screen.h"
#include "ui/say.h"

/* --help in a command's line is `brace help COMMAND`. */
static int print_help(const struct command *c)
{
	struct invocation inv = { .command = c };

	inv.help = true;
	return cmd_help(&inv);
}

/* A failure has no hint. */
static int run_with_hint(struct invocation *inv)
{
	bool hint = hint_is_wanted(inv);
	int status = inv->command->run(inv);

	if (hint && !status)
		hint_say(inv);
	return status;
}

/* The invocation lives as long as the command; what its options have built is freed here alone. */
static int run_command(const struct command *c, char **argv)
{
	/* Without --session every command means the session of this name. */
	struct invocation inv = { .command = c, .session = "default" };
	struct err err;
	int status;

	settings_init(&inv.settings);
	if (invocation_parse(&inv, argv, &err))
		status = say_error(&err);
	else if (inv.help)
		status = print_help(c);
	else
		status = run_with_hint(&inv);
	invocation_free(&inv);
	return status;
}

/* Commands that other tracers have (ui/others.c) come before a likely slip: `brace top` is not
 * meant for `brace stop`. */
static int no_command(const char *name)
{
	const char *near = command_nearest(name), *instead = others_command(name);
	char cut[SAY_WORD];

	name = say_word(name, cut);
	if (instead)
		say("brace: there is no command %s: %s\n", name, instead);
	else if (near)
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

	/* Before anything can write a file: RLIMIT_FSIZE ends a process by this signal before a
	 * write can fail. */
	child_signal_survive(SIGXFSZ);
	child_signal_take();
	if (!name) {
		say("brace: which command? `brace help` lists them\n");
		return EXIT_BRACE;
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcmp(name, aliases[i].option))
			name = aliases[i].command;
	c = command_find(name);
	return c ? run_command(c, argv + 2) : no_command(name);
}
