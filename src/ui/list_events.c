/* SPDX-License-Identifier: MIT */
/* brace list --events: lists the events that programs and libraries bring along, or those that
 * every program has. Called by cmd_list(), on the only thread. A mapped file that cannot be read is
 * left out; the named one is an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "event/print_names.h"
#include "image/maps.h"
#include "image/probes.h"
#include "image/providers.h"
#include "sym/static_events.h"
#include "ui/commands.h"
#include "ui/event_writes.h"
#include "base/json.h"
#include "ui/list_events.h"
#include "ui/say.h"
#include "ui/screen.h"

struct event_listing {
	const struct invocation *inv;
	struct screen screen;
	const char *path;         /* the listed file's */
	size_t n;
};

/* Whether an operand names the event, or there are no operands. */
static bool operand_names(const struct event_listing *l, const char *system, const char *name)
{
	char *event = mem_printf("%s:%s", system, name);
	bool wanted = !l->inv->n_operands;

	for (int i = 0; i < l->inv->n_operands; i++)
		wanted |= event_is_named(l->inv->operands[i], event);
	free(event);
	return wanted;
}

/* Prints the event's name; the line, or the object, is still open. */
static void print_event_name(struct event_listing *l, const char *system, const char *name)
{
	struct out *o = &l->screen.text;

	l->n++;
	if (!l->inv->json) {
		out_foreign(o, system, SIZE_MAX);
		out_char(o, ':');
		out_foreign(o, name, SIZE_MAX);
		return;
	}
	out_str(o, "{\"system\":");
	json_string(o, system);
	out_str(o, ",\"name\":");
	json_string(o, name);
	out_str(o, ",\"module\":");
	json_string(o, l->path);
}

/* event_print_unknown()'s callback. Every event has the common fields, which its note does not
 * list. */
static bool has_field(const void *event, const char *name, size_t n)
{
	const struct static_event *e = event;

	for (size_t i = 0; i < e->fields.n; i++)
		if (!strncmp(e->fields.at[i].name, name, n) && !e->fields.at[i].name[n])
			return true;
	return n > 7 && !strncmp(name, "common_", 7);
}

/* An event, with the name in its BRACE_PRINT that none of its fields has. */
static void print_static_event(struct event_listing *l, const struct static_event *e)
{
	struct out *o = &l->screen.text;
	const char *unknown;
	char *name;
	size_t n;

	if (!operand_names(l, e->system, e->name))
		return;
	print_event_name(l, e->system, e->name);
	unknown = event_print_unknown(e->print, has_field, e, &n);
	name = mem_strndup(unknown ? unknown : "", unknown ? n : 0);
	if (l->inv->json && unknown) {
		out_str(o, ",\"print_unknown\":");
		json_string(o, name);
	} else if (unknown) {
		out_str(o, " (its print format names `");
		out_foreign(o, name, SIZE_MAX);
		out_str(o, "`, which is no field of it: records are shown field by field)");
	}
	free(name);
	out_str(o, l->inv->json ? "}\n" : "\n");
}

/* A marker, with the number of its places that cannot be hooked and the first reason. */
static void print_marker(void *context, const struct probe_marker *m)
{
	struct event_listing *l = context;
	struct out *o = &l->screen.text;
	const char *reason = hook_reason_words[m->reason];

	if (!operand_names(l, m->system, m->name))
		return;
	print_event_name(l, m->system, m->name);
	if (l->inv->json)
		out_printf(o, ",\"sites\":%u,\"refused\":%u,\"reason\":\"%s\"}\n", m->sites,
			   m->refused, reason);
	else if (m->refused)
		out_printf(o, " (%u of %u places not hooked: %s, %s)\n", m->refused, m->sites,
			   reason, hook_reason_texts[m->reason]);
	else
		out_char(o, '\n');
}

/* Static events first, then markers. fd stays the caller's. */
static int list_open_file(struct event_listing *l, int fd, const char *path, struct err *err)
{
	struct static_events events;
	int r = static_events_load(fd, path, &events, err);

	l->path = path;
	for (size_t i = 0; r == 0 && i < events.events.n; i++)
		print_static_event(l, &events.events.at[i]);
	if (r == 0)
		static_events_free(&events);
	if (r == 0)
		probes_list(fd, path, print_marker, l);
	return r;
}

/* The caller decides about an error: of the named file it is told, of a mapped one ignored. */
static int list_file(struct event_listing *l, const char *path, struct err *err)
{
	int fd = file_open(path, err), r;

	if (fd < 0)
		return fd;
	r = list_open_file(l, fd, path, err);
	close(fd);
	return r;
}

/* Lists every file that the process has mapped to execute. */
static int list_process(struct event_listing *l, pid_t pid, struct err *err)
{
	struct maps maps;
	const char *last = "";
	struct err ignored;
	int r = maps_read(pid, &maps, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < maps.at.n; i++) {
		const struct map *m = &maps.at.at[i];

		if (!m->exec || m->path[0] != '/' || !strcmp(m->path, last))
			/* Mappings of one file mostly follow each other. */
			continue;
		last = m->path;
		/* A file that cannot be read is left out: the process has others. */
		list_file(l, m->path, &ignored);
	}
	maps_free(&maps);
	return 0;
}

/* Lists the events of threads, processes and system calls, which every program has. */
static void list_everybodys(struct event_listing *l)
{
	struct event_catalogue *c = events_new();

	l->path = "";
	providers_everybodys(c);
	for (uint32_t i = 0; i < events_n(c); i++) {
		const struct event_entry *e = events_at(c, i);

		if (!events_can_enable(e) || !operand_names(l, e->format->system, e->format->name))
			continue;
		print_event_name(l, e->format->system, e->format->name);
		out_str(&l->screen.text, l->inv->json ? "}\n" : "\n");
	}
	events_free(c);
}

/* binary NULL: none. Of a process and a file at once, both are listed. */
int list_events(struct invocation *inv, const char *binary)
{
	struct event_listing l = { .inv = inv };
	struct err err;
	int r = 0, status;
	char cut[SAY_WORD];

	screen_open(&l.screen, inv, SCREEN_PAGED, NULL);
	/* A failure later on leaves a listing that is whole up to there; the status tells. */
	if (inv->json)
		out_str(&l.screen.text, "{\"schema\":\"brace-events\",\"version\":1}\n");
	if (!inv->pid && !binary)
		list_everybodys(&l);
	if (inv->pid)
		r = list_process(&l, (pid_t)inv->pid, &err);
	if (binary && r == 0)
		r = list_file(&l, binary, &err);
	status = screen_close(&l.screen, 0);
	if (r < 0)
		return say_error(&err);
	/* Nothing to list is a failure, so that scripts can ask whether an event exists. */
	if (!l.n)
		say(inv->n_operands ? "brace: no event there matches %s\n"
				    : "brace: no events there\n",
		    say_word(inv->n_operands ? inv->operands[0] : "", cut));
	return status ? status : l.n ? 0 : EXIT_BRACE;
}
