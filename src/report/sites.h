/* Call site -> the function it lies in. Every exit asks this, so the answers are kept, one
 * array an image, filled as they are asked for. Not shared between threads. */
#pragma once
#include "source/trace_info.h"

#define FN_NONE UINT32_MAX /* no function, or not known which */

struct site_map {
	uint32_t *caller; /* by site id: FN_NONE - 1 = not looked up yet */
	size_t n;
};

struct sites {
	const struct trace_info *info;
	VEC(struct site_map *) maps; /* by image */
};

void sites_init(struct sites *s, const struct trace_info *info);
void sites_free(struct sites *s);
/* An image's map: stays where it is until sites_free. */
struct site_map *sites_map(struct sites *s, uint32_t image);
/* Looks up (and keeps) the function around a site that the map does not have yet. */
uint32_t sites_look_up(const struct trace_info *info, struct site_map *map, uint32_t image,
		       uint32_t site, uint64_t tsc);

#define SITE_PENDING (FN_NONE - 1)

static inline uint32_t site_caller(const struct trace_info *info, struct site_map *map,
				   uint32_t image, uint32_t site, uint64_t tsc)
{
	if (__builtin_expect(site < map->n && map->caller[site] != SITE_PENDING, 1))
		return map->caller[site];
	return sites_look_up(info, map, image, site, tsc);
}
