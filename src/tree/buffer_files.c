/* SPDX-License-Identifier: MIT */
/* Files about the buffers: snapshot, per_cpu/, sizes in all, what is known of tasks and functions. Most is the target's
 * to say; without one everything is empty. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/buffer_sizes.h"
#include "model/units.h"
#include "tree/instance_internal.h"

static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

/* Of a file in per_cpu/cpuN. */
static unsigned cpu_of(const struct tree_file *f)
{
	return (unsigned)(uintptr_t)f->arg;
}

/* --- sizes -------------------------------------------------------------------------- */

static unsigned cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n > 0 ? (unsigned)n : 1;
}

static int show_total(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	uint64_t kb;

	pthread_mutex_lock(&in->lock);
	kb = buffer_size_total(&in->settings, cpus());
	pthread_mutex_unlock(&in->lock);
	out_u64(text, kb, 0, ' ');
	out_char(text, '\n');
	return 0;
}

static int show_cpu_size(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	uint64_t kb;

	pthread_mutex_lock(&in->lock);
	kb = buffer_size_of(&in->settings, cpu_of(f));
	pthread_mutex_unlock(&in->lock);
	out_u64(text, kb, 0, ' ');
	out_char(text, '\n');
	return 0;
}

static ssize_t write_cpu_size(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	char file[48];
	int e;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/buffer_size_kb", cpu_of(f));
	e = instance_write(instance_of(f), file, text, false, err);
	return e ? e : (ssize_t)n;
}

static ssize_t take_any(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return (ssize_t)n;
}

static int clear_buffers(struct instance *in, struct err *err)
{
	struct tree_target t = instance_hold(in);
	int e = t.ops->clear ? t.ops->clear(t.arg, err) : 0;

	instance_release(in);
	return e;
}

/* free_buffer: the one who closes it is done with what was recorded. */
static void free_at_close(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	bool off;

	pthread_mutex_lock(&in->lock);
	off = option_is_set(in->settings.options, OPTION_DISABLE_ON_FREE);
	pthread_mutex_unlock(&in->lock);
	if (off)
		instance_write(in, "tracing_on", "0", false, NULL);
	pthread_mutex_lock(&in->lock);
	clear_buffers(in, NULL);
	pthread_mutex_unlock(&in->lock);
}

const struct tree_file_ops buffer_total_file = { .show = show_total };
const struct tree_file_ops free_buffer_file = { .write = take_any, .release = free_at_close };
static const struct tree_file_ops cpu_size = { .show = show_cpu_size, .write = write_cpu_size };

/* --- dump --------------------------------------------------------------------------- */

static int show_dump(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);

	if (t.ops->dumped)
		t.ops->dumped(t.arg, text);
	instance_release(in);
	return 0;
}

const struct tree_file_ops dump_file = { .show = show_dump };

/* --- snapshot ----------------------------------------------------------------------- */

static void show_snapshot_help(struct out *text, const struct settings *s, bool allocated)
{
	char *tracer = settings_read(s, "current_tracer");

	out_printf(text, "# tracer: %s#\n#\n# * Snapshot is %s *\n#\n", tracer, allocated ? "allocated" : "freed");
	free(tracer);
	out_str(text, "# Snapshot commands:\n");
}

static const char snapshot_commands[] =
	"# echo 0 > snapshot : Clears and frees snapshot buffer\n"
	"# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
	"#                      Takes a snapshot of the main buffer.\n"
	"# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)\n"
	"#                      (Doesn't have to be '2' works with any number that\n"
	"#                       is not a '0' or '1')\n";
static const char cpu_snapshot_commands[] =
	"# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
	"# echo 1 > snapshot : Not supported with this kernel.\n"
	"#                     Must use main snapshot file to allocate.\n"
	"# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)\n"
	"#                      (Doesn't have to be '2' works with any number that\n"
	"#                       is not a '0' or '1')\n";

/* What it holds, of a CPU or of all, or how it is used. */
static int show_snapshot_of(struct instance *in, unsigned cpu, const char *commands, struct out *text, struct err *err)
{
	struct tree_target t;
	struct settings s;
	bool allocated, shown = false;
	int e = 0;

	pthread_mutex_lock(&in->lock);
	settings_copy(&s, &in->settings);
	allocated = in->snapshot;
	pthread_mutex_unlock(&in->lock);
	t = instance_hold(in);
	if (allocated && t.ops->snapshot_trace)
		e = t.ops->snapshot_trace(t.arg, &s, cpu, &shown, text, err);
	instance_release(in);
	if (!e && !shown) {
		show_snapshot_help(text, &s, allocated);
		out_str(text, commands);
	}
	settings_free(&s);
	return e;
}

static int show_snapshot(struct tree_file *f, struct out *text, struct err *err)
{
	return show_snapshot_of(instance_of(f), UINT_MAX, snapshot_commands, text, err);
}

static int show_cpu_snapshot(struct tree_file *f, struct out *text, struct err *err)
{
	return show_snapshot_of(instance_of(f), cpu_of(f), cpu_snapshot_commands, text, err);
}

/* 0: away with it, 1: what is in the buffer goes there, another number: it is emptied. */
static int do_snapshot(struct instance *in, uint64_t what, struct err *err)
{
	static const enum tree_snapshot actions[] = { TREE_SNAPSHOT_FREE, TREE_SNAPSHOT_TAKE, TREE_SNAPSHOT_CLEAR };
	struct tree_target t;
	int e;

	pthread_mutex_lock(&in->lock);
	t = instance_hold(in);
	e = t.ops->snapshot ? t.ops->snapshot(t.arg, actions[what < 2 ? what : 2], err) : 0;
	instance_release(in);
	if (!e && what < 2)
		in->snapshot = what;
	pthread_mutex_unlock(&in->lock);
	return e;
}

static int parse_snapshot(const char *text, uint64_t *what, struct err *err)
{
	size_t length = strlen(text);
	char *value = mem_strndup(text, length - (length && text[length - 1] == '\n'));
	int e = parse_number(value, "snapshot", 0, UINT32_MAX, what, err);

	free(value);
	return e ? err_code(err, EINVAL) : 0;
}

static ssize_t write_snapshot(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	uint64_t what;
	int e = parse_snapshot(text, &what, err);

	if (!e)
		e = do_snapshot(instance_of(f), what, err);
	return e ? e : (ssize_t)n;
}

/* One CPU's part is not taken or freed by itself, as by Debian's kernels; it can be cleared. */
static ssize_t write_cpu_snapshot(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	uint64_t what;
	int e = parse_snapshot(text, &what, err);

	if (!e && what < 2)
		e = err_at(err, EINVAL, text, 0, "a snapshot of one CPU can only be cleared (2); the main snapshot file takes it");
	if (e)
		return e;
	t = instance_hold(in);
	if (t.ops->snapshot_clear)
		t.ops->snapshot_clear(t.arg, cpu_of(f));
	instance_release(in);
	return (ssize_t)n;
}

const struct tree_file_ops snapshot_file = { .show = show_snapshot, .write = write_snapshot };
static const struct tree_file_ops cpu_snapshot = { .show = show_cpu_snapshot, .write = write_cpu_snapshot };

/* --- per_cpu ------------------------------------------------------------------------ */

static int show_cpu_trace(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	struct settings s;
	int e = 0;

	instance_settings(in, &s);
	t = instance_hold(in);
	if (t.ops->cpu_trace)
		e = t.ops->cpu_trace(t.arg, cpu_of(f), &s, text, err);
	else
		show_empty_trace(&s, text);
	instance_release(in);
	settings_free(&s);
	return e;
}

static int clear_cpu(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	int e;

	pthread_mutex_lock(&in->lock);
	t = instance_hold(in);
	e = t.ops->cpu_clear ? t.ops->cpu_clear(t.arg, cpu_of(f), err) : 0;
	instance_release(in);
	pthread_mutex_unlock(&in->lock);
	return e;
}

static ssize_t stream_cpu(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);
	ssize_t got = t.ops->cpu_pipe ? t.ops->cpu_pipe(t.arg, cpu_of(f), buf, n, err) : -EAGAIN;

	got = instance_pipe_end(f, t, cpu_of(f), got, buf, n, err);
	instance_release(in);
	return got;
}

static bool cpu_ready(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);
	bool ready = t.ops->cpu_pipe_ready && t.ops->cpu_pipe_ready(t.arg, cpu_of(f));

	instance_release(in);
	return ready;
}

/* A sub-buffer of which only a part was read, by who reads less than a whole one. Only its first TREE_PAGE bytes are used. */
struct raw_rest {
	char page[TREE_PAGE];
	size_t at, size;   /* size: of the sub-buffer, whose other bytes are zeros */
};

static int open_raw(struct tree_file *f, struct err *err)
{
	struct raw_rest *rest = mem_zalloc(sizeof(*rest));

	f->state = rest;
	return 0;
}

static void close_raw(struct tree_file *f)
{
	free(f->state);
}

static ssize_t next_page(struct tree_file *f, struct raw_rest *rest, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);
	ssize_t got = t.ops->cpu_raw ? t.ops->cpu_raw(t.arg, cpu_of(f), rest->page, f->flags & O_NONBLOCK, err) : -EAGAIN;

	instance_release(in);
	if (got > 0) {
		pthread_mutex_lock(&in->lock);
		rest->size = (size_t)in->settings.subbuf_kb * 1024;
		pthread_mutex_unlock(&in->lock);
		rest->at = 0;
	}
	return got;
}

/* One sub-buffer at most, as in ftrace. */
static ssize_t stream_raw(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	struct raw_rest *rest = f->state;
	ssize_t got = rest->at < rest->size ? 1 : next_page(f, rest, err);
	size_t used;

	if (got <= 0)
		return got;
	used = rest->at < sizeof(rest->page) ? sizeof(rest->page) - rest->at : 0;
	if (n > rest->size - rest->at)
		n = rest->size - rest->at;
	if (used > n)
		used = n;
	memcpy(buf, rest->page + (used ? rest->at : 0), used);
	memset(buf + used, 0, n - used);
	rest->at += n;
	return (ssize_t)n;
}

static bool raw_ready(struct tree_file *f)
{
	const struct raw_rest *rest = f->state;
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);
	bool ready = rest->at < rest->size || (t.ops->cpu_raw_ready && t.ops->cpu_raw_ready(t.arg, cpu_of(f)));

	instance_release(in);
	return ready;
}

static void show_time(struct out *text, const char *what, uint64_t ns, bool number)
{
	if (number)
		out_printf(text, "%s: %llu\n", what, (unsigned long long)ns);
	else
		out_printf(text, "%s: %5llu.%06llu\n", what, (unsigned long long)ns / 1000000000, (unsigned long long)ns / 1000 % 1000000);
}

static int show_stats(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);
	struct tree_cpu_stats s = { 0 };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s.now = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (t.ops->cpu_stats)
		t.ops->cpu_stats(t.arg, cpu_of(f), &s);
	instance_release(in);
	out_printf(text, "entries: %lu\noverrun: %lu\ncommit overrun: 0\nbytes: %lu\n", s.entries, s.overrun, s.bytes);
	show_time(text, "oldest event ts", s.oldest, s.numbers);
	show_time(text, "now ts", s.now, s.numbers);
	out_printf(text, "dropped events: %lu\nread events: %lu\n", s.dropped, s.read);
	return 0;
}

static const struct tree_file_ops cpu_trace = { .open = trace_open, .show = show_cpu_trace, .grows = true, .truncate = clear_cpu, .write = take_any,
						.release = trace_release };
static const struct tree_file_ops cpu_pipe = { .stream = stream_cpu, .ready = cpu_ready, .exclusive = true };
static const struct tree_file_ops cpu_raw = { .open = open_raw, .stream = stream_raw, .ready = raw_ready, .release = close_raw,
					      .paged = true };
static const struct tree_file_ops cpu_stats = { .show = show_stats };

void per_cpu_fill(struct instance *in, struct tree_node *dir)
{
	static const struct { const char *name; mode_t mode; const struct tree_file_ops *ops; } files[] = {
		{ "buffer_size_kb", 0640, &cpu_size }, { "snapshot", 0640, &cpu_snapshot }, { "stats", 0440, &cpu_stats },
		{ "trace", 0640, &cpu_trace }, { "trace_pipe", 0440, &cpu_pipe }, { "trace_pipe_raw", 0440, &cpu_raw },
	};

	in->per_cpu = tree_dir(dir, "per_cpu", 0750, NULL);
	for (unsigned cpu = 0; cpu < cpus(); cpu++) {
		char *name = mem_printf("cpu%u", cpu);
		struct tree_node *child = tree_dir(in->per_cpu, name, 0750, NULL);

		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
			struct tree_node *n = tree_file(child, files[i].name, files[i].mode, files[i].ops,
							(const void *)(uintptr_t)cpu);

			if (files[i].ops == &cpu_pipe)
				tree_set_whole(n, in->pipe);
		}
		free(name);
	}
}

/* --- what the target knows ------------------------------------------------------------ */

static int show_cmdlines(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);

	if (t.ops->cmdlines)
		t.ops->cmdlines(t.arg, text);
	instance_release(in);
	return 0;
}

static int show_tgids(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);

	if (t.ops->tgids)
		t.ops->tgids(t.arg, text);
	instance_release(in);
	return 0;
}

static int show_hooked(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;

	instance_await_cleared(in);
	t = instance_hold(in);
	if (t.ops->hooked)
		t.ops->hooked(t.arg, !strcmp(f->arg, "touched_functions"), text);
	instance_release(in);
	return 0;
}

static int count_lines(void *arg, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*(unsigned long *)arg += bytes[i] == '\n';
	return 0;
}

/* How many functions there are; pages and groups are the kernel's own matter. */
static int show_total_functions(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_hold(in);
	unsigned long n = 0;
	struct out lines;

	out_init_raw(&lines, count_lines, &n);
	if (t.ops->functions)
		t.ops->functions(t.arg, NULL, &lines);
	out_flush(&lines);
	out_free(&lines);
	instance_release(in);
	out_printf(text, "%lu pages:0 groups: 0\n", n);
	return 0;
}

const struct tree_file_ops saved_cmdlines_file = { .show = show_cmdlines };
const struct tree_file_ops saved_tgids_file = { .show = show_tgids };
const struct tree_file_ops hooked_functions_file = { .show = show_hooked };
const struct tree_file_ops total_functions_file = { .show = show_total_functions };

/* --- what never changes --------------------------------------------------------------- */

static int show_timestamp_mode(struct tree_file *f, struct out *text, struct err *err)
{
	out_str(text, "[delta] absolute\n");
	return 0;
}

/* Formats of trace_printk, which user programs have not. */
static int show_nothing(struct tree_file *f, struct out *text, struct err *err)
{
	return 0;
}

const struct tree_file_ops timestamp_mode_file = { .show = show_timestamp_mode };
const struct tree_file_ops printk_formats_file = { .show = show_nothing };
