/* SPDX-License-Identifier: MIT */
/* Files about the buffers: snapshot, per_cpu/, sizes, and lists of tasks and functions. Most of
 * their content comes from the target; without one everything is empty. Operations run on FUSE's
 * worker threads or a command's thread. The target is held (instance_lock) while it is asked, and
 * in->lock is taken only for settings, before the target. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "model/buffer_sizes.h"
#include "model/units.h"
#include "tree/instance_internal.h"

static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

/* The CPU of a file in per_cpu/cpuN. */
static unsigned file_cpu(const struct tree_file *f)
{
	return (unsigned)(uintptr_t)f->arg;
}

/* --- sizes -------------------------------------------------------------------------- */

/* Configured, not online: the files stay when a CPU goes offline. */
static unsigned count_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n > 0 ? (unsigned)n : 1;
}

/* The sum over all CPUs, also where per_cpu/cpuN/buffer_size_kb gave one another size. */
static int show_total(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	uint64_t kb;

	pthread_mutex_lock(&in->lock);
	kb = buffer_size_total(&in->settings, count_cpus());
	pthread_mutex_unlock(&in->lock);
	out_u64(text, kb, 0, ' ');
	out_char(text, '\n');
	return 0;
}

/* One CPU's size: its own if per_cpu/cpuN/buffer_size_kb was written, else that of all. */
static int show_cpu_size(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	uint64_t kb;

	pthread_mutex_lock(&in->lock);
	kb = buffer_size_of(&in->settings, file_cpu(f));
	pthread_mutex_unlock(&in->lock);
	out_u64(text, kb, 0, ' ');
	out_char(text, '\n');
	return 0;
}

/* The settings know these files by their path below the instance, as it would be typed. */
static ssize_t write_cpu_size(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	char file[48];
	int e;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/buffer_size_kb", file_cpu(f));
	e = instance_write(instance_of(f), file, text, false, err);
	return e ? e : (ssize_t)n;
}

/* Accepts any write: opening or closing is what has an effect. */
static ssize_t take_any(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return (ssize_t)n;
}

/* Called with in->lock held, which keeps settings from changing meanwhile. */
static int clear_buffers(struct instance *in, struct err *err)
{
	struct tree_target t = instance_lock(in);
	int e = t.ops->clear ? t.ops->clear(t.arg, err) : 0;

	instance_unlock(in);
	return e;
}

/* free_buffer: closing it says that the records are no longer needed. */
static void free_at_close(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	bool off;

	/* Not one critical section: instance_write takes the lock itself. */
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
const struct tree_file_ops free_buffer_file = {
	.acts_at_close = true, .write = take_any, .release = free_at_close,
};
static const struct tree_file_ops cpu_size = { .show = show_cpu_size, .write = write_cpu_size };

/* --- dump --------------------------------------------------------------------------- */

/* The text stays until the next dump replaces it; reading consumes nothing. */
static int show_dump(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);

	if (t.ops->dumped)
		t.ops->dumped(t.arg, text);
	instance_unlock(in);
	return 0;
}

const struct tree_file_ops dump_file = { .show = show_dump };

/* --- snapshot ----------------------------------------------------------------------- */

/* The kernel's own text, from here to cpu_snapshot_commands. */
static void show_snapshot_help(struct out *text, const struct settings *s, bool allocated)
{
	char *tracer = settings_read(s, "current_tracer");

	out_printf(text, "# tracer: %s#\n#\n# * Snapshot is %s *\n#\n", tracer,
		   allocated ? "allocated" : "freed");
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

/* Shows the snapshot of one CPU (UINT_MAX: of all), or how to use the file if there is none. */
static int show_snapshot_of(struct instance *in, unsigned cpu, const char *commands,
			    struct out *text, struct err *err)
{
	struct tree_target t;
	struct settings s;
	bool allocated, shown = false;
	int e = 0;

	pthread_mutex_lock(&in->lock);
	settings_copy(&s, &in->settings);
	allocated = in->snapshot;
	pthread_mutex_unlock(&in->lock);
	t = instance_lock(in);
	if (allocated && t.ops->snapshot_trace)
		e = t.ops->snapshot_trace(t.arg, &s, cpu, &shown, text, err);
	instance_unlock(in);
	if (!e && !shown) {
		show_snapshot_help(text, &s, allocated);
		out_str(text, commands);
	}
	settings_free(&s);
	return e;
}

/* UINT_MAX is tree_target_ops' word for all CPUs. */
static int show_snapshot(struct tree_file *f, struct out *text, struct err *err)
{
	return show_snapshot_of(instance_of(f), UINT_MAX, snapshot_commands, text, err);
}

static int show_cpu_snapshot(struct tree_file *f, struct out *text, struct err *err)
{
	return show_snapshot_of(instance_of(f), file_cpu(f), cpu_snapshot_commands, text, err);
}

/* Carries out a write to snapshot. 0: free it, 1: move the buffer's records there, another number:
 * empty it. */
static int do_snapshot(struct instance *in, uint64_t what, struct err *err)
{
	static const enum tree_snapshot actions[] = { TREE_SNAPSHOT_FREE, TREE_SNAPSHOT_TAKE,
						      TREE_SNAPSHOT_CLEAR };
	struct tree_target t;
	int e;

	pthread_mutex_lock(&in->lock);
	t = instance_lock(in);
	e = t.ops->snapshot ? t.ops->snapshot(t.arg, actions[what < 2 ? what : 2], err) : 0;
	instance_unlock(in);
	/* 2 changes only what is in it. */
	if (!e && what < 2)
		in->snapshot = what;
	pthread_mutex_unlock(&in->lock);
	return e;
}

/* Reads the number, with or without a newline. Every wrong text is -EINVAL, also a number out of
 * range. */
static int parse_snapshot(const char *text, uint64_t *what, struct err *err)
{
	size_t length = strlen(text);
	char *value = mem_strndup(text, length - (length && text[length - 1] == '\n'));
	int e = units_parse_number(value, "snapshot", 0, UINT32_MAX, what, err);

	free(value);
	return e ? err_code(err, EINVAL) : 0;
}

/* The number is the kernel's: 0 frees the snapshot, 1 takes one. */
static ssize_t write_snapshot(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	uint64_t what;
	int e = parse_snapshot(text, &what, err);

	if (!e)
		e = do_snapshot(instance_of(f), what, err);
	return e ? e : (ssize_t)n;
}

/* Writes to one CPU's snapshot. It can only be cleared, as with Debian's kernels. */
static ssize_t write_cpu_snapshot(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	uint64_t what;
	int e = parse_snapshot(text, &what, err);

	if (!e && what < 2)
		e = err_at(
			err, EINVAL, text, 0,
			"a snapshot of one CPU can only be cleared (2); the main snapshot file takes it");
	if (e)
		return e;
	t = instance_lock(in);
	if (t.ops->snapshot_clear)
		t.ops->snapshot_clear(t.arg, file_cpu(f));
	instance_unlock(in);
	return (ssize_t)n;
}

const struct tree_file_ops snapshot_file = { .show = show_snapshot, .write = write_snapshot };
static const struct tree_file_ops cpu_snapshot = { .show = show_cpu_snapshot,
						   .write = write_cpu_snapshot };

/* --- per_cpu ------------------------------------------------------------------------ */

/* A copy of the settings is printed with, as in show_trace() of files.c: printing takes long, and
 * writes must not wait for it. */
static int show_cpu_trace(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	struct settings s;
	int e = 0;

	instance_settings(in, &s);
	t = instance_lock(in);
	if (t.ops->cpu_trace)
		e = t.ops->cpu_trace(t.arg, file_cpu(f), &s, text, err);
	else
		files_show_empty_trace(&s, text);
	instance_unlock(in);
	settings_free(&s);
	return e;
}

/* in->lock comes first, as in clear_buffers(). */
static int clear_cpu(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	int e;

	pthread_mutex_lock(&in->lock);
	t = instance_lock(in);
	e = t.ops->cpu_clear ? t.ops->cpu_clear(t.arg, file_cpu(f), err) : 0;
	instance_unlock(in);
	pthread_mutex_unlock(&in->lock);
	return e;
}

/* Without a target there is nothing yet, which is not the end. */
static ssize_t stream_cpu(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	ssize_t got = t.ops->cpu_pipe ? t.ops->cpu_pipe(t.arg, file_cpu(f), buf, n, err) : -EAGAIN;

	got = instance_pipe_end(f, t, file_cpu(f), got, buf, n, err);
	instance_unlock(in);
	return got;
}

/* For poll(2): asks the target without consuming anything. */
static bool cpu_ready(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	bool ready = t.ops->cpu_pipe_ready && t.ops->cpu_pipe_ready(t.arg, file_cpu(f));

	instance_unlock(in);
	return ready;
}

/* The rest of a sub-buffer that was read in part, because the read was shorter than a sub-buffer.
 * Only its first TREE_PAGE bytes have data. */
struct raw_rest {
	char page[TREE_PAGE];
	/* size: of the sub-buffer (buffer_subbuf_size_kb); the bytes behind the page are zeros */
	size_t at, size;
};

/* Each open file has a rest of its own: the page was consumed, and what of it was not read is lost
 * at the close. */
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

/* Takes the target's next page, of the buffer or of the snapshot. */
typedef ssize_t page_taker(struct tree_target t, struct tree_file *f, char *page, struct err *err);

/* A reader that does not wait (O_NONBLOCK) also gets a page that still has room. */
static ssize_t page_of_buffer(struct tree_target t, struct tree_file *f, char *page,
			      struct err *err)
{
	return t.ops->cpu_raw ? t.ops->cpu_raw(t.arg, file_cpu(f), page, f->flags & O_NONBLOCK, err)
			      : -EAGAIN;
}

/* A snapshot's records do not become more, so that its last page is given as it is. */
static ssize_t page_of_snapshot(struct tree_target t, struct tree_file *f, char *page,
				struct err *err)
{
	return t.ops->snapshot_raw ? t.ops->snapshot_raw(t.arg, file_cpu(f), page) : -EAGAIN;
}

/* Fills *rest. Returns the page's bytes, or -EAGAIN. The size is read after the target was
 * released, since in->lock is taken before the target. */
static ssize_t next_page(struct tree_file *f, page_taker *taker, struct raw_rest *rest,
			 struct err *err)
{
	struct instance *in = instance_of(f);
	ssize_t got = taker(instance_lock(in), f, rest->page, err);

	instance_unlock(in);
	if (got > 0) {
		pthread_mutex_lock(&in->lock);
		rest->size = (size_t)in->settings.subbuf_kb * 1024;
		pthread_mutex_unlock(&in->lock);
		rest->at = 0;
	}
	return got;
}

/* Reads at most one sub-buffer, like ftrace. */
static ssize_t stream_pages(struct tree_file *f, page_taker *taker, char *buf, size_t n,
			    struct err *err)
{
	struct raw_rest *rest = f->state;
	ssize_t got = rest->at < rest->size ? 1 : next_page(f, taker, rest, err);
	size_t used;

	if (got <= 0)
		return got;
	/* Bytes of the page that are left; beyond it there are only zeros. */
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

static ssize_t stream_raw(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	return stream_pages(f, page_of_buffer, buf, n, err);
}

static ssize_t stream_snapshot(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	return stream_pages(f, page_of_snapshot, buf, n, err);
}

/* The rest of a page that was read in part is ready whatever the target says: it left the buffer
 * already. */
static bool pages_ready(struct tree_file *f, bool snapshot)
{
	const struct raw_rest *rest = f->state;
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	bool (*ask)(void *arg, unsigned cpu) = snapshot ? t.ops->snapshot_raw_ready
							 : t.ops->cpu_raw_ready;
	bool ready = rest->at < rest->size || (ask && ask(t.arg, file_cpu(f)));

	instance_unlock(in);
	return ready;
}

static bool raw_ready(struct tree_file *f)
{
	return pages_ready(f, false);
}

static bool snapshot_raw_ready(struct tree_file *f)
{
	return pages_ready(f, true);
}

/* ns with microseconds' digits, or, by a clock of another unit, as a number. */
static void show_time(struct out *text, const char *what, uint64_t ns, bool number)
{
	if (number)
		out_printf(text, "%s: %llu\n", what, (unsigned long long)ns);
	else
		out_printf(text, "%s: %5llu.%06llu\n", what, (unsigned long long)ns / 1000000000,
			   (unsigned long long)ns / 1000 % 1000000);
}

/* In the kernel's order; "commit overrun" cannot happen here. */
static int show_stats(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	struct tree_cpu_stats s = { 0 };

	/* The target may leave it: a trace clock of ns counts like this. */
	s.now = monotonic_ns();
	if (t.ops->cpu_stats)
		t.ops->cpu_stats(t.arg, file_cpu(f), &s);
	instance_unlock(in);
	out_printf(text, "entries: %lu\noverrun: %lu\ncommit overrun: 0\nbytes: %lu\n", s.entries,
		   s.overrun, s.bytes);
	show_time(text, "oldest event ts", s.oldest, s.numbers);
	show_time(text, "now ts", s.now, s.numbers);
	out_printf(text, "dropped events: %lu\nread events: %lu\n", s.dropped, s.read);
	return 0;
}

/* Shared by all CPUs' files; f->arg is the CPU. */
static const struct tree_file_ops cpu_trace = { .open = files_trace_open,
						.show = show_cpu_trace,
						.grows = true,
						.truncate = clear_cpu,
						.write = take_any,
						.release = files_trace_release };
static const struct tree_file_ops cpu_pipe = { .stream = stream_cpu,
					       .ready = cpu_ready,
					       .exclusive = true };
static const struct tree_file_ops cpu_raw = { .open = open_raw,
					      .stream = stream_raw,
					      .ready = raw_ready,
					      .release = close_raw,
					      .paged = true };
static const struct tree_file_ops snapshot_raw = { .open = open_raw,
						   .stream = stream_snapshot,
						   .ready = snapshot_raw_ready,
						   .release = close_raw,
						   .paged = true };
static const struct tree_file_ops cpu_stats = { .show = show_stats };

/* files_fill() calls this when it has set in->pipe. */
void buffer_files_fill(struct instance *in, struct tree_node *dir)
{
	static const struct {
		const char *name;
		mode_t mode;
		const struct tree_file_ops *ops;
	} files[] = {
		{ "buffer_size_kb", 0640, &cpu_size },	 { "snapshot", 0640, &cpu_snapshot },
		{ "snapshot_raw", 0440, &snapshot_raw }, { "stats", 0440, &cpu_stats },
		{ "trace", 0640, &cpu_trace },		 { "trace_pipe", 0440, &cpu_pipe },
		{ "trace_pipe_raw", 0440, &cpu_raw },
	};

	in->per_cpu = tree_dir(dir, "per_cpu", 0750, NULL);
	for (unsigned cpu = 0; cpu < count_cpus(); cpu++) {
		char *name = mem_printf("cpu%u", cpu);
		struct tree_node *child = tree_dir(in->per_cpu, name, 0750, NULL);

		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
			struct tree_node *n = tree_file(child, files[i].name, files[i].mode,
							files[i].ops, (const void *)(uintptr_t)cpu);

			/* The pipe of all CPUs and those of single ones consume the same
			 * records. */
			if (files[i].ops == &cpu_pipe)
				tree_set_whole(n, in->pipe);
		}
		free(name);
	}
}

/* --- what the target knows ------------------------------------------------------------ */

/* The lists below come from the target as they are at this moment; without one they are empty. */
static int show_cmdlines(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);

	if (t.ops->cmdlines)
		t.ops->cmdlines(t.arg, text);
	instance_unlock(in);
	return 0;
}

/* Without a program nothing is known of any thread: the file is empty, as the kernel's is before
 * record-tgid. */
static int show_tgids(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);

	if (t.ops->tgids)
		t.ops->tgids(t.arg, text);
	instance_unlock(in);
	return 0;
}

/* Shared by two files, which f->arg, the file's name, tells apart. */
static int show_hooked(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;

	/* `echo > set_ftrace_filter` may be between clear and words. */
	instance_await_cleared(in);
	t = instance_lock(in);
	if (t.ops->hooked)
		t.ops->hooked(t.arg, !strcmp(f->arg, "touched_functions"), text);
	instance_unlock(in);
	return 0;
}

/* An out.flush function that keeps nothing but the number of lines. */
static int count_lines(void *arg, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*(unsigned long *)arg += bytes[i] == '\n';
	return 0;
}

/* Shows how many functions there are. The kernel's pages and groups have no equivalent. */
static int show_total_functions(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	unsigned long n = 0;
	struct out lines;

	out_init_raw(&lines, count_lines, &n);
	if (t.ops->functions)
		t.ops->functions(t.arg, NULL, &lines);
	out_flush(&lines);
	out_free(&lines);
	instance_unlock(in);
	out_printf(text, "%lu pages:0 groups: 0\n", n);
	return 0;
}

const struct tree_file_ops saved_cmdlines_file = { .show = show_cmdlines };
const struct tree_file_ops saved_tgids_file = { .show = show_tgids };
const struct tree_file_ops hooked_functions_file = { .show = show_hooked };
const struct tree_file_ops total_functions_file = { .show = show_total_functions };

/* --- what never changes --------------------------------------------------------------- */

/* Records of trace_pipe_raw have time deltas (header_event in event_files.c); brackets mark the
 * mode in use. */
static int show_timestamp_mode(struct tree_file *f, struct out *text, struct err *err)
{
	out_str(text, "[delta] absolute\n");
	return 0;
}

/* Shows nothing: user programs have no trace_printk formats. */
static int show_nothing(struct tree_file *f, struct out *text, struct err *err)
{
	return 0;
}

/* A kernel whose buffer survived a reboot says here where it was loaded before; a session whose
 * ring had records of an earlier one, where that one's programs and libraries were. */
static int show_last_boot(struct tree_file *f, struct out *text, struct err *err)
{
	const char *known = instance_of(f)->last_boot;

	out_str(text, known ? known : "# Current\n");
	return 0;
}

const struct tree_file_ops last_boot_file = { .show = show_last_boot };
const struct tree_file_ops timestamp_mode_file = { .show = show_timestamp_mode };
const struct tree_file_ops printk_formats_file = { .show = show_nothing };
