/* SPDX-License-Identifier: MIT */
/* trace_options and the files of options/: what may be set, and what follows from it. */
#include "model/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/units.h"

static void set_bit(struct settings *s, enum trace_option o, bool on)
{
	s->options = on ? s->options | OPTION_BIT(o) : s->options & ~OPTION_BIT(o);
}

void options_set_mode(struct settings *s, enum buffer_mode mode)
{
	s->mode = mode;
	set_bit(s, OPTION_OVERWRITE, mode == BUFFER_OVERWRITE);
	set_bit(s, OPTION_BLOCK, mode == BUFFER_BLOCK);
}

/* All options of ftrace's have their meaning here, or have no object: then they are kept, so that who sets one does not fail
 * (docs/tree.md says why of each). This one the kernel has to be refused. */
static bool can_set(enum trace_option o, bool on)
{
	return o != OPTION_TEST_NOP_REFUSE || !on;
}

#define REFUSED "this option is there to be refused, as ftrace's is"

static void set_option(struct settings *s, enum trace_option o, bool on)
{
	set_bit(s, o, on);
	s->mode = option_is_set(s->options, OPTION_BLOCK)     ? BUFFER_BLOCK
		: option_is_set(s->options, OPTION_OVERWRITE) ? BUFFER_OVERWRITE
							      : BUFFER_STREAM;
}

/* trace_options: one or several of NAME, noNAME. All are looked up before one is set. */
static int each_option(struct settings *s, const char *text, struct err *err)
{
	if (!*text)
		return err_at(err, EINVAL, text, 0, "an option's name is missing");
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \t\n,");
		bool off = n > 2 && !memcmp(p, "no", 2) && trace_option_find(p, n) == TRACE_OPTIONS_N;
		enum trace_option o = trace_option_find(p + 2 * off, n - 2 * off);

		if (o == TRACE_OPTIONS_N)
			return err_at(err, EINVAL, text, (size_t)(p - text), "unknown option");
		if (!can_set(o, !off))
			return err_at(err, EINVAL, text, (size_t)(p - text), REFUSED);
		if (s)
			set_option(s, o, !off);
		p += n;
		p += strspn(p, " \t\n,");
	}
	return 0;
}

int options_write(struct settings *s, const char *text, struct err *err)
{
	int e = each_option(NULL, text, err);

	return e ? e : each_option(s, text, err);
}

static bool option_shown(const struct settings *s, enum trace_option o)
{
	uint8_t group = trace_option_info(o)->group;

	return group == OPTION_COMMON || group == (s->graph ? OPTION_GRAPH : s->nop ? OPTION_NOP : OPTION_FUNCTION);
}

char *options_read(const struct settings *s)
{
	char *out = mem_zalloc(TRACE_OPTIONS_N * 32), *p = out;

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		if (option_shown(s, o))
			p += snprintf(p, 32, "%s%s\n", option_is_set(s->options, o) ? "" : "no",
				      trace_option_info(o)->name);
	return out;
}

int options_write_one(struct settings *s, enum trace_option o, const char *text, struct err *err)
{
	uint64_t on;

	if (parse_number(text, "an option", 0, 1, &on, NULL))
		return err_at(err, EINVAL, text, 0, "an option is 0 or 1");
	if (!can_set(o, on))
		return err_at(err, EINVAL, trace_option_info(o)->name, 0, REFUSED);
	set_option(s, o, on);
	return 0;
}
