/* SPDX-License-Identifier: MIT */
/* Two tables. The parser asks them about unknown words, before it guesses a slip of the fingers: a
 * user who types `brace dump` does not mean `brace stop`. No entry may be a command or an option
 * that brace has (tests/ui/cli.sh). Constants only; on the main thread. */
#include "ui/others.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Commands of other tracers, and what does the job here. */
static const struct { const char *word, *instead; } commands[] = {
	{ "trace", "`brace record -- PROGRAM` writes a trace, `brace graph -- PROGRAM` shows it as it is made" },
	{ "run", "`brace record -- PROGRAM` runs it and writes a trace" },
	{ "live", "`brace graph -- PROGRAM` shows calls as they are made" },
	{ "attach", "`brace record -p PID` attaches to a process" },
	{ "profile", "`brace record -- PROGRAM` and `brace report` tell where the time goes" },
	{ "dump", "`brace replay` prints all records, `brace report --json` numbers for programs" },
	{ "script", "`brace replay` prints all records, `brace report --json` numbers for programs" },
	{ "annotate", "brace has calls, not samples: `brace report` tells which functions take the time" },
};

/* command NULL: of any that records. */
static const struct { const char *command, *option, *instead; } options[] = {
	{ NULL, "-F", "functions are chosen by -l, as by trace-cmd" },
	{ NULL, "-N", "functions are left out by -n, as by trace-cmd" },
	{ NULL, "-D", "the depth is limited by --max-graph-depth" },
	{ NULL, "--depth", "the depth is limited by --max-graph-depth" },
	{ NULL, "--max-depth", "the depth is limited by --max-graph-depth" },
	{ NULL, "-T", "what shall happen at an event is said by -R, behind its -e" },
	{ NULL, "-a", "of every function that can be hooked calls are recorded; -L opens libraries" },
	{ NULL, "-c", "calls are counted by `brace report`" },
	{ NULL, "-A", "arguments of functions are recorded by --args=GLOB, what they return by --retval=GLOB" },
	{ NULL, "--argument", "arguments of functions are recorded by --args=GLOB, what they return by --retval=GLOB" },
	{ NULL, "--call-graph", "every call is recorded: `brace replay` shows them nested" },
	{ NULL, "--time-filter", "short calls are left out by --threshold" },
	{ "probe", "-d", "a probe is gone when the command ends; of a session, `echo '-:NAME' >> uprobe_events` removes it" },
	{ "probe", "-l", "-F lists what can be probed; the probes of a session are in its uprobe_events" },
	{ "report", "-i", "the file is named without an option: `brace report FILE`" },
	{ "replay", "-i", "the file is named without an option: `brace replay FILE`" },
	{ "info", "-i", "the file is named without an option: `brace info FILE`" },
	{ "report", "-F", "functions are named behind the file: `brace report FILE GLOB`" },
	{ "report", "-l", "functions are named behind the file: `brace report FILE GLOB`" },
	{ "replay", "-F", "functions are chosen when they are recorded: `brace record -l GLOB`" },
	{ "replay", "-l", "functions are chosen when they are recorded: `brace record -l GLOB`" },
	{ "replay", "-D", "the depth is limited when it is recorded: `brace record --max-graph-depth N`" },
	{ "replay", "-t", "short calls are left out when they are recorded: `brace record --threshold TIME`" },
};

const char *others_command(const char *word)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(commands[i].word, word))
			return commands[i].instead;
	if (word[0] == '-')
		return "a command comes first: `brace record -p PID`, `brace graph -- PROGRAM`";
	return strchr(word, '/') ? "a command comes before the program: `brace record -- PROGRAM`"
				 : NULL;
}

const char *others_option(const char *command, const char *option)
{
	/* Rows without a command are meant for these. */
	bool records = !strcmp(command, "record") || !strcmp(command, "graph") ||
		       !strcmp(command, "start");

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		bool concerns = options[i].command ? !strcmp(options[i].command, command) : records;

		if (concerns && !strcmp(options[i].option, option))
			return options[i].instead;
	}
	return NULL;
}
