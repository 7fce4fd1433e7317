/* function_profile_enabled and trace_stat/: how often each function was called and how long that took, counted by
 * what stands behind the tree. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/mem.h"
#include "tree/instance_internal.h"

static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

static int show_enabled(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);

	pthread_mutex_lock(&in->lock);
	out_str(text, in->settings.function_profile ? "1\n" : "0\n");
	pthread_mutex_unlock(&in->lock);
	return 0;
}

struct enabling {
	const char *text;
	bool can;
};

static int enable(struct settings *next, void *arg, struct err *err)
{
	const struct enabling *a = arg;
	int e = settings_write(next, "function_profile_enabled", a->text, false, err);

	if (!e && next->function_profile && !a->can)
		e = err_set(err, ENODEV, "no program is traced whose functions could be counted");
	return e;
}

static ssize_t write_enabled(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct instance *in = instance_of(f);
	struct enabling a = { text, instance_hold(in).ops->profile };
	int e;

	instance_release(in);
	e = instance_change(in, "function_profile_enabled", enable, &a, err);
	return e ? e : (ssize_t)n;
}

const struct tree_file_ops function_profile_file = { .show = show_enabled, .write = write_enabled };

static int show_stat(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t;
	struct settings s;

	out_str(text, "  Function                               Hit    Time            Avg             s^2\n"
		      "  --------                               ---    ----            ---             ---\n");
	instance_settings(in, &s);
	t = instance_hold(in);
	if (t.ops->profile)
		t.ops->profile(t.arg, (unsigned)(uintptr_t)f->arg, &s, text);
	instance_release(in);
	settings_free(&s);
	return 0;
}

static const struct tree_file_ops function_stat = { .show = show_stat };

void trace_stat_fill(struct tree_node *dir)
{
	struct tree_node *stat = tree_dir(dir, "trace_stat", 0750, NULL);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (long cpu = 0; cpu < cpus; cpu++) {
		char *name = mem_printf("function%ld", cpu);

		tree_file(stat, name, 0440, &function_stat, (const void *)(uintptr_t)cpu);
		free(name);
	}
}
