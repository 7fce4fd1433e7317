/* SPDX-License-Identifier: MIT */
/* Opens the trace's modules and asks their debug information (sym/source.h), once a file, when an
 * excerpt is opened. A file that is gone, has changed or has no debug information means nothing;
 * why, is kept for the sentence that says that no function was found. One thread, before the
 * excerpt's readers begin. */
#include "excerpt/locations.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/mem.h"
#include "model/units.h"
#include "sym/source.h"

/* An instruction of a function, and the options that mean it. */
struct location_hit { uint64_t vaddr; uint8_t bits; };
typedef VEC(struct location_hit) location_hits;

struct location_file { const struct trace_module *of; location_hits hits; };

struct excerpt_locations {
	const struct excerpt_spec *spec;
	VEC(struct location_file) files;
	struct err why;           /* the first reason; code 0: none */
};

/* --- texts ----------------------------------------------------------------------------------- */

/* Whether the n characters end like a source file's name. */
static bool has_ending(const char *text, size_t n)
{
	static const char *const endings[] = { ".c", ".cc", ".cpp", ".cxx", ".C", ".h", ".hh",
					       ".hpp", ".hxx", ".rs", ".go", ".d", ".S", ".s",
					       ".f90", ".adb", ".pas", ".ml", ".zig", ".nim" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t k = strlen(endings[i]);

		if (n > k && !strncmp(text + n - k, endings[i], k))
			return true;
	}
	return false;
}

/* Characters before `:LINE` at the end; all of them if there is none. */
static size_t file_length(const char *text)
{
	size_t n = strlen(text), at = n;

	while (at && isdigit((unsigned char)text[at - 1]))
		at--;
	return at < n && at > 1 && text[at - 1] == ':' && text[at - 2] != ':' ? at - 1 : n;
}

bool excerpt_is_location(const char *text)
{
	const size_t n = file_length(text);

	/* Signs of lists: several words, a removal, a module or an address. */
	if (strpbrk(text, " \t\n!@"))
		return false;
	/* A directory: Go's functions have paths in their names, and a dot behind them. */
	return has_ending(text, n) || (n > 1 && !strcmp(text + n - 2, "/*"));
}

/* --- files ----------------------------------------------------------------------------------- */

static void note_why(struct excerpt_locations *p, const struct err *err)
{
	if (!p->why.code || (p->why.code == ENODATA && err->code != ENODATA))
		p->why = *err;
}

/* The whole path, or its end from a directory on. */
static bool path_matches(const char *path, const char *glob)
{
	while (!glob_match(glob, path)) {
		path = strchr(path, '/');
		if (!path)
			return false;
		path++;
	}
	return true;
}

/* The functions, and inlined copies, that have code at FILE:LINE. */
static void add_line(struct excerpt_locations *p, struct sym_source_info *s, const char *location,
		     uint8_t bit, location_hits *hits)
{
	const size_t n = file_length(location);
	char *file = mem_printf("%.*s", (int)n, location);
	sym_source_places found;
	uint64_t line;
	struct err err;

	if (units_parse_number(location + n + 1, "a line", 1, UINT32_MAX, &line, &err) ||
	    sym_source_line(s, file, (uint32_t)line, NULL, &found, &err)) {
		note_why(p, &err);
	} else {
		for (size_t i = 0; i < found.n; i++)
			*vec_add(hits) = (struct location_hit){ found.at[i].vaddr, bit };
		vec_free(&found);
	}
	free(file);
}

/* Functions whose file matches. */
static void add_paths(struct excerpt_locations *p, struct sym_source_info *s,
		      sym_source_declarations *all, const char *glob, uint8_t bit,
		      location_hits *hits)
{
	struct err err;

	if (!all->n && sym_source_declared(s, all, &err)) {
		note_why(p, &err);
		return;
	}
	for (size_t i = 0; i < all->n; i++)
		if (path_matches(all->at[i].path, glob))
			*vec_add(hits) = (struct location_hit){ all->at[i].vaddr, bit };
}

/* Asks one file for all locations of the spec; what is declared in it is read once, at need. */
static void ask_debug_info(struct excerpt_locations *p, struct sym_source_info *s,
			   location_hits *hits)
{
	sym_source_declarations all = { 0 };

	for (unsigned of = 0; of < EXCERPT_LOCATIONS_N; of++)
		for (size_t i = 0; i < p->spec->locations[of].n; i++) {
			const char *location = p->spec->locations[of].at[i];
			const uint8_t bit = (uint8_t)(1u << of);

			if (location[file_length(location)])
				add_line(p, s, location, bit, hits);
			else
				add_paths(p, s, &all, location, bit, hits);
		}
	sym_source_declarations_free(&all);
}

bool excerpt_locations_is_same(const struct trace_module *m, const struct sym_module *now)
{
	return !m->build_id_len || (m->build_id_len == now->build_id_len &&
				    !memcmp(m->build_id, now->build_id, m->build_id_len));
}

/* A file that cannot be asked leaves `hits` empty, and its reason in p->why. */
static void read_file(struct excerpt_locations *p, const struct trace_module *m,
		      location_hits *hits)
{
	struct sym_source_info *s;
	struct sym_module *now;
	struct err err;

	if (*m->path != '/' || sym_open(m->path, &now, &err)) {
		if (*m->path == '/')
			note_why(p, &err);
		return;
	}
	if (!excerpt_locations_is_same(m, now)) {
		err_set(&err, ESTALE, "%s is not the file that was traced", m->path);
		note_why(p, &err);
	} else if (sym_source_open(now, &s, &err)) {
		note_why(p, &err);
	} else {
		ask_debug_info(p, s, hits);
		sym_source_close(s);
	}
	sym_close(now);
}

/* --- modules --------------------------------------------------------------------------------- */

/* The spec outlives it. */
struct excerpt_locations *excerpt_locations_new(const struct excerpt_spec *w)
{
	struct excerpt_locations *p = mem_zalloc(sizeof(*p));

	p->spec = w;
	return p;
}

void excerpt_locations_free(struct excerpt_locations *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->files.n; i++)
		vec_free(&p->files.at[i].hits);
	vec_free(&p->files);
	free(p);
}

/* The answers of the module's file, asked once for all images that have it. */
static const location_hits *hits_of(struct excerpt_locations *p, const struct trace_module *m)
{
	struct location_file *f;

	for (size_t i = 0; i < p->files.n; i++) {
		const struct trace_module *of = p->files.at[i].of;

		if (!strcmp(of->path, m->path) && of->build_id_len == m->build_id_len &&
		    !memcmp(of->build_id, m->build_id, m->build_id_len))
			return &p->files.at[i].hits;
	}
	f = vec_add(&p->files);
	*f = (struct location_file){ .of = m };
	read_file(p, m, &f->hits);
	return &f->hits;
}

/* A function whose size is not known goes on to the next one. */
static bool function_holds(const struct trace_function *f, uint64_t vaddr)
{
	return f->vaddr <= vaddr && (!f->size || vaddr - f->vaddr < f->size);
}

/* A byte for each function, its bits by enum excerpt_locations_of; for free(). */
uint8_t *excerpt_locations_of_module(struct excerpt_locations *p, const struct trace_module *m)
{
	const location_hits *hits = hits_of(p, m);
	uint8_t *bits = mem_zalloc(m->functions.n + 1);

	for (size_t i = 0; i < hits->n; i++) {
		const uint64_t vaddr = hits->at[i].vaddr;
		size_t n = vec_bisect(&m->functions, f, f->vaddr <= vaddr);

		if (n && function_holds(&m->functions.at[n - 1], vaddr))
			bits[n - 1] |= hits->at[i].bits;
	}
	return bits;
}

/* Why no function is at the location: returns -errno, with the location as input. */
int excerpt_locations_why(const struct excerpt_locations *p, const char *location, struct err *err)
{
	if (p->why.code)
		return err_at(err, p->why.code, location, 0, "%s", p->why.text);
	return err_at(err, ENOENT, location, 0,
		      "no function of the trace stands there, by the debug information of its files");
}
