#include "report/sites.h"

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

struct site_map *sites_map(struct sites *s, uint32_t image)
{
	if (image > s->info->images.n)
		image = (uint32_t)s->info->images.n; /* a damaged file: they share one */
	while (s->maps.n <= image)
		*vec_add(&s->maps) = mem_zalloc(sizeof(struct site_map));
	return s->maps.at[image];
}

static void grow(struct site_map *map, size_t want)
{
	size_t n = want > 2 * map->n ? want : 2 * map->n;

	map->caller = mem_realloc(map->caller, n, sizeof(*map->caller));
	for (size_t i = map->n; i < n; i++)
		map->caller[i] = SITE_PENDING;
	map->n = n;
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
		grow(map, (size_t)site + 1);
	map->caller[site] = f ? m->first_id + (uint32_t)(f - m->functions.at) : FN_NONE;
	return map->caller[site];
}
