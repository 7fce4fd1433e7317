/* SPDX-License-Identifier: MIT */
/* Lists the functions of a session's files for the tree. target.c calls it under struct instances's
 * `names` lock and, where a trace_info is given, under pump_lock. Each file is planned once
 * (hook_list_load, from the cache if it can); a file that cannot be read contributes nothing and is
 * not tried again. */
#include "instance/functions.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "hook/list.h"

/* By the path: one file is mapped by many processes. */
static bool functions_have_file(const struct functions *f, const char *path)
{
	for (size_t i = 0; i < f->files.n; i++)
		if (strcmp(f->files.at[i], path) == 0)
			return true;
	return false;
}

/* Appends the functions that can be hooked. A file that cannot be read any more (it was replaced)
 * has none in the list, although the session hooked functions of the one it had read. */
static void add_file(struct functions *f, const struct trace_module *m, bool program)
{
	struct hook_list list = { 0 };
	char *path = mem_strdup(m->path);
	struct err ignored;

	*vec_add(&f->files) = path;
	if (hook_list_load(path, NULL, NULL, &list, &ignored))
		return;
	for (size_t i = 0; i < list.rows.n; i++) {
		/* path is owned by f->files, which lives as long as f->at. */
		if (list.rows.at[i].hooked)
			*vec_add(&f->at) = (struct function_name){ mem_strdup(list.rows.at[i].name),
								   program ? NULL
								   : path_file_name(path),
								   path };
	}
	hook_list_free(&list);
}

/* Files are only added: functions of a library that was unloaded stay in the list, as records of
 * it do in the buffer. */
void functions_update(struct functions *f, const struct trace_info *info)
{
	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];

		/* A module without functions is not selected by set_ftrace_module: its file is not
		 * opened. */
		if (m->functions.n && !functions_have_file(f, m->path))
			add_file(f, m, trace_info_is_program(info, m));
	}
}

void functions_free(struct functions *f)
{
	for (size_t i = 0; i < f->at.n; i++)
		free(f->at.at[i].name);
	for (size_t i = 0; i < f->files.n; i++)
		free(f->files.at[i]);
	for (size_t i = 0; i < f->touched.n; i++)
		free(f->touched.at[i]);
	string_set_free(&f->touched_set);
	vec_free(&f->touched);
	vec_free(&f->at);
	vec_free(&f->files);
}

/* list NULL: all of them. */
void functions_print(const struct functions *f, const struct function_list *list, struct out *out)
{
	for (size_t i = 0; i < f->at.n; i++) {
		const struct function_name *n = &f->at.at[i];

		if (list && !function_list_has(list, n->name, n->file))
			continue;
		out_name(out, n->name, SIZE_MAX);
		if (n->module) {
			out_str(out, " [");
			out_name(out, n->module, SIZE_MAX);
			out_char(out, ']');
		}
		out_char(out, '\n');
	}
}

/* Whether the pattern names a module that no mapped file matches. */
static bool module_to_come(const struct functions *f, const struct function_pattern *p)
{
	if (!p->module || p->other_modules)
		return false;
	for (size_t i = 0; i < f->files.n; i++)
		if (function_module_match(p->module, f->files.at[i]))
			return false;
	return true;
}

/* For writes to set_ftrace_filter, which the kernel refuses when nothing matches. A module that
 * is still to come has whatever is named. */
bool functions_have(const struct functions *f, const char *pattern)
{
	struct function_list list = { 0 };
	struct err ignored;
	bool have;

	/* A pattern with an error matches nothing; the write itself reports the error. */
	if (function_list_write(&list, pattern, false, &ignored) || !list.patterns.n)
		return false;
	have = module_to_come(f, &list.patterns.at[0]);
	for (size_t i = 0; i < f->at.n && !have; i++)
		have = function_list_has(&list, f->at.at[i].name, f->at.at[i].file);
	function_list_free(&list);
	return have;
}

/* --- hooked ------------------------------------------------------------------------- */

/* The set points to the list's strings, which live as long. */
static void touch_name(struct functions *f, const char *name)
{
	if (string_set_has(&f->touched_set, name))
		return;
	*vec_add(&f->touched) = mem_strdup(name);
	string_set_add(&f->touched_set, f->touched.at[f->touched.n - 1]);
}

/* Touches a function under the name that available_filter_functions has: its symbol, or
 * module+offset. */
static void touch_function(struct functions *f, const struct trace_module *m,
			   const struct trace_function *function)
{
	char place[512];

	if (function->name) {
		touch_name(f, m->strings.at + function->name);
		return;
	}
	trace_function_name(m, function, place, sizeof(place));
	touch_name(f, place);
}

/* touched_functions lists what was ever hooked, also when it is not any more. */
void functions_touch(struct functions *f, const struct trace_info *info)
{
	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];

		for (size_t k = 0; k < m->functions.n; k++)
			if (m->functions.at[k].hook != HOOK_NONE)
				touch_function(f, m, &m->functions.at[k]);
	}
}

/* The (1) stands for the kernel's count of users, which is always one here. */
void functions_print_touched(const struct functions *f, struct out *out)
{
	for (size_t i = 0; i < f->touched.n; i++)
		out_printf(out, "%s (1)\n", f->touched.at[i]);
}

/* A table of its own: what was hooked earlier must not show. */
void functions_print_hooked(const struct trace_info *info, struct out *out)
{
	struct functions now = { 0 };

	functions_touch(&now, info);
	functions_print_touched(&now, out);
	functions_free(&now);
}
