/* SPDX-License-Identifier: MIT */
/* The cache behind names_of(): demangling is far too slow to be done for every line. Ids come from
 * records: those that no module defines are not kept, so that a hostile program cannot make the
 * table grow. Each printer owns one, on its own thread; nothing fails. */
#include "report/names.h"

#include <stdio.h>
#include <string.h>

#include "shared/record.h"

void names_init(struct names *s, const struct trace_info *info)
{
	*s = (struct names){ .info = info };
}

void names_free(struct names *s)
{
	for (size_t i = 0; i < s->images.n; i++) {
		for (size_t f = 0; f < s->images.at[i].n; f++)
			free((char *)s->images.at[i].at[f].text);
		free(s->images.at[i].at);
	}
	vec_free(&s->images);
	overloads_free(&s->overloads);
}

/* The entry of fn, growing the table by doubling. */
static struct name *place_for(struct names *s, uint32_t image, uint32_t fn)
{
	struct name_map *map;

	while (s->images.n <= image)
		*vec_add(&s->images) = (struct name_map){ 0 };
	map = &s->images.at[image];
	if (fn >= map->n) {
		size_t n = fn + 1 > 2 * map->n ? (size_t)fn + 1 : 2 * map->n;

		map->at = mem_realloc(map->at, n, sizeof(*map->at));
		memset(map->at + map->n, 0, (n - map->n) * sizeof(*map->at));
		map->n = n;
	}
	return &map->at[fn];
}

/* An unknown id's text is valid until the next unknown one. */
struct name names_make(struct names *s, uint32_t image, uint32_t fn)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(s->info, image, fn, &m);
	struct name *name;

	if (!f || image >= s->info->images.n || fn > RECORD_ID_MAX) {
		int n = snprintf(s->unknown, sizeof(s->unknown), "[function %u]", fn);

		return (struct name){ s->unknown, (uint32_t)n, false };
	}
	name = place_for(s, image, fn);
	name->text = overloads_text(&s->overloads, m, f, &name->whole);
	name->n = (uint32_t)strlen(name->text);
	return *name;
}
