/* SPDX-License-Identifier: MIT */
/* trace_options and the files of options/: which options can be set, and what follows from them.
 * settings.c calls it with the settings locked. An option that is none, or may not be set, is
 * -errno and a sentence. Any thread. */
#include "model/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "model/units.h"

/* Changes the bit alone, not what follows from it (set_option). */
static void set_bit(struct settings *s, enum trace_option o, bool on)
{
	s->options = on ? s->options | OPTION_BIT(o) : s->options & ~OPTION_BIT(o);
}

/* The two options tell the mode, however it was set. */
void options_set_mode(struct settings *s, enum buffer_mode mode)
{
	s->mode = mode;
	set_bit(s, OPTION_OVERWRITE, mode == BUFFER_OVERWRITE);
	set_bit(s, OPTION_BLOCK, mode == BUFFER_BLOCK);
}

/* Whether the option can be set so. All of ftrace's options have a meaning here, or no object; the
 * latter are kept, so that writing them does not fail (docs/tree.md says why for each). The kernel
 * has test_nop_refuse to test refusals. */
static bool can_set(enum trace_option o, bool on)
{
	return o != OPTION_TEST_NOP_REFUSE || !on;
}

#define REFUSED "this option is there to be refused, as ftrace's is"

/* Two options decide the buffer's mode; block wins. */
static void set_option(struct settings *s, enum trace_option o, bool on)
{
	/* As the kernel's: the other form begins with another longest. */
	if (o == OPTION_DISPLAY_GRAPH && s->tracer->wakes && on != settings_display_graph(s))
		s->max_latency_us = 0;
	set_bit(s, o, on);
	s->mode = option_is_set(s->options, OPTION_BLOCK)     ? BUFFER_BLOCK
		: option_is_set(s->options, OPTION_OVERWRITE) ? BUFFER_OVERWRITE
							      : BUFFER_STREAM;
}

static struct nearest nearest_option(const char *word)
{
	struct nearest near = { word, NULL, 0 };

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		nearest_offer(&near, option_info(o)->name);
	return near;
}

/* A slip of the fingers is named; with "no" before it, too. */
static int unknown(const char *text, const char *at, size_t n, struct err *err)
{
	struct nearest whole, off = { 0 };
	bool is_off;
	char word[64];

	/* A word that does not fit is no slip of the fingers: it becomes "", which nothing is near
	 * to. */
	snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : 0, at);
	whole = nearest_option(word);
	if (strncmp(word, "no", 2) == 0)
		off = nearest_option(word + 2);
	is_off = off.best && (!whole.best || off.distance < whole.distance);
	if (!whole.best && !is_off)
		return err_at(err, EINVAL, text, (size_t)(at - text), "unknown option");
	return err_at(err, EINVAL, text, (size_t)(at - text), "unknown option, did you mean %s%s?",
		      is_off ? "no" : "", is_off ? off.best : whole.best);
}

/* Sets the options in text, or, with s NULL, only checks them. options_write checks all before it
 * sets one. */
static int each_option(struct settings *s, const char *text, struct err *err)
{
	if (!*text)
		return err_at(err, EINVAL, text, 0, "an option's name is missing");
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \t\n,");
		/* An option whose own name begins with "no" is found by its whole name first. */
		bool off =
			n > 2 && !memcmp(p, "no", 2) && option_find(p, n) == TRACE_OPTIONS_N;
		enum trace_option o = option_find(p + 2 * off, n - 2 * off);

		if (o == TRACE_OPTIONS_N)
			return unknown(text, p, n, err);
		if (!can_set(o, !off))
			return err_at(err, EINVAL, text, (size_t)(p - text), REFUSED);
		if (s)
			set_option(s, o, !off);
		p += n;
		p += strspn(p, " \t\n,");
	}
	return 0;
}

/* A first pass only looks at the words: one that is unknown leaves all options as they were. */
int options_write(struct settings *s, const char *text, struct err *err)
{
	int e = each_option(NULL, text, err);

	return e ? e : each_option(s, text, err);
}

/* Whether trace_options shows it: common ones and those of the current tracer. */
static bool option_shown(const struct settings *s, enum trace_option o)
{
	uint8_t group = option_info(o)->group;

	return group == OPTION_COMMON || group == s->tracer->options;
}

/* As ftrace's trace_options: an option that is off has "no" before its name. */
char *options_read(const struct settings *s)
{
	/* 32 bytes a line: the longest name with "no", its newline and a NUL. */
	char *out = mem_zalloc(TRACE_OPTIONS_N * 32), *p = out;

	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		if (option_shown(s, o))
			p += snprintf(p, 32, "%s%s\n", option_is_set(s->options, o) ? "" : "no",
				      option_info(o)->name);
	return out;
}

/* A file of options/ takes 0 and 1 alone. */
int options_write_one(struct settings *s, enum trace_option o, const char *text, struct err *err)
{
	uint64_t on;

	if (units_parse_number(text, "an option", 0, 1, &on, NULL))
		return err_at(err, EINVAL, text, 0, "an option is 0 or 1");
	if (!can_set(o, on))
		return err_at(err, EINVAL, option_info(o)->name, 0, REFUSED);
	set_option(s, o, on);
	return 0;
}
