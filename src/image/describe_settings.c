/* SPDX-License-Identifier: MIT */
/* The settings of a run as texts, for its trace: each file's, and the chosen options, filters and
 * triggers one by one. Called by session/session.c and instance/instances.c, on the thread that
 * owns the trace_info. Nothing fails. */
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "image/describe.h"

/* longest text: a list may have been read from a file of any length */
#define SETTING_MOST (64u << 10)

/* Takes file and text over; drops the text's last newline. Files of the tree end with one; in a
 * list of settings it would be an empty line. */
static void add_setting(struct trace_info *info, char *file, char *text, bool chosen)
{
	size_t n = strlen(text);
	char *whole = text;

	if (n && text[n - 1] == '\n')
		text[--n] = '\0';
	if (n > SETTING_MOST) {
		text = mem_printf("%.*s ... and %zu bytes more", (int)SETTING_MOST, whole,
				  n - SETTING_MOST);
		free(whole);
	}
	*vec_add(&info->settings) = (struct trace_setting){ file, text, chosen };
}

/* settings_read() lists events that exist, so names that still wait for a program's events are
 * listed here. */
static char *read_setting(const struct settings *s, const char *file)
{
	char *all, *longer;

	if (!s->events.waits || strcmp(file, "set_event"))
		return settings_read(s, file);
	all = mem_strdup("");
	for (size_t i = 0; i < s->events.pending.n; i++) {
		longer = mem_printf("%s%s\n", all, s->events.pending.at[i].pattern);
		free(all);
		all = longer;
	}
	return all;
}

/* chosen: the text differs from the usual one. Texts are compared, not settings: so each file is
 * known to this function by its name alone. */
static void describe_file(struct trace_info *info, const struct settings *s,
			  const struct settings *usual, const char *file)
{
	char *text = read_setting(s, file), *other = read_setting(usual, file);
	bool chosen = strcmp(text, other) != 0;

	add_setting(info, mem_strdup(file), text, chosen);
	free(other);
}

/* trace_options has all options; each one that was chosen is told by itself, too. */
static void describe_options(struct trace_info *info, const struct settings *s,
			     const struct settings *usual)
{
	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		if (option_is_set(s->options, o) != option_is_set(usual->options, o))
			add_setting(info, mem_printf("options/%s", option_info(o)->name),
				    mem_strdup(option_is_set(s->options, o) ? "1" : "0"), true);
	add_setting(info, mem_strdup("trace_options"), settings_read(s, "trace_options"), false);
}

/* Tells "events/SYSTEM/EVENT/FILE" for a name in set_event's form. Only the first colon parts
 * system and event. */
static void describe_of_event(struct trace_info *info, const char *name, const char *file,
			      const char *text)
{
	char *path = mem_printf("events/%s/%s", name, file), *colon = strchr(path, ':');

	if (colon)
		*colon = '/';
	add_setting(info, path, mem_strdup(text), true);
}

/* Filters and triggers, as asked for or, in the tree, as they are. */
static void describe_events(struct trace_info *info, const struct event_set *set)
{
	for (size_t i = 0; i < set->pending.n; i++) {
		const struct event_pending *w = &set->pending.at[i];

		if (w->filter)
			describe_of_event(info, w->pattern, "filter", w->filter);
		for (size_t k = 0; k < w->triggers.n; k++)
			describe_of_event(info, w->pattern, "trigger", w->triggers.at[k]);
	}
	for (size_t i = 0; i < set->at.n && !set->waits; i++) {
		const struct event_setting *e = &set->at.at[i];
		const struct event_format *f = events_at(set->catalogue, e->index)->format;
		char *name = mem_printf("%s:%s", f->system, f->name),
		     *triggers = event_set_read_triggers(set, e->index);

		if (e->filter.text)
			describe_of_event(info, name, "filter", e->filter.text);
		if (e->triggers.at.n)
			describe_of_event(info, name, "trigger", triggers);
		free(triggers);
		free(name);
	}
}

void describe_settings(struct trace_info *info, const struct settings *s)
{
	struct settings usual;

	/* Only the tree's settings take commands; its defaults differ from the command line's. */
	(s->takes_commands ? settings_init_tree : settings_init)(&usual);
	trace_info_drop_settings(info);
	for (unsigned i = 0; settings_file(i); i++)
		if (settings_can_write(settings_file(i)) &&
		    strcmp(settings_file(i), "trace_options"))
			describe_file(info, s, &usual, settings_file(i));
	describe_options(info, s, &usual);
	describe_events(info, &s->events);
	settings_free(&usual);
}

void describe_ring(struct trace_info *info, const char *path, const char *id)
{
	add_setting(info, mem_strdup(DESCRIBE_RING), mem_printf("%s" DESCRIBE_RING_ID "%s", path, id),
		    true);
}

void describe_ring_forget(struct trace_info *info)
{
	size_t kept = 0;

	for (size_t i = 0; i < info->settings.n; i++) {
		struct trace_setting *s = &info->settings.at[i];

		if (strcmp(s->file, DESCRIBE_RING) && strcmp(s->file, DESCRIBE_RING_BEFORE)) {
			info->settings.at[kept++] = *s;
			continue;
		}
		free(s->file);
		free(s->text);
	}
	info->settings.n = kept;
}

/* The id is behind the last mark: a path may have any text. */
const char *describe_ring_of(const struct trace_info *info, const char **id)
{
	const char *text = NULL, *at = NULL;

	for (size_t i = 0; i < info->settings.n && !text; i++)
		if (!strcmp(info->settings.at[i].file, DESCRIBE_RING))
			text = info->settings.at[i].text;
	for (const char *p = text; p && (p = strstr(p, DESCRIBE_RING_ID)); p++)
		at = p + strlen(DESCRIBE_RING_ID);
	*id = at;
	return at ? text : NULL;
}

void describe_ring_add_before(struct trace_info *info, const uint64_t *records, size_t n)
{
	struct out_text text = { 0 };
	struct out o;

	out_init_raw(&o, out_keep_text, &text);
	for (size_t i = 0; i < n; i++)
		out_printf(&o, i ? " %llu" : "%llu", (unsigned long long)records[i]);
	add_setting(info, mem_strdup(DESCRIBE_RING_BEFORE), out_text_end(&o), true);
}

/* Ends at the first word that is no number. The text is a trace file's, which anybody may have
 * written: what is taken is bounded by its length. */
void describe_ring_before(const struct trace_info *info,
			  void (*take)(void *context, size_t thread, uint64_t records),
			  void *context)
{
	const char *at = "";
	size_t thread = 0;

	for (size_t i = 0; i < info->settings.n; i++)
		if (!strcmp(info->settings.at[i].file, DESCRIBE_RING_BEFORE))
			at = info->settings.at[i].text;
	while (*at >= '0' && *at <= '9') {
		char *end;

		take(context, thread++, strtoull(at, &end, 10));
		at = end + (*end == ' ');
	}
}
