/* SPDX-License-Identifier: MIT */
/* Called on the main thread, by the commands that trace the kernel. The settings that perf has are
 * events, their filters and the buffers' size; the others take an instance, and so root. What the
 * kernel refuses is the command's error, with the rule that is in the way. */
#include "ui/kernel_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/probes.h"
#include "ui/kernel_settings.h"

/* Whether all that is asked for are events: -R and options are refused by a sentence of their
 * own. */
static bool asks_for_events(const struct invocation *inv)
{
	bool events = false;

	for (size_t i = 0; i < inv->writes.n; i++) {
		const char *file = inv->writes.at[i].file;

		if (!file || !strcmp(file, "buffer_size_kb") || !strcmp(file, "trace_options"))
			continue;
		if (!strcmp(file, "current_tracer") && !strcmp(inv->writes.at[i].text, "nop"))
			continue;
		if (strcmp(file, "set_event") != 0)
			return false;
		events = true;
	}
	return events;
}

static int set_size(struct invocation *inv, struct kernel_tracepoints *t,
		    const struct setting_write *w, struct err *err)
{
	int e = settings_write(&inv->settings, w->file, w->text, false, err);
	char *text = e ? NULL : settings_read(&inv->settings, w->file);

	if (text)
		kernel_tracepoints_size(t, strtoull(text, NULL, 10));
	free(text);
	return e;
}

static int write_one(struct invocation *inv, struct kernel_tracepoints *t,
		     const struct setting_write *w, struct err *err)
{
	if (inv->verbose && w->file)
		invocation_show_write(w);
	if (!w->file && !strcmp(w->option->file, "filter"))
		return kernel_tracepoints_filter(t, w->text, err);
	if (!w->file)
		return err_at(err, EACCES, w->text, 0,
			      "triggers of the kernel's events take root: perf has none");
	if (!strcmp(w->file, "buffer_size_kb"))
		return set_size(inv, t, w, err);
	if (strcmp(w->file, "set_event") != 0)
		return settings_write(&inv->settings, w->file, w->text, false, err);
	if (kernel_probes_is(w->text))
		return err_at(err, EACCES, w->text, 0,
			      "only root may define events in the kernel: its own can be had by perf");
	return kernel_tracepoints_add(t, w->text, err);
}

/* In the order of the line: -f is of the -e before it. */
static int write_all(struct invocation *inv, struct kernel_tracepoints *t, struct err *err)
{
	int e = settings_write(&inv->settings, "current_tracer", "nop", false, err);
	bool event = false;

	for (size_t i = 0; i < inv->writes.n && !e; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		event |= w->file && !strcmp(w->file, "set_event");
		e = w->file || event ? write_one(inv, t, w, err)
				     : err_set(err, EINVAL, "it stands behind the -e that it is for");
		if (e)
			e = kernel_settings_name_option(w->option, err);
	}
	return e;
}

/* Switches that nobody asked for are no reason to fail: the rule may allow system calls alone. */
int kernel_perf_open(struct invocation *inv, bool switches, int e, struct kernel_source **out,
		     struct err *err)
{
	struct kernel_tracepoints *t;
	struct err ignored;

	if (geteuid() == 0 || (e != -EACCES && e != -EPERM) || !asks_for_events(inv))
		return e;
	e = kernel_tracepoints_new(&t, err);
	if (e)
		return e;
	e = write_all(inv, t, err);
	if (!e && switches)
		kernel_tracepoints_add(t, "sched:sched_switch", &ignored);
	if (e)
		kernel_tracepoints_free(t);
	else
		*out = kernel_source_of(t);
	return e;
}
