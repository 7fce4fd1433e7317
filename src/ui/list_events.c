/* SPDX-License-Identifier: MIT */
/* brace list --events: the events that programs and libraries bring with them, or those that every program has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "image/call_points.h"
#include "image/maps.h"
#include "image/probes.h"
#include "sym/static_events.h"
#include "ui/commands.h"
#include "ui/event_writes.h"
#include "report/json.h"
#include "ui/list_events.h"
#include "ui/say.h"
#include "ui/screen.h"

struct listing {
	const struct invocation *inv;
	struct screen screen;
	const char *path;         /* of the file that is listed */
	size_t n;
};

static bool is_wanted(const struct listing *l, const char *system, const char *name)
{
	char *event = mem_printf("%s:%s", system, name);
	bool wanted = !l->inv->n_operands;

	for (int i = 0; i < l->inv->n_operands; i++)
		wanted |= event_is_named(l->inv->operands[i], event);
	free(event);
	return wanted;
}

/* Up to where the line, or the object, may end. */
static void print_name(struct listing *l, const char *system, const char *name)
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

static void print_event(struct listing *l, const struct static_event *e)
{
	if (!is_wanted(l, e->system, e->name))
		return;
	print_name(l, e->system, e->name);
	out_str(&l->screen.text, l->inv->json ? "}\n" : "\n");
}

static void print_marker(void *context, const struct probe_marker *m)
{
	struct listing *l = context;
	struct out *o = &l->screen.text;
	const char *reason = hook_reason_words[m->reason];

	if (!is_wanted(l, m->system, m->name))
		return;
	print_name(l, m->system, m->name);
	if (l->inv->json)
		out_printf(o, ",\"sites\":%u,\"refused\":%u,\"reason\":\"%s\"}\n", m->sites, m->refused, reason);
	else if (m->refused)
		out_printf(o, " (%u of %u places not hooked: %s, %s)\n", m->refused, m->sites, reason,
			   hook_reason_texts[m->reason]);
	else
		out_char(o, '\n');
}

static int list_open_file(struct listing *l, int fd, const char *path, struct err *err)
{
	struct static_events events;
	int r = static_events_load(fd, path, &events, err);

	l->path = path;
	for (size_t i = 0; r == 0 && i < events.events.n; i++)
		print_event(l, &events.events.at[i]);
	if (r == 0)
		static_events_free(&events);
	if (r == 0)
		probes_list(fd, path, print_marker, l);
	return r;
}

static int list_file(struct listing *l, const char *path, struct err *err)
{
	int fd = file_open(path, err), r;

	if (fd < 0)
		return fd;
	r = list_open_file(l, fd, path, err);
	close(fd);
	return r;
}

/* Every file that a process has mapped to execute. */
static int list_process(struct listing *l, pid_t pid, struct err *err)
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
			continue;
		last = m->path;
		list_file(l, m->path, &ignored);
	}
	maps_free(&maps);
	return 0;
}

/* Threads' and processes', and system calls'. */
static void list_everybodys(struct listing *l)
{
	struct event_catalogue *c = events_new();

	l->path = "";
	call_points_catalogue(c);
	for (uint32_t i = 0; i < events_n(c); i++) {
		const struct event_entry *e = events_at(c, i);

		if (!events_can_enable(e) || !is_wanted(l, e->format->system, e->format->name))
			continue;
		print_name(l, e->format->system, e->format->name);
		out_str(&l->screen.text, l->inv->json ? "}\n" : "\n");
	}
	events_free(c);
}

int list_events(struct invocation *inv, const char *binary)
{
	struct listing l = { .inv = inv };
	struct err err;
	int r = 0, status;

	screen_open(&l.screen, inv, SCREEN_PAGED, NULL);
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
	if (!l.n)
		say(inv->n_operands ? "brace: no event there matches %s\n" : "brace: no events there\n", inv->operands[0]);
	return status ? status : l.n ? 0 : EXIT_BRACE;
}
