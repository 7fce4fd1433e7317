/* SPDX-License-Identifier: MIT */
/* The part of README behind the list of files: the grammar of what is written into them, in lines.
 * Scripts and the kernel's selftests look for pieces of its notation to learn what a tree can do:
 * only what this one does is here. Constants only; files.c prints them, on any thread. */
#include "tree/files.h"

#include <string.h>

#include "hist/modifier.h"

#define COLUMNS 84u /* of a line of modifiers */

/* The notation is the kernel's wherever its selftests look for it: their first lines (`# requires:
 * ...:README`) name a file and a piece of it. */
static const char *const lines[] = {
	"",
	"Definitions of events: kprobe_events, uprobe_events, dynamic_events",
	"  Create/append/remove: `>` removes all before it defines, `>>` adds; one definition a line.",
	"    p[:[<group>/][<event>]] <place> [<args>]",
	"    r[maxactive][:[<group>/][<event>]] <place> [<args>]",
	"    e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]",
	"    f[:[<group>/][<event>]] <func-name>[%return] [<args>]",
	"    t[:[<group>/][<event>]] <tracepoint> [<args>]",
	"    s:[synthetic/]<event> <field> [<field>]",
	"    -:[<group>/][<event>]",
	"    place: [<module>:]<symbol>[+<offset>]",
	"    place (kretprobe): [<module>:]<symbol>[+<offset>]%return",
	"    place (uprobe): <path>:<offset>[%return]",
	"    args: <name>=fetcharg[:type]",
	"    fetcharg: $comm, %<register>, @<address>, @+<offset>, @<symbol>[+|-<offset>],",
	"        $stack<index>, $stack, $retval, $arg<N>, $arg* (all of them),",
	"        <argname> of a function or tracepoint, <argname>->member of a function,",
	"        +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\",",
	"        $<field> of the attached event",
	"    kernel return probes support: $retval, $arg<N>, $comm",
	"    type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, ustring, symbol, symstr,",
	"        b<bit-width>@<bit-offset>/<container-size>, <type>\\[<array-size>\\]",
	"",
	"Synthetic events: synthetic_events",
	"    NAME TYPE FIELD[; TYPE FIELD]; types: u8 to u64, s8 to s64, pid_t, gfp_t, bool,",
	"        [unsigned] char, int, long, char[N], char[], unsigned long[]",
	"    example: echo 'wait u64 lat; char name[]; unsigned long[] stack' >> synthetic_events",
	"",
	"Triggers: events/SYSTEM/EVENT/trigger",
	"    TRIGGER[:COUNT][ if FILTER]; `!` before it removes it",
	"    traceon, traceoff, stacktrace, snapshot,",
	"    enable_event:SYSTEM:EVENT, disable_event:SYSTEM:EVENT,",
	"    enable_hist:SYSTEM:EVENT, disable_hist:SYSTEM:EVENT, hist:...",
	"    notify:[json:]unix=PATH tells a socket of each record; exec:COMMAND, notify:fd=N only",
	"    if brace's command line allows it",
	"",
	"Histograms: a trigger that counts; events/SYSTEM/EVENT/hist shows the counts, hist_debug how",
	"    the line was understood",
	"    hist:keys=<field1[,field2,...]>",
	"        [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]]",
	"        [:values=<field1[,field2,...]>]",
	"        [:sort=<field1[,field2,...]>]",
	"        [:size=#entries]",
	"        [:pause][:continue][:clear]",
	"        [:name=histname1]",
	"        [:nohitcount]",
	"        [:<handler>.<action>]",
	"        [if <filter>]",
	"    A key can be any field, or the special string 'common_stacktrace'; common_cpu and",
	"        common_timestamp are fields of every event.",
	NULL, /* show_modifiers() */
	"    expressions: + - * / of fields, variables and numbers",
	"    handlers: onmatch(matching.event)  each record that meets one of the other event",
	"              onmax(var)               the variable is larger than before",
	"              onchange(var)            the variable is another one than before",
	"    actions:  <synthetic_event>(param list), trace(<synthetic_event>,param list)",
	"              save(field,...)          keeps these fields with the entry",
	"              snapshot()               takes a snapshot of the buffer",
};

/* The modifiers come from their own table, so that a new one stands here without a change. */
static void show_modifiers(struct out *text)
{
	size_t column = strlen("    modifiers:"), n;

	out_str(text, "    modifiers:");
	for (enum hist_modifier m = HIST_PLAIN + 1; m < HIST_MODIFIERS_N; m++) {
		const struct hist_modifier_row *row = hist_modifier_row(m);
		const char *name = row->shown ? row->shown : row->name;

		n = strlen(" .") + strlen(name);
		if (column + n > COLUMNS) {
			out_str(text, "\n       ");
			column = strlen("       ");
		}
		out_printf(text, " .%s", name);
		column += n;
	}
	out_char(text, '\n');
}

void readme_show_grammar(struct out *text)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (lines[i])
			out_printf(text, "%s\n", lines[i]);
		else
			show_modifiers(text);
	}
}
