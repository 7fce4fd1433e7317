/* SPDX-License-Identifier: MIT */
/* The rows of `brace list` and of the tree's available_filter_functions: one for each function of a
 * file. On the caller's thread; it fails only as hook_module_load() does. */
#include "hook/list.h"

#include <stdlib.h>

/* The row owns its name; words and texts are constants. */
static void fill_row(const struct hook_module *m, uint32_t i, const char *name,
		 struct hook_list_row *row)
{
	const struct hook_plan_entry *e = &m->entries[i];

	*row = (struct hook_list_row){
		.vaddr = e->vaddr,
		.size = m->functions[i].size,
		.name = mem_strdup(name),
		.plt = m->functions[i].plt,
		.hooked = e->kind != HOOK_NONE,
		.entry_only = e->entry_only,
		.kind = hook_kind_words[e->kind],
		.kind_text = hook_kind_texts[e->kind],
		.reason = hook_reason_words[e->reason],
		.reason_text = hook_reason_texts[e->reason],
		.callers = e->n_calls,
		.unseen = e->kind == HOOK_SOME_CALLERS,
	};
}

/* Counts are of the selected functions, bytes of the whole file. */
int hook_list_load(const char *path, bool (*select)(const char *name, void *arg), void *arg,
		   struct hook_list *out, struct err *err)
{
	struct hook_module *m;
	int r = hook_module_load(path, &m, err);
	char name[4096];

	*out = (struct hook_list){ 0 };
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct hook_plan_entry *e = &m->entries[i];

		hook_function_name(m, i, name, sizeof(name));
		if (select && !select(name, arg))
			continue;
		fill_row(m, i, name, vec_add(&out->rows));
		out->by_kind[e->kind]++;
		if (e->kind == HOOK_NONE)
			out->by_reason[e->reason]++;
	}
	out->code_bytes = m->code_bytes;
	out->unknown_bytes = m->unknown_bytes;
	hook_module_free(m);
	return 0;
}

void hook_list_free(struct hook_list *l)
{
	for (size_t i = 0; i < l->rows.n; i++)
		free(l->rows.at[i].name);
	vec_free(&l->rows);
}
