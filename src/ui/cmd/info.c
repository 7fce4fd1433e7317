/* SPDX-License-Identifier: MIT */
/* brace info: what a trace file holds and where it comes from. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "ui/commands.h"
#include "report/json.h"
#include "report/losses.h"
#include "ui/notes.h"
#include "ui/screen.h"
#include "ui/trace_file.h"

static const char *build_id(const struct trace_module *m, char *buf)
{
	char *p = buf;

	*p = '\0';
	for (unsigned i = 0; i < m->build_id_len && i < sizeof(m->build_id); i++)
		p += sprintf(p, "%02x", m->build_id[i]);
	return buf;
}

static const char *moment(const struct trace_clock *c, char *buf, size_t n)
{
	time_t seconds = (time_t)(c->real_ns / 1000000000);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(buf, n, "%Y-%m-%d %H:%M:%S %z", &tm);
	return buf;
}

/* --- for people --------------------------------------------------------------------- */

static void text_field(struct out *o, const char *label, const char *value)
{
	if (value && *value)
		out_printf(o, "%-10s %s\n", label, value);
}

static void number_field(struct out *o, const char *label, uint64_t value)
{
	out_printf(o, "%-10s %" PRIu64 "\n", label, value);
}

static void print_module(struct out *o, const struct trace_module *m)
{
	char id[64];

	out_printf(o, "module     %s, %zu functions%s%s\n", m->path, (size_t)m->functions.n,
		   m->build_id_len ? ", build-id " : "", build_id(m, id));
}

static void print_thread(struct out *o, const struct trace_thread *t)
{
	out_printf(o, "thread     %" PRIu32 "/%" PRIu32 " ", t->pid, t->tid);
	out_foreign(o, t->comm, sizeof(t->comm));
	out_printf(o, ", %" PRIu64 " records, %" PRIu64 " lost\n", t->records, t->lost);
}

static void print_lost(struct out *o, const struct trace_info *info)
{
	const struct losses l = losses_of(info);

	number_field(o, "lost", l.lost);
	if (!l.lost)
		return;
	out_str(o, "           ");
	losses_sentence(&l, o);
	out_char(o, '\n');
}

static void print_end(struct out *o, const struct trace_run *r)
{
	int status = (int)r->status;

	if (r->ended && WIFEXITED(status))
		out_printf(o, "%-10s with status %d\n", "ended", WEXITSTATUS(status));
	else if (r->ended && WIFSIGNALED(status))
		out_printf(o, "%-10s by signal %d (%s)\n", "ended", WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (r->timed)
		out_printf(o, "%-10s %.3f s\n", "elapsed", (double)r->elapsed_ns / 1e9);
	if (r->ended)
		out_printf(o, "%-10s %.3f s user, %.3f s system\n", "cpu time", (double)r->user_ns / 1e9, (double)r->system_ns / 1e9);
}

/* A list has a line for each of its names: here they stand in one. */
static void print_setting(struct out *o, const struct trace_setting *s)
{
	out_printf(o, "%-10s ", "setting");
	out_foreign(o, s->file, strlen(s->file));
	for (const char *p = s->text, *end; *p; p = end + (*end == '\n')) {
		end = p + strcspn(p, "\n");
		out_char(o, ' ');
		out_foreign(o, p, (size_t)(end - p));
	}
	out_char(o, '\n');
}

static void print_settings(struct out *o, const struct trace_info *info)
{
	for (size_t i = 0; i < info->settings.n; i++)
		if (info->settings.at[i].chosen)
			print_setting(o, &info->settings.at[i]);
}

static void print_text(struct out *o, const struct trace_info *info, uint64_t bytes)
{
	char when[64], clock[96];

	snprintf(clock, sizeof(clock), "x86-tsc, %" PRIu64 " Hz (%.31s)", info->clock.hz,
		 info->clock.from);
	text_field(o, "command", info->cmdline);
	text_field(o, "invocation", info->run.invocation);
	print_end(o, &info->run);
	text_field(o, "tracer", info->tracer);
	print_settings(o, info);
	text_field(o, "host", info->host);
	text_field(o, "kernel", info->kernel);
	text_field(o, "processor", info->cpu);
	number_field(o, "cpus", info->cpus);
	text_field(o, "time", moment(&info->clock, when, sizeof(when)));
	text_field(o, "clock", clock);
	text_field(o, "brace", info->version);
	number_field(o, "calls", info->total.calls);
	number_field(o, "records", info->total.records);
	print_lost(o, info);
	number_field(o, "bytes", bytes);
	for (size_t i = 0; i < info->images.n; i++)
		out_printf(o, "program    %" PRIu32 " %s\n", info->images.at[i].pid,
			   info->images.at[i].cmdline);
	for (size_t i = 0; i < info->modules.n; i++)
		print_module(o, &info->modules.at[i]);
	for (size_t i = 0; i < info->threads.n; i++)
		print_thread(o, &info->threads.at[i]);
	for (size_t i = 0; i < info->events.n; i++)
		out_printf(o, "event      %s:%s\n", info->events.at[i].system, info->events.at[i].name);
	notes_print(o, "note       ", info->notes.at, info->notes.n);
}

/* --- for machines ------------------------------------------------------------------- */

static void json_field(struct out *o, const char *key, const char *value)
{
	out_printf(o, "\"%s\":", key);
	json_string(o, value);
	out_char(o, ',');
}

/* Prints the members that are known. */
static void json_end(struct out *o, const struct trace_run *r)
{
	int status = (int)r->status;

	if (r->ended && WIFEXITED(status))
		out_printf(o, "\"exit_status\":%d,", WEXITSTATUS(status));
	else if (r->ended && WIFSIGNALED(status))
		out_printf(o, "\"signal\":%d,", WTERMSIG(status));
	if (r->timed)
		out_printf(o, "\"elapsed_ns\":%" PRIu64 ",", r->elapsed_ns);
	if (r->ended)
		out_printf(o, "\"user_ns\":%" PRIu64 ",\"system_ns\":%" PRIu64 ",", r->user_ns, r->system_ns);
}

static void json_trace(struct out *o, const struct trace_info *info, uint64_t bytes)
{
	const struct trace_total *t = &info->total;

	out_str(o, "{\"type\":\"trace\",");
	json_field(o, "command", info->cmdline);
	json_field(o, "invocation", info->run.invocation);
	json_end(o, &info->run);
	json_field(o, "tracer", info->tracer);
	json_field(o, "host", info->host);
	json_field(o, "kernel", info->kernel);
	json_field(o, "processor", info->cpu);
	json_field(o, "brace", info->version);
	json_field(o, "clock_from", info->clock.from);
	out_printf(o, "\"cpus\":%" PRIu32 ",\"clock_hz\":%" PRIu64 ",\"real_ns\":%" PRIu64
		   ",\"calls\":%" PRIu64 ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64
		   ",\"bytes\":%" PRIu64 "}\n", info->cpus, info->clock.hz, info->clock.real_ns,
		   t->calls, t->records, losses_of(info).lost, bytes);
}

static void json_setting(struct out *o, const struct trace_setting *s)
{
	out_str(o, "{\"type\":\"setting\",");
	json_field(o, "file", s->file);
	json_field(o, "text", s->text);
	out_printf(o, "\"chosen\":%s}\n", s->chosen ? "true" : "false");
}

static void json_module(struct out *o, const struct trace_module *m)
{
	char id[64];

	out_str(o, "{\"type\":\"module\",");
	json_field(o, "path", m->path);
	json_field(o, "build_id", build_id(m, id));
	out_printf(o, "\"image\":%" PRIu32 ",\"functions\":%zu}\n", m->image, (size_t)m->functions.n);
}

static void json_thread(struct out *o, const struct trace_thread *t)
{
	char comm[sizeof(t->comm) + 1];

	snprintf(comm, sizeof(comm), "%.16s", t->comm);
	out_str(o, "{\"type\":\"thread\",");
	json_field(o, "comm", comm);
	out_printf(o, "\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"image\":%" PRIu32
		   ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 "}\n", t->pid, t->tid, t->image,
		   t->records, t->lost);
}

static void json_event(struct out *o, const struct trace_event *e)
{
	out_str(o, "{\"type\":\"event\",");
	json_field(o, "system", e->system);
	json_field(o, "name", e->name);
	out_printf(o, "\"index\":%" PRIu32 "}\n", e->index);
}

static void json_note(struct out *o, const struct trace_note *n)
{
	out_str(o, "{\"type\":\"note\",");
	json_field(o, "kind", notes_kind(n->kind));
	json_field(o, "program", n->name);
	out_printf(o, "\"pid\":%" PRIu32 ",\"number\":%" PRIu32 ",\"count\":%" PRIu32 "}\n", n->pid, n->number,
		   n->count);
}

static void print_json(struct out *o, const struct trace_info *info, uint64_t bytes)
{
	out_str(o, "{\"schema\":\"brace-info\",\"version\":1}\n");
	json_trace(o, info, bytes);
	for (size_t i = 0; i < info->settings.n; i++)
		json_setting(o, &info->settings.at[i]);
	for (size_t i = 0; i < info->images.n; i++) {
		out_str(o, "{\"type\":\"program\",");
		json_field(o, "exe", info->images.at[i].exe);
		json_field(o, "command", info->images.at[i].cmdline);
		out_printf(o, "\"pid\":%" PRIu32 "}\n", info->images.at[i].pid);
	}
	for (size_t i = 0; i < info->modules.n; i++)
		json_module(o, &info->modules.at[i]);
	for (size_t i = 0; i < info->threads.n; i++)
		json_thread(o, &info->threads.at[i]);
	for (size_t i = 0; i < info->events.n; i++)
		json_event(o, &info->events.at[i]);
	for (size_t i = 0; i < info->notes.n; i++)
		json_note(o, &info->notes.at[i]);
}

int cmd_info(struct invocation *inv)
{
	struct store_reader *reader;
	const struct trace_info *info;
	struct screen o;
	int status = trace_file_open(inv, &reader);

	if (status)
		return status;
	info = store_info(reader);
	screen_open(&o, inv, SCREEN_PAGED, NULL);
	(inv->json ? print_json : print_text)(&o.text, info, info->total.bytes);
	store_close(reader);
	return screen_close(&o, 0);
}
