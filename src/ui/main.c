/* SPDX-License-Identifier: MIT */
/* brace COMMAND: finds the command, reads its options, runs it. */
#include <signal.h>
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

static void go_on(int sig) { (void)sig; }

/* The limit for files ends who meets it by a signal, before he can say so. It is caught, not ignored: what brace executes must
 * find it as brace did. */
static void survive_file_limit(void)
{
	struct sigaction old;

	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = go_on, .sa_flags = SA_RESTART }, NULL);
}

int main(int argc, char **argv)
{
	static const struct { const char *option, *command; } aliases[] = {
		{ "--help", "help" }, { "-h", "help" }, { "--version", "version" },
		{ "-V", "version" },
	};
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *c;

	survive_file_limit();
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
