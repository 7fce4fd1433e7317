/* SPDX-License-Identifier: MIT */
/* Numbers processes by the table of threads. Called by readers of finished traces (query, library),
 * each with a table of its own. Nothing here fails. */
#include "trace/trace_processes.h"

/* One more than image and pid: the map has no place for 0. */
static uint64_t process_key(uint32_t pid, uint32_t image)
{
	return ((uint64_t)image << 32 | pid) + 1;
}

void trace_processes_find(struct trace_processes *p, const struct trace_info *info)
{
	*p = (struct trace_processes){ 0 };
	for (size_t i = 0; i < info->threads.n; i++) {
		const struct trace_thread *t = &info->threads.at[i];
		uint32_t pid = trace_info_process(info, (uint32_t)i);
		uint64_t key = process_key(pid, t->image), row = number_map_get(&p->by_key, key);

		if (row == NUMBER_NONE) {
			row = p->rows.n;
			number_map_set(&p->by_key, key, row);
			*vec_add(&p->rows) = (struct trace_process){ pid, t->image, t->tsc };
		}
		if (t->tsc < p->rows.at[row].tsc)
			p->rows.at[row].tsc = t->tsc;
		*vec_add(&p->of_thread) = (uint32_t)row;
	}
}

uint64_t trace_process_tsc(const struct trace_process *p, const struct trace_info *info)
{
	const struct trace_image *image =
		p->image < info->images.n ? &info->images.at[p->image] : NULL;

	return image && image->pid == p->pid ? image->tsc : p->tsc;
}

void trace_processes_free(struct trace_processes *p)
{
	vec_free(&p->rows);
	vec_free(&p->of_thread);
	number_map_free(&p->by_key);
	p->by_key = (struct number_map){ 0 };
}
