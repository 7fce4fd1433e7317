/* SPDX-License-Identifier: MIT */
/* The operations that the tree asks of a session (tree/target.h), for one trace array. They run on
 * the tree's threads, several at once. Those that use trace_info take pump_lock for as long as they
 * print; those that ask whether something is readable avoid it where they can, since a reader that
 * polls must not wait for one that prints. What a session refuses is -errno and a sentence, with
 * its column in the text. */
#include "instance/internal.h"
#include "instance/symbols.h"
#include "instance/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "collect/clock.h"
#include "instance/hists.h"
#include "instance/refusal.h"
#include "report/format.h"
#include "tracee/proc_status.h"

/* --- functions ---------------------------------------------------------------------- */

/* Returns the list of functions, brought up to date. l->names stays locked until functions_end. */
static struct functions *functions_begin(struct instances *l)
{
	pthread_mutex_lock(&l->names);
	functions_update(&l->functions, pump_lock(l->pump));
	pump_unlock(l->pump);
	return &l->functions;
}

static void functions_end(struct instances *l)
{
	pthread_mutex_unlock(&l->names);
}

/* Refuses a word with the reason why nothing matches it. The reason goes into *err and from there
 * to error_log. Files are read without pump_lock. */
static int refuse_word(struct instances *l, const char *word, struct err *err)
{
	refusal_files files;
	char *why;
	int e;

	refusal_files_find(pump_lock(l->pump), &files);
	pump_unlock(l->pump);
	why = refusal_of(&files, word);
	e = err_set(err, EINVAL, "no function that can be traced matches %s%s%s", word,
		    why ? ": " : "", why ? why : "");
	free(why);
	refusal_files_free(&files);
	return e;
}

/* The op `check`. set_ftrace_module names modules, not functions: any word will do. */
static int target_check(void *arg, const char *file, const char *word, struct err *err)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	bool have = !strcmp(file, "set_ftrace_module");

	if (!have) {
		have = functions_have(functions_begin(l), word);
		functions_end(l);
	}
	return have ? 0 : refuse_word(l, word, err);
}

/* The op `function_at`: lines count from 1. The caller frees the name. */
static char *function_at(void *arg, unsigned long line)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	const struct functions *f = functions_begin(l);
	char *name = line && line <= f->at.n ? mem_strdup(f->at.at[line - 1].name) : NULL;

	functions_end(l);
	return name;
}

/* The op `functions`: prints with the list locked, and so without a copy of it. */
static void target_functions(void *arg, const struct function_list *list, struct out *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;

	functions_print(functions_begin(l), list, out);
	functions_end(l);
}

/* The op `hooked`. Functions hooked now; with `ever` also those that were since the session
 * began. */
static void target_hooked(void *arg, bool ever, struct out *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	const struct trace_info *info;

	pthread_mutex_lock(&l->names);
	info = pump_lock(l->pump);
	functions_touch(&l->functions, info);
	if (ever)
		functions_print_touched(&l->functions, out);
	else
		functions_print_hooked(info, out);
	pump_unlock(l->pump);
	pthread_mutex_unlock(&l->names);
}

/* --- data --------------------------------------------------------------------------- */

struct trace_info *instances_lock(struct instances *l)
{
	struct trace_info *info = pump_lock(l->pump);
	const struct event_entry *e;

	/* Modules can bring new events into the catalogue while the session runs. */
	for (; (e = events_at(l->events, l->named)); l->named++)
		trace_info_add_event(info, e);
	return info;
}

/* Triggers need all records before theirs, and so wait longer than a plain buffer. */
void target_sync(struct trace_array *tr)
{
	if (buffer_has_triggers(&tr->buffer))
		pump_complete(tr->instances->pump);
	else
		pump_sync(tr->instances->pump);
}

void target_sync_all(struct instances *l)
{
	bool triggers = false;

	for (size_t i = 0; i < l->arrays.n && !triggers; i++)
		triggers = buffer_has_triggers(&l->arrays.at[i]->buffer);
	if (triggers)
		pump_complete(l->pump);
	else
		pump_sync(l->pump);
}

/* The op catch_up: fork_follow judges threads in pump_lock. */
static void catch_up(void *arg)
{
	struct trace_array *tr = arg;

	if (buffer_has_triggers(&tr->buffer)) {
		pump_complete(tr->instances->pump);
	} else if (buffer_follows_forks(&tr->buffer)) {
		pump_sync(tr->instances->pump);
		pump_lock(tr->instances->pump);
		pump_unlock(tr->instances->pump);
	}
}

static void target_present(void *arg, struct settings *s)
{
	struct trace_array *tr = arg;

	pump_lock(tr->instances->pump);
	buffer_present(&tr->buffer, s);
	pump_unlock(tr->instances->pump);
}

/* The op `cpu_trace`: records that were written before the call are in the text, because
 * target_sync() fetches them first. */
static int cpu_trace(void *arg, unsigned cpu, const struct settings *s, struct out *out,
		     struct err *err)
{
	struct trace_array *tr = arg;
	int e;

	target_sync(tr);
	e = buffer_show(&tr->buffer, instances_lock(tr->instances), s, cpu, out, err);
	pump_unlock(tr->instances->pump);
	return e;
}

static int target_trace(void *arg, const struct settings *s, struct out *out, struct err *err)
{
	return cpu_trace(arg, BUFFER_ALL_CPUS, s, out, err);
}

static int target_clear(void *arg, struct err *err)
{
	struct trace_array *tr = arg;

	/* Records from before the write must not arrive after it. */
	target_sync(tr);
	pump_lock(tr->instances->pump);
	buffer_clear(&tr->buffer, clock_tsc());
	pump_unlock(tr->instances->pump);
	return 0;
}

static void pause_recording(void *arg, bool begins)
{
	buffer_pause(&((struct trace_array *)arg)->buffer, begins, clock_tsc());
}

/* The instant as times are printed. Needs pump_lock. 0 and UINT64_MAX are no instants. */
static uint64_t shown_time(const struct instances *l, struct pump_instant at)
{
	if (!at.tsc || at.tsc == UINT64_MAX)
		return at.tsc;
	return clock_shown(consumer_clock(l->session), at.tsc, at.ns);
}

/* The op `pipe`: one piece of text a call, so that pump_lock is free in between. */
static ssize_t read_pipe(void *arg, char *buf, size_t n, struct err *err)
{
	struct trace_array *tr = arg;
	/* The pump is asked before the lock, so that the records that it speaks of are there. */
	const bool over = pump_is_over(tr->instances->pump);
	const struct pump_instant complete = pump_complete_until(tr->instances->pump);
	struct trace_info *info = instances_lock(tr->instances);
	const uint64_t until = shown_time(tr->instances, complete);
	ssize_t got = buffer_read(&tr->buffer, info, until, buf, n, err);

	/* The last call waits for its end, which does not come. */
	if (got == -EAGAIN && over)
		got = buffer_read_rest(&tr->buffer, info, BUFFER_ALL_CPUS, until, buf, n, err);
	if (!got)
		got = -EAGAIN;
	pump_unlock(tr->instances->pump);
	pump_was_read(tr->instances->pump);
	return got;
}

/* No pump_lock here: poll calls it often. */
static bool pipe_ready(void *arg)
{
	return buffer_is_readable(&((struct trace_array *)arg)->buffer);
}

/* The op pipe_rest: records from before recording stopped may still be on their way, so that the
 * end is only known after pump_complete(). */
static ssize_t pipe_rest(void *arg, unsigned cpu, char *buf, size_t n, struct err *err)
{
	struct trace_array *tr = arg;
	ssize_t got;

	if (buffer_is_on(&tr->buffer))
		return -EAGAIN;
	pump_complete(tr->instances->pump);
	got = buffer_read_rest(&tr->buffer, instances_lock(tr->instances), cpu, clock_tsc(), buf, n,
			       err);
	pump_unlock(tr->instances->pump);
	return got;
}

/* Turns records into pages up to a time before which none is missing: the pump's horizon, or now,
 * for a reader that does not wait, after all of them have been fetched, and when all is over. */
static void fill_raw(struct trace_array *tr, bool unfinished)
{
	const struct clock *clock = consumer_clock(tr->instances->session);
	struct pump_instant at = pump_complete_until(tr->instances->pump);
	const bool all = unfinished || at.tsc == UINT64_MAX;
	struct trace_info *info;

	if (all)
		clock_instant(&at.tsc, &at.ns);
	if (unfinished)
		target_sync(tr);
	info = instances_lock(tr->instances);
	buffer_raw_fill(&tr->buffer, info, &tr->instances->addresses,
			all ? clock_latest(clock, at.tsc, at.ns) : shown_time(tr->instances, at));
	pump_unlock(tr->instances->pump);
}

/* A finished page is given without touching the buffer; only an empty queue makes it convert
 * more. */
static ssize_t cpu_raw(void *arg, unsigned cpu, char *page, bool unfinished, struct err *err)
{
	struct trace_array *tr = arg;

	if (buffer_raw_take(&tr->buffer, cpu, false, page))
		return PAGE_BYTES;
	fill_raw(tr, unfinished);
	return buffer_raw_take(&tr->buffer, cpu, unfinished, page) ? (ssize_t)PAGE_BYTES : -EAGAIN;
}

/* The op `cpu_raw_ready`: records are made into pages here, since a reader that polls has not asked
 * for any yet. */
static bool cpu_raw_ready(void *arg, unsigned cpu)
{
	struct trace_array *tr = arg;

	if (buffer_raw_is_filled(&tr->buffer, cpu))
		return true;
	fill_raw(tr, false);
	return buffer_raw_is_filled(&tr->buffer, cpu);
}

static void target_symbols(void *arg, struct out *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;

	addresses_print(&l->addresses, instances_lock(l), out);
	pump_unlock(l->pump);
}

/* The op `variables`: their files are read without the pump's lock, which records wait for. */
static void target_variables(void *arg, struct out *out)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	address_module_list files = { 0 };

	addresses_files(&l->addresses, instances_lock(l), &files);
	pump_unlock(l->pump);
	variables_print(&files, out);
	addresses_files_free(&files);
}

/* The op `cpu_clear`: fetches first, so that no record from before the write arrives after it. */
static int cpu_clear(void *arg, unsigned cpu, struct err *err)
{
	struct trace_array *tr = arg;

	target_sync(tr);
	buffer_cpu_clear(&tr->buffer, cpu, clock_tsc());
	return 0;
}

/* The horizon is taken before the records, so that those up to it are all there. */
static ssize_t cpu_pipe(void *arg, unsigned cpu, char *buf, size_t n, struct err *err)
{
	struct trace_array *tr = arg;
	uint64_t until = pump_horizon(tr->instances->pump);
	ssize_t got = buffer_cpu_read(&tr->buffer, instances_lock(tr->instances), cpu, until, buf,
				      n, err);

	pump_unlock(tr->instances->pump);
	return got;
}

/* The op `cpu_pipe_ready`: takes the horizon first, as cpu_pipe() does. */
static bool cpu_pipe_ready(void *arg, unsigned cpu)
{
	struct trace_array *tr = arg;
	uint64_t until = pump_horizon(tr->instances->pump);
	bool ready = buffer_cpu_is_readable(&tr->buffer, instances_lock(tr->instances), cpu, until);

	pump_unlock(tr->instances->pump);
	return ready;
}

/* The op cpu_stats: sums what the ring has now (by unpacking it), what waits as raw pages, and what
 * left either. */
static void cpu_stats(void *arg, unsigned cpu, struct tree_cpu_stats *out)
{
	struct trace_array *tr = arg;
	struct trace_info *info;
	struct ring_counts c;
	struct ring_losses gone;
	uint64_t oldest;

	target_sync(tr);
	info = pump_lock(tr->instances->pump);
	c = buffer_count(&tr->buffer, info, cpu, &oldest);
	buffer_choose_clock(info, &tr->settings);
	out->oldest = oldest ? trace_clock_shown(&info->clock, oldest) : 0;
	out->now = trace_clock_shown(&info->clock,
				     clock_present(consumer_clock(tr->instances->session)));
	out->numbers = info->clock.unit != CLOCK_IN_NS;
	/* trace_clock `counter` has numbers of records instead of times. */
	if (info->clock.unit == CLOCK_IN_RECORDS) {
		out->oldest = c.entries ? c.overrun + c.read + 1 : 0;
		out->now = c.entries + c.overrun + c.read + 1;
	}
	/* The raw pages have a lock of their own. */
	pump_unlock(tr->instances->pump);
	buffer_raw_count(&tr->buffer, cpu, &c, &out->oldest);
	out->entries = c.entries;
	out->bytes = c.bytes;
	gone = ring_losses(&tr->buffer.ring, cpu);
	out->overrun = c.overrun + gone.overrun;
	out->dropped = gone.dropped + gone.lost;
	out->read = c.read + gone.read + buffer_cpu_was_read(&tr->buffer, cpu);
}

/* TREE_SNAPSHOT_CLEAR comes with a CPU or as a drop. */
static int target_snapshot(void *arg, enum tree_snapshot what, struct err *err)
{
	struct trace_array *tr = arg;

	if (buffer_has_latency(&tr->buffer))
		return err_set(err, EBUSY,
			       "the snapshot's place has the longest latency of the tracer %s: choose another tracer, nop for instance",
			       tr->settings.tracer->name);
	if (what == TREE_SNAPSHOT_TAKE) {
		target_sync(tr);
		buffer_snapshot_take(&tr->buffer);
		instance_wake(tr->instance); /* wakes readers of snapshot_raw */
	} else {
		buffer_snapshot_drop(&tr->buffer);
	}
	return 0;
}

static void snapshot_clear(void *arg, unsigned cpu)
{
	buffer_snapshot_clear_cpu(&((struct trace_array *)arg)->buffer, cpu);
}

static ssize_t snapshot_raw(void *arg, unsigned cpu, char *page)
{
	struct trace_array *tr = arg;
	bool took = buffer_snapshot_raw_take(&tr->buffer, instances_lock(tr->instances),
					     &tr->instances->addresses, cpu, page);

	pump_unlock(tr->instances->pump);
	return took ? (ssize_t)PAGE_BYTES : -EAGAIN;
}

static bool snapshot_raw_ready(void *arg, unsigned cpu)
{
	struct trace_array *tr = arg;
	bool ready = buffer_snapshot_raw_is_filled(&tr->buffer, instances_lock(tr->instances),
						   &tr->instances->addresses, cpu);

	pump_unlock(tr->instances->pump);
	return ready;
}

/* The op `snapshot_trace`: a trigger that takes a snapshot may have fired on records that are not
 * here yet, so these are fetched first. */
static int snapshot_trace(void *arg, const struct settings *s, unsigned cpu, bool *shown,
			  struct out *out, struct err *err)
{
	struct trace_array *tr = arg;

	catch_up(tr);
	if (buffer_snapshot_show(&tr->buffer, instances_lock(tr->instances), s, cpu, out))
		*shown = true;
	pump_unlock(tr->instances->pump);
	return 0;
}

/* --- tables ------------------------------------------------------------------------- */

/* A name may have a newline, and must not look like another thread's line. */
static void print_cmdline(const struct trace_thread *t, struct out *out)
{
	char name[TRACE_COMM] = "", *line;

	memcpy(name, trace_thread_name(t), TRACE_COMM - 1);
	line = escape_line(name);
	out_printf(out, "%u %s\n", t->tid, line);
	free(line);
}

static void target_cmdlines(void *arg, struct out *out)
{
	struct trace_array *tr = arg;
	const struct trace_info *info;

	target_sync(tr);
	info = pump_lock(tr->instances->pump);
	/* A thread may have renamed itself since its last record. */
	consumer_renew_names(tr->instances->session);
	for (size_t i = 0; i < info->threads.n; i++)
		if (!info->threads.at[i].unnamed)
			print_cmdline(&info->threads.at[i], out);
	pump_unlock(tr->instances->pump);
}

static void target_tgids(void *arg, struct out *out)
{
	struct trace_array *tr = arg;
	const struct trace_info *info;

	target_sync(tr);
	info = pump_lock(tr->instances->pump);
	for (size_t i = 0; i < info->threads.n; i++)
		out_printf(out, "%u %u\n", info->threads.at[i].tid, info->threads.at[i].pid);
	pump_unlock(tr->instances->pump);
}

/* --- instances ---------------------------------------------------------------------- */

/* The op `make`. Its session does not change: a new instance has tracer nop and no events. */
static int target_make(void *arg, struct instance *instance, const char *name,
		       struct tree_target *out, struct err *err)
{
	struct instances *l = ((struct trace_array *)arg)->instances;
	struct settings s;
	struct trace_array *tr;

	instance_settings(instance, &s);
	tr = instances_add(l, instance, name, &s);
	settings_free(&s);
	/* After the array exists: its buffer gets what arrives from here on. */
	pump_add(l->pump, &tr->buffer);
	*out = (struct tree_target){ &trace_array_ops, tr };
	return 0;
}

/* The op `drop`. Writes current_tracer nop first: the programs stop recording for the instance. */
static void target_drop(void *arg)
{
	struct trace_array *tr = arg;
	struct settings s;
	struct err ignored;

	settings_copy(&s, &tr->settings);
	settings_write(&s, "current_tracer", "nop", false, &ignored);
	instances_apply(tr, &s, "current_tracer", &ignored);
	settings_free(&s);
	/* Only after this the pump's thread cannot offer to the buffer any more. */
	pump_remove(tr->instances->pump, &tr->buffer);
	instances_remove(tr);
}

/* The op `hist`: the pump's thread counts histograms under its lock, which the reader therefore
 * takes. */
static void target_hist(void *arg, const struct trigger_list *l,
			const struct hist_printer *printer, struct out *out)
{
	struct trace_array *tr = arg;

	catch_up(tr);
	hists_print(l, instances_lock(tr->instances), &tr->instances->addresses, printer,
		    out);
	pump_unlock(tr->instances->pump);
}

/* The op `dumped`: the dump is text already, and needs no names. */
static void target_dumped(void *arg, struct out *out)
{
	struct trace_array *tr = arg;

	catch_up(tr);
	buffer_show_dump(&tr->buffer, out);
}

/* The op `traces`. A thread whose process cannot be told is none of them. */
static bool target_traces(void *arg, pid_t thread)
{
	struct trace_array *tr = arg;
	struct proc_status status;
	bool found = false;
	pid_t *pids;
	size_t n;

	if (thread <= 0 || proc_status_read(thread, &status))
		return false;
	n = session_processes(tr->instances->session, &pids);
	for (size_t i = 0; i < n; i++)
		found |= pids[i] == (pid_t)status.tgid;
	free(pids);
	return found;
}

const struct tree_target_ops trace_array_ops = {
	.traces = target_traces,
	.commands = true, .catch_up = catch_up, .present = target_present, .dumped = target_dumped,
	.apply = instances_apply, .check = target_check, .function_at = function_at,
	.functions = target_functions,
	.trace = target_trace, .clear = target_clear, .pause = pause_recording, .pipe = read_pipe,
	.pipe_ready = pipe_ready, .pipe_rest = pipe_rest,
	.cpu_trace = cpu_trace, .cpu_clear = cpu_clear,
	.cpu_pipe = cpu_pipe, .cpu_pipe_ready = cpu_pipe_ready, .cpu_raw = cpu_raw,
	.cpu_raw_ready = cpu_raw_ready, .symbols = target_symbols,
	.variables = target_variables, .cpu_stats = cpu_stats,
	.snapshot = target_snapshot, .snapshot_clear = snapshot_clear,
	.snapshot_trace = snapshot_trace, .snapshot_raw = snapshot_raw,
	.snapshot_raw_ready = snapshot_raw_ready, .profile = profiling_show,
	.stacks = profiling_show_stacks,
	.stack_max = profiling_stack_max, .stack_reset = profiling_stack_reset,
	.cmdlines = target_cmdlines, .tgids = target_tgids, .hooked = target_hooked,
	.hist = target_hist, .find_symbol = symbols_find, .find_object = symbols_object,
	.find_argument = symbols_argument, .find_parameters = symbols_parameters,
	.find_address = symbols_at,
	.hits = profiling_hits, .missed = profiling_missed,
	.marker = instances_marker, .user_event = instances_user_event, .make = target_make,
	.drop = target_drop,
};

const struct tree_target_ops printed_ops = {
	.traces = target_traces, .pipe = read_pipe, .pipe_ready = pipe_ready,
};
