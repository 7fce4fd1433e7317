/* SPDX-License-Identifier: MIT */
/* brace info: the content of a trace file, and its origin. main() calls it, on brace's only thread.
 * Reads no records, only the file's description; a file that cannot be opened, or is no trace,
 * fails with a sentence. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "arch/stamp.h"
#include "ui/commands.h"
#include "base/json.h"
#include "report/losses.h"
#include "ui/messages.h"
#include "ui/screen.h"
#include "ui/trace_file.h"

/* The id in hexadecimal, "" if there is none. buf has 2 bytes for each of its bytes, and 1 more. */
static const char *build_id(const struct trace_module *m, char *buf)
{
	char *p = buf;

	*p = '\0';
	for (unsigned i = 0; i < m->build_id_len && i < sizeof(m->build_id); i++)
		p += sprintf(p, "%02x", m->build_id[i]);
	return buf;
}

/* The wall-clock time at which the clock was compared, in the reader's time zone. */
static const char *format_time(const struct trace_clock *c, char *buf, size_t n)
{
	time_t seconds = (time_t)(c->real_ns / 1000000000);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(buf, n, "%Y-%m-%d %H:%M:%S %z", &tm);
	return buf;
}

/* --- for people --------------------------------------------------------------------- */

/* Nothing for a field that the file does not have. */
static void text_field(struct out *o, const char *label, const char *value)
{
	if (value && *value)
		out_printf(o, "%-10s %s\n", label, value);
}

/* Labels have 10 columns here, as in the lines that are printed without these helpers. */
static void number_field(struct out *o, const char *label, uint64_t value)
{
	out_printf(o, "%-10s %" PRIu64 "\n", label, value);
}

/* Each function that a program made is a module: those of an image are told as one, where the first
 * stands. By image, their number; free() it. */
static size_t *count_made_functions(const struct trace_info *info)
{
	size_t *made = mem_zalloc((info->images.n + 1) * sizeof(*made));

	for (size_t i = 0; i < info->modules.n; i++)
		if (info->modules.at[i].first_id == TRACE_MADE_ID &&
		    info->modules.at[i].image < info->images.n)
			made[info->modules.at[i].image] += info->modules.at[i].functions.n;
	return made;
}

/* Functions to tell of at this module. False: nothing, since an earlier one told of it. */
static bool functions_of(const struct trace_info *info, const struct trace_module *m, size_t *made,
			 size_t *n)
{
	*n = m->functions.n;
	if (m->first_id != TRACE_MADE_ID || m->image >= info->images.n)
		return true;
	*n = made[m->image];
	made[m->image] = 0;
	return *n;
}

/* "module     PATH, N functions, build-id ID" */
static void print_module(struct out *o, const struct trace_module *m, size_t functions)
{
	char id[64];

	out_printf(o, "module     %s, %zu functions%s%s\n", m->path, functions,
		   m->build_id_len ? ", build-id " : "", build_id(m, id));
}

/* A comma follows each member: the caller prints another one behind it. */
static void json_field(struct out *o, const char *key, const char *value)
{
	out_printf(o, "\"%s\":", key);
	json_string(o, value);
	out_char(o, ',');
}

static void json_module(struct out *o, const struct trace_module *m, size_t functions)
{
	char id[64];

	out_str(o, "{\"type\":\"module\",");
	json_field(o, "path", m->path);
	json_field(o, "build_id", build_id(m, id));
	out_printf(o, "\"image\":%" PRIu32 ",\"functions\":%zu}\n", m->image, functions);
}

/* Prints each module by `print`, as text or as JSON. One that an earlier line told of is left
 * out. */
static void each_module(struct out *o, const struct trace_info *info,
			void (*print)(struct out *, const struct trace_module *, size_t))
{
	size_t *made = count_made_functions(info), n;

	for (size_t i = 0; i < info->modules.n; i++)
		if (functions_of(info, &info->modules.at[i], made, &n))
			print(o, &info->modules.at[i], n);
	free(made);
}

#define NAMES_SHOWN 4 /* names of a thread: the first ones and the last */

/* "old -> new" of a thread that was renamed. */
static void print_names(struct out *o, const struct trace_thread *t)
{
	size_t n = t->names.n;

	out_foreign(o, trace_thread_name_at(t, 0), TRACE_COMM);
	for (size_t i = 0; i < n && !t->unnamed; i++) {
		out_str(o, " -> ");
		if (i >= NAMES_SHOWN - 2 && i + 1 < n) {
			out_printf(o, "... (%zu names) -> ", n - 1 - i);
			i = n - 1;
		}
		out_foreign(o, t->names.at[i].comm, TRACE_COMM);
	}
}

/* "thread     PID/TID NAME, N records, N lost" */
static void print_thread(struct out *o, const struct trace_info *info, uint32_t thread)
{
	const struct trace_thread *t = &info->threads.at[thread];

	out_printf(o, "thread     %" PRIu32 "/%" PRIu32 " ", t->pid, t->tid);
	print_names(o, t);
	out_printf(o, ", %" PRIu64 " records, %" PRIu64 " lost%s\n", t->records, t->lost,
		   trace_info_is_kernel_thread(info, thread) ? ", of the kernel" : "");
}

/* The words of the field `sources`, which scripts compare. */
static const char *sources_of(const struct trace_info *info)
{
	return trace_info_is_merged(info) ? "program, kernel"
	       : trace_info_has_kernel(info) ? "kernel" : "program";
}

/* The sentence about losses follows in a line of its own, indented to the values. */
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

/* Each line depends on whether its figures were taken: a file that was cut short has none. */
static void print_end(struct out *o, const struct trace_run *r)
{
	int status = (int)r->status;

	if (r->ended && WIFEXITED(status))
		out_printf(o, "%-10s with status %d\n", "ended", WEXITSTATUS(status));
	else if (r->ended && WIFSIGNALED(status))
		out_printf(o, "%-10s by signal %d (%s)\n", "ended", WTERMSIG(status),
			   strsignal(WTERMSIG(status)));
	if (r->timed)
		out_printf(o, "%-10s %.3f s\n", "elapsed", (double)r->elapsed_ns / 1e9);
	if (r->ended)
		out_printf(o, "%-10s %.3f s user, %.3f s system\n", "cpu time",
			   (double)r->user_ns / 1e9, (double)r->system_ns / 1e9);
}

/* Prints the setting in one line; a list's text has a line for each name. */
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

/* Chosen ones alone: the others are as they usually are. */
static void print_settings(struct out *o, const struct trace_info *info)
{
	for (size_t i = 0; i < info->settings.n; i++)
		if (info->settings.at[i].chosen)
			print_setting(o, &info->settings.at[i]);
}

/* More of one system than this are a number: -e 'syscalls:*' brings 700. */
#define EVENTS_NAMED 20

/* The number of events of one system that stand from i on. */
static size_t same_system(const struct trace_info *info, size_t i)
{
	size_t n = 1;

	while (i + n < info->events.n &&
	       strcmp(info->events.at[i + n].system, info->events.at[i].system) == 0)
		n++;
	return n;
}

/* A system with many events is one line: a trace of all system calls would fill the screen
 * otherwise. */
static void print_events(struct out *o, const struct trace_info *info)
{
	for (size_t i = 0, n; i < info->events.n; i += n) {
		n = same_system(info, i);
		if (n > EVENTS_NAMED)
			out_printf(o, "event      %s:* (%zu events; --json names them)\n",
				   info->events.at[i].system, n);
		for (size_t k = i; k < i + n && n <= EVENTS_NAMED; k++)
			out_printf(o, "event      %s:%s\n", info->events.at[k].system,
				   info->events.at[k].name);
	}
}

/* The processor's time that the programs had, or the time that they ran; 0: neither is known. */
static uint64_t run_time(const struct trace_run *r)
{
	return r->ended ? r->user_ns + r->system_ns : r->timed ? r->elapsed_ns : 0;
}

/* "a call     16.7 ns of recording, 7.4 ns of it in its own time; of all calls 0.334 s, 45.0 % of
 * the CPU time" */
static void print_cost(struct out *o, const struct trace_info *info)
{
	const uint64_t run = run_time(&info->run), all = trace_cost_all_ns(info);

	if (!info->cost.total)
		return;
	out_printf(o, "%-10s %.1f ns of recording, %.1f ns of it in its own time", "a call",
		   (double)trace_cost_ps(info, info->cost.total) / 1e3,
		   (double)trace_cost_ps(info, info->cost.inside) / 1e3);
	if (info->total.calls)
		out_printf(o, "; of all calls %.3f s", (double)all / 1e9);
	if (info->total.calls && run)
		out_printf(o, ", %.1f %% of the %s", (double)all * 100 / (double)run,
			   info->run.ended ? "CPU time" : "time elapsed");
	out_char(o, '\n');
}

/* In the order of questions: the command and its end, how it was set, the machine, the figures, and
 * last what takes many lines. */
static void print_text(struct out *o, const struct trace_info *info, uint64_t bytes)
{
	char when[64], clock[96];

	snprintf(clock, sizeof(clock), STAMP_CLOCK ", %" PRIu64 " Hz (%.31s)", info->clock.hz,
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
	/* An imported trace may not tell. */
	text_field(o, "time", info->clock.real_ns
				      ? format_time(&info->clock, when, sizeof(when)) : "");
	text_field(o, "clock", clock);
	text_field(o, "brace", info->version);
	number_field(o, "calls", info->total.calls);
	number_field(o, "records", info->total.records);
	print_lost(o, info);
	print_cost(o, info);
	number_field(o, "bytes", bytes);
	text_field(o, "sources", sources_of(info));
	for (size_t i = trace_info_has_kernel(info); i < info->images.n; i++)
		out_printf(o, "program    %" PRIu32 " %s\n", info->images.at[i].pid,
			   info->images.at[i].cmdline);
	each_module(o, info, print_module);
	for (size_t i = 0; i < info->threads.n; i++)
		print_thread(o, info, (uint32_t)i);
	print_events(o, info);
	messages_print(o, "note       ", info->messages.at, info->messages.n);
}

/* --- for machines ------------------------------------------------------------------- */

/* Prints the members that have values. */
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
		out_printf(o, "\"user_ns\":%" PRIu64 ",\"system_ns\":%" PRIu64 ",", r->user_ns,
			   r->system_ns);
}

/* The figures of the whole file. Members that are times end with their unit. */
static void json_trace(struct out *o, const struct trace_info *info, uint64_t bytes)
{
	const struct trace_total *t = &info->total;

	out_str(o, "{\"type\":\"trace\",");
	json_field(o, "command", info->cmdline);
	json_field(o, "invocation", info->run.invocation);
	json_end(o, &info->run);
	json_field(o, "tracer", info->tracer);
	json_field(o, "sources", sources_of(info));
	json_field(o, "host", info->host);
	json_field(o, "kernel", info->kernel);
	json_field(o, "processor", info->cpu);
	json_field(o, "brace", info->version);
	json_field(o, "clock_from", info->clock.from);
	if (info->cost.total)
		out_printf(o, "\"call_cost_ps\":%" PRIu64 ",\"call_cost_inside_ps\":%" PRIu64
			   ",\"cost_ns\":%" PRIu64 ",", trace_cost_ps(info, info->cost.total),
			   trace_cost_ps(info, info->cost.inside), trace_cost_all_ns(info));
	out_printf(o, "\"cpus\":%" PRIu32 ",\"clock_hz\":%" PRIu64 ",\"real_ns\":%" PRIu64
		   ",\"calls\":%" PRIu64 ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64
		   ",\"bytes\":%" PRIu64 "}\n", info->cpus, info->clock.hz, info->clock.real_ns,
		   t->calls, t->records, losses_of(info).lost, bytes);
}

/* All settings: readers pick by `chosen`. */
static void json_setting(struct out *o, const struct trace_setting *s)
{
	out_str(o, "{\"type\":\"setting\",");
	json_field(o, "file", s->file);
	json_field(o, "text", s->text);
	out_printf(o, "\"chosen\":%s}\n", s->chosen ? "true" : "false");
}

/* image is the number of the program in the order of the lines "program". */
/* A comm of 16 bytes may lack its NUL. */
static void json_name(struct out *o, const char *name)
{
	char comm[TRACE_COMM + 1];

	snprintf(comm, sizeof(comm), "%.16s", name);
	json_string(o, comm);
}

/* "comm" is the newest name, "names" has all. */
static void json_thread(struct out *o, const struct trace_thread *t)
{
	out_str(o, "{\"type\":\"thread\",\"comm\":");
	json_name(o, trace_thread_name(t));
	out_str(o, ",\"names\":[");
	json_name(o, trace_thread_name_at(t, 0));
	for (size_t i = 0; i < t->names.n && !t->unnamed; i++) {
		out_char(o, ',');
		json_name(o, t->names.at[i].comm);
	}
	out_str(o, "],");
	out_printf(o, "\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"image\":%" PRIu32
		   ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 "}\n", t->pid, t->tid, t->image,
		   t->records, t->lost);
}

/* `index` is the event's number in records. */
static void json_event(struct out *o, const struct trace_event *e)
{
	out_str(o, "{\"type\":\"event\",");
	json_field(o, "system", e->system);
	json_field(o, "name", e->name);
	out_printf(o, "\"index\":%" PRIu32 "}\n", e->index);
}

/* number's meaning depends on the kind: an errno, a status, a count (trace/trace_info.h). */
static void json_note(struct out *o, const struct trace_message *n)
{
	out_str(o, "{\"type\":\"note\",");
	json_field(o, "kind", messages_kind(n->kind));
	json_field(o, "program", n->name);
	out_printf(o, "\"pid\":%" PRIu32 ",\"number\":%" PRIu32 ",\"count\":%" PRIu32 "}\n", n->pid,
		   n->number, n->count);
}

/* One object a line. The first names the schema, `type` says what each other one is. */
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
	each_module(o, info, json_module);
	for (size_t i = 0; i < info->threads.n; i++)
		json_thread(o, &info->threads.at[i]);
	for (size_t i = 0; i < info->events.n; i++)
		json_event(o, &info->events.at[i]);
	for (size_t i = 0; i < info->messages.n; i++)
		json_note(o, &info->messages.at[i]);
}

/* Only the file's information is read, not its records. */
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
