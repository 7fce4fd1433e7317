/* SPDX-License-Identifier: MIT */
/* Reasons for refused function names. target.c copies the list of files under pump_lock and calls
 * refusal_of() without any lock, because it plans and reads whole files. A file that cannot be read
 * gives no reason; the write is refused all the same, with a shorter sentence. */
#include "instance/refusal.h"

#include <stdlib.h>
#include <string.h>

#include "hook/why.h"
#include "model/function_list.h"

/* --- the files ------------------------------------------------------------------------ */

static bool is_listed(const refusal_files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->at[i].path, path) == 0)
			return true;
	return false;
}

void refusal_files_find(const struct trace_info *info, refusal_files *out)
{
	*out = (refusal_files){ 0 };
	for (size_t i = 0; i < info->modules.n; i++) {
		const struct trace_module *m = &info->modules.at[i];

		if (!is_listed(out, m->path))
			*vec_add(out) = (struct refusal_file){ mem_strdup(m->path),
							       trace_info_is_program(info, m),
							       m->functions.n > 0 };
	}
}

void refusal_files_free(refusal_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->at[i].path);
	vec_free(files);
}

/* --- the reasons ---------------------------------------------------------------------- */

/* A word, and the file whose functions it is compared with. */
struct question {
	const char *word, *name; /* name: the word names this one function; NULL: it is a glob */
	const struct refusal_file *file;
	struct function_list list; /* of the word alone */
};

typedef char *reason(const struct question *q);

/* Callback of why_count. */
static bool is_meant(const char *name, void *arg)
{
	const struct question *q = arg;

	return function_list_has(&q->list, name, q->file->path);
}

/* Gives the sentence for functions that match and cannot be hooked. */
static char *not_hookable(const struct question *q)
{
	struct hook_module *plan;
	struct why_hooks hooks;
	struct err ignored;

	if (!q->file->opened || hook_module_load(q->file->path, &plan, &ignored))
		return NULL;
	why_count(plan, is_meant, (void *)q, &hooks);
	hook_module_free(plan);
	return why_refused(&hooks, q->word);
}

/* Gives the sentence for a function of a library that is not opened. */
static char *not_opened(const struct question *q)
{
	const char *slash = strrchr(q->file->path, '/');
	struct sym_module *m;
	bool has;

	if (q->file->opened || !q->name || !slash || sym_open(q->file->path, &m, NULL))
		return NULL;
	has = why_has_function(m, q->name);
	sym_close(m);
	return has ? mem_printf(
			     "it is a function of %s, which is not opened: write %s to set_ftrace_module (-L) first",
			     slash + 1, slash + 1)
		   : NULL;
}

/* Gives the sentence for a function that the program has only inlined or under a similar name. */
static char *not_there(const struct question *q)
{
	struct why why = { 0 };
	struct sym_module *m;
	struct err ignored;

	if (!q->file->program || !q->name || sym_open(q->file->path, &m, NULL))
		return NULL;
	if (why_find(m, q->name, NULL, &why, &ignored))
		why.sentence = NULL;
	sym_close(m);
	return why.sentence;
}

char *refusal_of(const refusal_files *files, const char *word)
{
	/* The order of certainty: a function that exists explains more than a similar name. */
	static reason *const reasons[] = { not_hookable, not_opened, not_there };
	struct question q = { .word = word };
	char *sentence = NULL;

	if (function_list_write(&q.list, word, false, NULL) || !q.list.patterns.n)
		return NULL;
	q.name = function_pattern_name(&q.list.patterns.at[0]);
	for (size_t r = 0; r < sizeof(reasons) / sizeof(*reasons); r++)
		for (size_t i = 0; i < files->n && !sentence; i++) {
			q.file = &files->at[i];
			sentence = reasons[r](&q);
		}
	function_list_free(&q.list);
	return sentence;
}
