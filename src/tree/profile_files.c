/* SPDX-License-Identifier: MIT */
/* Files of the function profile (function_profile_enabled, trace_stat/) and the stack tracer
 * (stack_trace and its like). The content comes from the target. Operations run on FUSE's worker
 * threads or a command's thread. A write that is wrong is -errno and a sentence. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tree/instance_internal.h"

static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

/* --- 0 and 1 -------------------------------------------------------------------------- */

/* f->arg is the file's name, which is the setting's, too. */
static int show_enabled(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	char *value;

	pthread_mutex_lock(&in->lock);
	value = settings_read(&in->settings, f->arg);
	pthread_mutex_unlock(&in->lock);
	out_str(text, value);
	free(value);
	return 0;
}

/* A write of function_profile_enabled or stack_tracer_enabled. */
struct enabling {
	const char *file, *text;
	bool can;
};

/* instance_change()'s callback. Both are refused without a target that counts; to switch the last
 * one off is always possible. */
static int enable_profile(struct settings *next, void *arg, struct err *err)
{
	const struct enabling *a = arg;
	int e = settings_write(next, a->file, a->text, false, err);

	if (!e && (next->function_profile || next->stack_trace) && !a->can)
		e = err_set(err, ENODEV, "no program is traced whose functions could be watched");
	return e;
}

static ssize_t write_enabled(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	/* Asked before the lock of the settings is taken, since the order is lock, target. */
	struct enabling a = { f->arg, text, instance_lock(in).ops->profile };
	int e;

	instance_unlock(in);
	e = instance_change(in, a.file, enable_profile, &a, err);
	return e ? e : (ssize_t)n;
}

const struct tree_file_ops function_profile_file = { .show = show_enabled, .write = write_enabled };
const struct tree_file_ops stack_enabled_file = { .show = show_enabled, .write = write_enabled };

/* --- trace_stat ------------------------------------------------------------------------- */

static int show_stat(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	struct settings s;

	/* The kernel's header, to the byte. */
	out_str(text,
		"  Function                               Hit    Time            Avg             s^2\n"
		"  --------                               ---    ----            ---             ---\n");
	instance_settings(in, &s);
	t = instance_lock(in);
	if (t.ops->profile)
		t.ops->profile(t.arg, (unsigned)(uintptr_t)f->arg, &s, text);
	instance_unlock(in);
	settings_free(&s);
	return 0;
}

static const struct tree_file_ops function_stat = { .show = show_stat };

void profile_files_fill(struct tree_node *dir)
{
	struct tree_node *stat = tree_dir(dir, "trace_stat", 0750, NULL);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (long cpu = 0; cpu < cpus; cpu++) {
		char *name = mem_printf("function%ld", cpu);

		tree_file(stat, name, 0440, &function_stat, (const void *)(uintptr_t)cpu);
		free(name);
	}
}

/* --- stacks ----------------------------------------------------------------------------- */

static int show_stacks(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	struct settings s;

	instance_settings(in, &s);
	t = instance_lock(in);
	if (!t.ops->stacks || !t.ops->stacks(t.arg, text)) {
		out_str(text,
			"        Depth    Size   Location    (0 entries)\n        -----    ----   --------\n");
		if (!s.stack_trace)
			/* The kernel's text, to the byte, though its path is elsewhere here. */
			out_str(text,
				"#\n#  Stack tracer disabled\n#\n# To enable the stack tracer, either add 'stacktrace' to the\n"
				"# kernel command line\n# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n#\n");
	}
	instance_unlock(in);
	settings_free(&s);
	return 0;
}

/* 0 without a target, as before anything was found. */
static int show_max(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);

	out_printf(text, "%lu\n", t.ops->stack_max ? t.ops->stack_max(t.arg) : 0);
	instance_unlock(in);
	return 0;
}

/* Any number is taken, as by the kernel: what was found is forgotten, only deeper stacks count. */
static ssize_t write_max(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	char *value = mem_strndup(text, strcspn(text, "\n"));
	struct tree_target t;
	uint64_t bytes;
	int e = units_parse_number(value, "stack_max_size", 0, INT64_MAX, &bytes, err);

	free(value);
	if (e)
		return err_code(err, EINVAL);
	t = instance_lock(in);
	if (t.ops->stack_reset)
		t.ops->stack_reset(t.arg, bytes);
	instance_unlock(in);
	return (ssize_t)n;
}

const struct tree_file_ops stack_trace_file = { .show = show_stacks };
const struct tree_file_ops stack_max_file = { .show = show_max, .write = write_max };
