/* SPDX-License-Identifier: MIT */
/* Maps function ids to the text that is printed for them, kept by image. Not locked: each printer
 * has its own. */
#pragma once
#include "trace/overloads.h"

struct name {
	const char *text; /* NULL: not made yet */
	uint32_t n;
	bool whole;       /* with parameters, since other functions have this name */
};

struct names {
	const struct trace_info *info;
	VEC(struct name_map { struct name *at; size_t n; }) images;
	struct overloads overloads;
	char unknown[32]; /* the text for an id that nothing defines; not kept */
};

/* info must outlive *s, and may grow. */
void names_init(struct names *s, const struct trace_info *info);
void names_free(struct names *s);
/* The slow path of names_of. */
struct name names_make(struct names *s, uint32_t image, uint32_t fn);

/* The function's symbol, or "module+0x1234". For an id that nothing defines "[function 12]", valid
 * until the next call; such an id may become known later. */
static inline struct name names_of(struct names *s, uint32_t image, uint32_t fn)
{
	if (image < s->images.n && fn < s->images.at[image].n && s->images.at[image].at[fn].text)
		return s->images.at[image].at[fn];
	return names_make(s, image, fn);
}
