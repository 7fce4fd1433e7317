/* SPDX-License-Identifier: MIT */
/* Each command opens the instance, reads or writes files of it and leaves it. main() calls them, on
 * brace's only thread. */
#include "ui/kernel_session.h"

#include <errno.h>
#include <string.h>

#include "kernel/functions.h"
#include "kernel/instance.h"
#include "kernel/tasks.h"
#include "kernel/tracefs.h"
#include "ui/kernel_commands.h"
#include "ui/kernel_settings.h"
#include "ui/say.h"

/* --- beginning, changing ---------------------------------------------------------------- */

static int set_tasks(const struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	int e = 0;

	for (size_t k = 0; k < inv->pids.n && !e; k++)
		e = kernel_tasks_follow(i, inv->pids.at[k], err);
	return e;
}

/* The program would be a child of a brace that has ended. */
static int check_program(const struct invocation *inv, struct err *err)
{
	if (!inv->n_operands)
		return 0;
	return err_set(err, EINVAL,
		       "start -k begins no program: it records the kernel for all, or for processes that run (-p); record -K and graph -K run one");
}

/* The tasks come before the settings, and tracing_on last: no record of anybody else is made in
 * between. The instance stays when brace ends; that is the session. */
static int begin_session(struct invocation *inv, struct err *err)
{
	struct kernel_instance *i;
	int e;

	kernel_remove_leftovers();
	e = kernel_instance_begin_session(kernel_settings_shared(inv), &i, err);

	if (e)
		return e;
	e = set_tasks(inv, i, err);
	if (!e)
		e = kernel_settings_write(inv, i, err);
	if (!e)
		e = kernel_instance_write(i, "tracing_on", "1", false, err);
	if (e)
		kernel_instance_close(i, NULL);
	else
		kernel_instance_leave(i);
	return e;
}

/* Whether a list of functions would be left empty, which means all of them. */
static int check_lists(const struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	int e = 0;

	for (size_t k = 0; k < inv->writes.n && !e; k++) {
		const struct setting_write *w = &inv->writes.at[k];

		if (w->file && !strncmp(w->file, "set_ftrace_", 11) && strcmp(w->file, "set_ftrace_module"))
			e = kernel_functions_check(kernel_instance_top(i), w->text, err);
	}
	return e;
}

/* Changes the session; files that the kernel has once are put back with the instance only if it was
 * made for that. */
static int change(struct invocation *inv, struct kernel_instance *i, struct err *err)
{
	if (kernel_settings_shared(inv) && !kernel_instance_may_share(i))
		return err_set(err, EINVAL,
			       "-g, --max-graph-depth and --threshold hold for all of the kernel's tracing, and are taken by brace start -k alone, when it begins the session");
	return check_lists(inv, i, err) ? -err->code : kernel_settings_change(inv, i, err);
}

/* Begins the session, or goes on with the one that is there, with further settings. */
int kernel_session_start(struct invocation *inv)
{
	struct kernel_instance *i = NULL;
	struct err err;
	int e = check_program(inv, &err);

	if (!e)
		e = kernel_instance_find_session(&i, &err);
	if (e == -ENOENT) {
		e = begin_session(inv, &err);
	} else if (!e) {
		e = set_tasks(inv, i, &err);
		if (!e)
			e = change(inv, i, &err);
		if (!e)
			e = kernel_instance_write(i, "tracing_on", "1", false, &err);
	}
	kernel_instance_leave(i);
	return e ? say_error(&err) : 0;
}

int kernel_session_set(struct invocation *inv)
{
	struct kernel_instance *i = NULL;
	struct err err;
	int e = kernel_instance_find_session(&i, &err);

	if (!e)
		e = change(inv, i, &err);
	kernel_instance_leave(i);
	return e ? say_error(&err) : 0;
}

/* --- files ------------------------------------------------------------------------------ */

/* *text for free(). */
int kernel_session_cat(const char *file, char **text, struct err *err)
{
	struct kernel_instance *i;
	const char *dir;
	int e = kernel_instance_find_session(&i, err);

	if (e)
		return e;
	dir = kernel_instance_is_shared(file) ? kernel_instance_top(i) : kernel_instance_dir(i);
	*text = kernel_tracefs_read(dir, file);
	if (!*text)
		e = err_set(err, ENODATA, "cannot read %s/%s: %s", dir, file, strerror(errno));
	kernel_instance_leave(i);
	return e;
}

/* Each command finds the session anew, by its instance in tracefs: no process of ours runs
 * between them. */
int kernel_session_echo(const char *file, const char *text, struct err *err)
{
	struct kernel_instance *i;
	int e = kernel_instance_find_session(&i, err);

	if (e)
		return e;
	e = kernel_instance_write(i, file, text, false, err);
	kernel_instance_leave(i);
	return e;
}
