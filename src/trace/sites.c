/* SPDX-License-Identifier: MIT */
/* The table behind site_caller(). Whoever follows calls owns one. Images and sites come from files
 * and from programs' memory: numbers out of range share a map or are not kept. Nothing fails. */
#include "trace/sites.h"

#include "hook/plan.h"
#include "shared/record.h"

void sites_init(struct sites *s, const struct trace_info *info)
{
	*s = (struct sites){ .info = info };
}

void sites_free(struct sites *s)
{
	for (size_t i = 0; i < s->maps.n; i++) {
		free(s->maps.at[i]->caller);
		free(s->maps.at[i]);
	}
	vec_free(&s->maps);
}

/* The maps themselves stay, because tracks point to them. */
void sites_renew(struct sites *s)
{
	for (size_t i = 0; i < s->maps.n; i++) {
		struct site_map *map = s->maps.at[i];

		free(map->caller);
		map->caller = NULL;
		map->n = 0;
		sites_forget(map);
	}
}

struct site_map *sites_map(struct sites *s, uint32_t image)
{
	if (image > s->info->images.n)
		image = (uint32_t)s->info->images.n; /* a damaged file: they share one */
	while (s->maps.n <= image) {
		struct site_map *map = mem_zalloc(sizeof(*map));

		sites_forget(map);
		*vec_add(&s->maps) = map;
	}
	return s->maps.at[image];
}

/* Forgets the functions that exits have shown their sites to call; callers that were looked up
 * stay. */
void sites_forget(struct site_map *map)
{
	for (unsigned i = 0; i < SITES_LEARNED; i++)
		map->learned[i] = (struct site_learned){ 0, FN_NONE };
}

/* At least doubles, so that adding sites one by one stays cheap. */
static void grow_map(struct site_map *map, size_t want)
{
	size_t n = want > 2 * map->n ? want : 2 * map->n;

	map->caller = mem_realloc(map->caller, n, sizeof(*map->caller));
	for (size_t i = map->n; i < n; i++)
		map->caller[i] = SITE_PENDING;
	map->n = n;
}

/* The function's id as records have it, with SITE_UNHOOKED if its own calls are not recorded, or
 * not all of them: a call of it that was left out may have made the call, whoever is open. */
static uint32_t id_of(const struct trace_module *m, const struct trace_function *f)
{
	uint32_t id = m->first_id + (uint32_t)(f - m->functions.at);

	if (id > RECORD_ID_MAX) /* a damaged file */
		return FN_NONE;
	return f->hook == HOOK_NONE || f->flags & TRACE_FUNCTION_CONDITIONAL ? id | SITE_UNHOOKED
									      : id;
}

uint32_t sites_look_up(const struct trace_info *info, struct site_map *map, uint32_t image,
		       uint32_t site, uint64_t tsc)
{
	uint64_t addr = trace_info_site(info, image, site);
	const struct trace_module *m;
	const struct trace_function *f;

	if (!addr || site > RECORD_ID_MAX)
		return FN_NONE; /* not kept: a live session may learn it later */
	/* the byte before a return address belongs to the call, also when the call is the last
	 * instruction of a function that does not return */
	f = trace_info_function_at(info, image, addr - 1, tsc, &m);
	if (site >= map->n)
		grow_map(map, (size_t)site + 1);
	map->caller[site] = f ? id_of(m, f) : FN_NONE;
	return map->caller[site];
}
