/* SPDX-License-Identifier: MIT */
/* Owned by the control. The socket's thread uses it while somebody is inside, and so does whoever
 * is alone (session/turns.h): no lock. Nothing fails. */
#include "inject/patch_sites.h"

#include <stdlib.h>
#include <string.h>

uint32_t patch_sites_begin(struct patch_sites *p)
{
	*vec_add(p) = (struct sites_of_images){ .images = 1 };
	return (uint32_t)(p->n - 1);
}

/* NULL for PATCH_SITES_NONE. */
static struct sites_of_images *sites_at(const struct patch_sites *p, uint32_t which)
{
	return which < p->n ? &p->at[which] : NULL;
}

void patch_sites_share(struct patch_sites *p, uint32_t which)
{
	struct sites_of_images *sites = sites_at(p, which);

	if (sites)
		sites->images++;
}

void patch_sites_end(struct patch_sites *p, uint32_t which)
{
	struct sites_of_images *sites = sites_at(p, which);

	if (!sites || !sites->images || --sites->images)
		return;
	vec_free(&sites->list);
	sites->list = (struct patch_list){ 0 };
}

static int compare_sites(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->length > y->length) - (x->length < y->length);
}

/* The patches that are sites, in order. */
static struct patch_list sorted_sites(const struct patch *patches, size_t n)
{
	struct patch_list out = { 0 };
	bool sorted = true;

	vec_reserve(&out, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (patches[i].function == PATCH_SEMAPHORE)
			continue;
		sorted &= !out.n || compare_sites(&out.at[out.n - 1], &patches[i]) <= 0;
		*vec_add(&out) = patches[i];
	}
	if (!sorted)
		qsort(out.at, out.n, sizeof(out.at[0]), compare_sites);
	return out;
}

/* Merges both in order. Of one place the newer patch is kept. */
void patch_sites_add(struct patch_sites *p, uint32_t which, const struct patch *patches, size_t n)
{
	struct sites_of_images *sites = sites_at(p, which);
	struct patch_list more, all = { 0 };
	size_t i = 0, k = 0;

	if (!sites || !n)
		return;
	more = sorted_sites(patches, n);
	vec_reserve(&all, sites->list.n + more.n + 1);
	while (i < sites->list.n || k < more.n) {
		int order = i == sites->list.n ? 1 :
			    k == more.n		? -1 :
				compare_sites(&sites->list.at[i], &more.at[k]);

		if (order >= 0)
			*vec_add(&all) = more.at[k++];
		else
			*vec_add(&all) = sites->list.at[i];
		i += order <= 0;
	}
	vec_free(&more);
	vec_free(&sites->list);
	sites->list = all;
}

const struct patch_list *patch_sites_of(const struct patch_sites *p, uint32_t which)
{
	static const struct patch_list none;
	const struct sites_of_images *sites = sites_at(p, which);

	return sites ? &sites->list : &none;
}

void patch_sites_free(struct patch_sites *p)
{
	for (size_t i = 0; i < p->n; i++)
		vec_free(&p->at[i].list);
	vec_free(p);
}
