/* SPDX-License-Identifier: MIT */
/* Any text as a line of uprobe_events and of kprobe_events: it is refused with a sentence, or its
 * definition reads back as the same, its format is one, and its program is one that the verifier
 * takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/probe_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* probe_symbols.find: every name but those with a z is one function's, which is 64 bytes long. */
static unsigned find(void *arg, const char *module, const char *symbol, uint64_t more, struct symbol_match *out)
{
	if (strchr(symbol, 'z') || more >= 64)
		return strchr(symbol, 'z') ? 2 : 0;
	*out = (struct symbol_match){ mem_strdup(module ? module : "/a"), 0x1000 + more, 0x401000 + more, !more };
	return 1;
}

/* probe_symbols.object */
static bool object(void *arg, const struct symbol_match *place, const char *name, size_t n, uint64_t *vaddr)
{
	*vaddr = n << 60;
	return n % 2;
}

/* probe_symbols.at: odd addresses are in the file. */
static bool at(void *arg, uint64_t address, struct symbol_match *out)
{
	if (address % 2)
		*out = (struct symbol_match){ mem_strdup("/a"), address, address, address % 3 };
	return address % 2;
}

static const struct probe_symbols symbols = { .find = find, .object = object, .at = at };

/* The line that lists the definition. */
static char *listed(const struct probe_command *c)
{
	const struct probe_definition *d = c->definition;
	char active[16] = "";

	if (d->fprobe)
		return mem_printf("f:%s/%s %s%s%s", c->group, c->event, d->symbol, d->returns ? "%return" : "", d->arguments);
	if (d->active)
		snprintf(active, sizeof(active), "%u", d->active);
	if (d->symbol)
		return mem_printf("%c%s:%s/%s %s%s", d->returns ? 'r' : 'p', active, c->group, c->event, d->symbol, d->arguments);
	return mem_printf("%c:%s/%s %s:0x%016llx%s", d->returns ? 'r' : 'p', c->group, c->event, d->path,
			  (unsigned long long)d->offset, d->arguments);
}

/* Parses the listed line again: it defines the same event. */
static void read_back(const struct probe_command *c, const struct probe_symbols *with)
{
	const struct probe_definition *d = c->definition;
	char *line = listed(c);
	struct probe_command again;
	struct event_format *f;
	struct err err;

	check(fetch_verify(d->program, d->program_bytes));
	f = event_format_parse(c->format, strlen(c->format), c->group, &err);
	check(f != NULL);
	event_format_free(f);
	if (strlen(line) <= PROBE_LINE_MAX && strlen(c->event) <= PROBE_NAME_MAX) {
		check(probe_command_parse_symbols(line, with, &again, &err) == 0);
		check(!strcmp(again.format, c->format) && !strcmp(again.definition->path, d->path));
		check(again.definition->offset == d->offset &&
		      !strcmp(again.definition->arguments, d->arguments));
		probe_command_free(&again);
	}
	free(line);
}

static void parse(const char *line, const struct probe_symbols *with)
{
	struct err err = { 0 };
	struct probe_command c;

	if (probe_command_parse_symbols(line, with, &c, &err) == 0) {
		if (c.action == PROBE_DEFINE)
			read_back(&c, with);
		probe_command_free(&c);
	} else {
		check(*err.text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *line = mem_strndup((const char *)data, n);

	probe_command_is_of_file(line);
	probe_command_is_fprobe(line);
	parse(line, NULL);
	parse(line, &symbols);
	free(line);
	return 0;
}
