/* SPDX-License-Identifier: MIT */
/* Owned by the control, and used as patch_lists.c is: no lock. Nothing fails. */
#include "inject/patch_places.h"

#include <stdlib.h>
#include <string.h>

uint32_t patch_places_begin(struct patch_places *p)
{
	*vec_add(p) = (struct places_of_images){ .images = 1 };
	return (uint32_t)(p->n - 1);
}

/* NULL for PATCH_PLACES_NONE. */
static struct places_of_images *places_at(const struct patch_places *p, uint32_t which)
{
	return which < p->n ? &p->at[which] : NULL;
}

void patch_places_share(struct patch_places *p, uint32_t which)
{
	struct places_of_images *places = places_at(p, which);

	if (places)
		places->images++;
}

void patch_places_end(struct patch_places *p, uint32_t which)
{
	struct places_of_images *places = places_at(p, which);

	if (!places || !places->images || --places->images)
		return;
	vec_free(&places->list);
	places->list = (struct patch_list){ 0 };
}

static int compare_places(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->length > y->length) - (x->length < y->length);
}

/* The patches that are places, in order. */
static struct patch_list sorted_places(const struct patch *patches, size_t n)
{
	struct patch_list out = { 0 };
	bool sorted = true;

	vec_reserve(&out, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (patches[i].function == PATCH_SEMAPHORE)
			continue;
		sorted &= !out.n || compare_places(&out.at[out.n - 1], &patches[i]) <= 0;
		*vec_add(&out) = patches[i];
	}
	if (!sorted)
		qsort(out.at, out.n, sizeof(out.at[0]), compare_places);
	return out;
}

/* Merges both in order. Of one place the newer patch is kept. */
void patch_places_add(struct patch_places *p, uint32_t which, const struct patch *patches, size_t n)
{
	struct places_of_images *places = places_at(p, which);
	struct patch_list more, all = { 0 };
	size_t i = 0, k = 0;

	if (!places || !n)
		return;
	more = sorted_places(patches, n);
	vec_reserve(&all, places->list.n + more.n + 1);
	while (i < places->list.n || k < more.n) {
		int order = i == places->list.n ? 1 :
			    k == more.n		? -1 :
				compare_places(&places->list.at[i], &more.at[k]);

		if (order >= 0)
			*vec_add(&all) = more.at[k++];
		else
			*vec_add(&all) = places->list.at[i];
		i += order <= 0;
	}
	vec_free(&more);
	vec_free(&places->list);
	places->list = all;
}

const struct patch_list *patch_places_of(const struct patch_places *p, uint32_t which)
{
	static const struct patch_list none;
	const struct places_of_images *places = places_at(p, which);

	return places ? &places->list : &none;
}

void patch_places_free(struct patch_places *p)
{
	for (size_t i = 0; i < p->n; i++)
		vec_free(&p->at[i].list);
	vec_free(p);
}
