/* SPDX-License-Identifier: MIT */
/* Called when a user asks for the source; opens the module's file each time. browse.c and cmd/tui.c
 * ask, on the thread that draws. Debug information that is not there, or of another build, is
 * -errno and a sentence. */
#include "view/source_line.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "excerpt/locations.h"
#include "sym/source.h"
#include "trace/overloads.h"

/* Whether the function has this name where rows are shown: overloads may have their parameters
 * in it. */
static bool is_named(struct overloads *o, const struct trace_module *m,
		     const struct trace_function *f, const char *name)
{
	const char *file;
	char *text = overloads_row_text(o, m, f, &file);
	bool same = !strcmp(text, name);

	free(text);
	return same;
}

/* The first function of that name in a module of that name; *of: its module. */
static const struct trace_function *find_function(const struct trace_info *info, const char *name,
					 const char *module, const struct trace_module **of)
{
	const struct trace_function *found = NULL;
	struct overloads o = { 0 };

	for (size_t i = 0; i < info->modules.n && !found; i++) {
		*of = &info->modules.at[i];
		for (size_t k = 0; k < (*of)->functions.n && !found; k++)
			if (!strcmp((*of)->name, module) &&
			    is_named(&o, *of, &(*of)->functions.at[k], name))
				found = &(*of)->functions.at[k];
		if (found)
			break;
	}
	overloads_free(&o);
	return found;
}

/* The declaration at that address of the file. *path stays NULL if there is none; it is the
 * caller's. */
static int ask_debug_info(const struct sym_module *now, uint64_t vaddr, char **path, uint32_t *line,
	       struct err *err)
{
	sym_source_declarations all = { 0 };
	struct sym_source_info *s;
	int e = sym_source_open(now, &s, err);

	if (e)
		return e;
	e = sym_source_declared(s, &all, err);
	for (size_t i = 0; i < all.n && !e && !*path; i++)
		if (all.at[i].vaddr == vaddr) {
			*path = mem_strdup(all.at[i].path);
			*line = all.at[i].line;
		}
	sym_source_declarations_free(&all);
	sym_source_close(s);
	return e;
}

/* *path is for the caller to free. Opening a file's debug information may take a second. 0, or
 * -errno and *err. */
int source_line_of(const struct trace_info *info, const char *name, const char *module, char **path,
		   uint32_t *line, struct err *err)
{
	const struct trace_module *m = NULL;
	const struct trace_function *f = find_function(info, name, module, &m);
	struct sym_module *now;
	int e;

	*path = NULL;
	if (!f)
		return err_set(err, ENOENT, "%s is no function of a file", name);
	if (*m->path != '/')
		return err_set(err, ENOENT, "%s is no file", m->path);
	e = sym_open(m->path, &now, err);
	if (e)
		return e;
	/* The file may have been built anew since: its lines would be others. */
	if (!excerpt_locations_is_same(m, now))
		e = err_set(err, ESTALE, "%s is not the file that was traced", m->path);
	else
		e = ask_debug_info(now, f->vaddr, path, line, err);
	sym_close(now);
	if (!e && !*path)
		e = err_set(err, ENOENT, "the debug information of %s does not tell where %s stands",
			    m->path, name);
	return e;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Takes `.`, and `..` with what stands before it, out of an absolute path: compilers tell paths as
 * they were given them. No file is asked. */
static void drop_parents(char *path)
{
	char *to = path;

	for (const char *at = path; *at;) {
		const size_t n = strcspn(at + 1, "/") + 1; /* with the slash before */

		if (n == 3 && !memcmp(at, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (n > 1 && !(n == 2 && at[1] == '.')) {
			memmove(to, at, n);
			to += n;
		}
		at += n;
	}
	*to = '\0';
}

static bool is_regular(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Fails silently: the caller says what it wanted the file for. The path as it was told, else each
 * of its ends below the working directory: sources that were built elsewhere, and checked out here.
 * free() it; NULL: there is none. */
char *source_line_file(const char *path)
{
	char *clean, *found = NULL;

	if (*path != '/')
		return NULL;
	if (is_regular(path))
		return mem_strdup(path);
	clean = mem_strdup(path);
	drop_parents(clean);
	for (const char *end = clean; end && *end && !found; end = strchr(end + 1, '/')) {
		found = mem_printf(".%s", end);
		if (!is_regular(found)) {
			free(found);
			found = NULL;
		}
	}
	free(clean);
	return found;
}
