/* SPDX-License-Identifier: MIT */
/* Finds the function that a call site lies in. Every exit asks this, so that answers are kept, one
 * array an image, filled as they are asked for. Not shared between threads. */
#pragma once
#include "trace/trace_info.h"

#define FN_NONE UINT32_MAX /* no function, or not known which */

#define SITE_PENDING (FN_NONE - 1)
/* Set beside the id of a function that is not hooked, or not at all of its calls: it need not be
 * among the open calls, and is not looked for there. FN_NONE has the bit too. */
#define SITE_UNHOOKED 0x80000000u

/* The function that a site called, when that was certain: a small cache, by site. */
#define SITES_LEARNED 1024
struct site_learned { uint32_t site, fn; };

struct site_map {
	uint32_t *caller; /* by site id, with SITE_UNHOOKED; SITE_PENDING: not looked up yet */
	size_t n;
	struct site_learned learned[SITES_LEARNED];
};

struct sites {
	const struct trace_info *info;
	VEC(struct site_map *) maps; /* by image */
};

/* info must outlive *s, and may grow. */
void sites_init(struct sites *s, const struct trace_info *info);
void sites_free(struct sites *s);
/* Looks everything up anew: which functions are hooked has changed. */
void sites_renew(struct sites *s);
/* An image's map. Its address stays the same until sites_free. */
struct site_map *sites_map(struct sites *s, uint32_t image);
/* Looks up (and keeps) the function around a site that the map does not have yet. */
uint32_t sites_look_up(const struct trace_info *info, struct site_map *map, uint32_t image,
		       uint32_t site, uint64_t tsc);

/* The function around the site, with SITE_UNHOOKED; FN_NONE: none is known. */
static inline uint32_t site_caller(const struct trace_info *info, struct site_map *map,
				   uint32_t image, uint32_t site, uint64_t tsc)
{
	if (__builtin_expect(site < map->n && map->caller[site] != SITE_PENDING, 1))
		return map->caller[site];
	return sites_look_up(info, map, image, site, tsc);
}

/* Remembers that the site called fn. Sites share entries; the latest wins. */
static inline void site_learn(struct site_map *map, uint32_t site, uint32_t fn)
{
	map->learned[site % SITES_LEARNED] = (struct site_learned){ site, fn };
}

/* The function that this site called; FN_NONE: not known. */
static inline uint32_t site_learned(const struct site_map *map, uint32_t site)
{
	const struct site_learned *l = &map->learned[site % SITES_LEARNED];

	return l->site == site ? l->fn : FN_NONE;
}

/* Forgets what was learned: events that come next must not depend on what was read before. */
void sites_forget(struct site_map *map);
