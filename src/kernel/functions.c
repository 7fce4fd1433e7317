/* SPDX-License-Identifier: MIT */
/* Compares what the kernel can trace (available_filter_functions) with all that it has
 * (/proc/kallsyms). Both are read at each call: they are asked for once in a run. On brace's one
 * thread, for -K, -k and follow. A file that cannot be read, or names that fit no function, are
 * -errno and a sentence. */
#include "kernel/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/nearest.h"
#include "base/string_set.h"
#include "base/vec.h"
#include "kernel/inlined.h"
#include "kernel/symbols.h"
#include "kernel/tracefs.h"

/* Sections of code that is not traced, by the symbols around them. */
static const struct section { const char *from, *to, *word, *why; } sections[] = {
	{ "__cpuidle_text_start", "__cpuidle_text_end", "cpuidle",
	  "it puts the processor to sleep, where the kernel cannot trace" },
	{ "__noinstr_text_start", "__noinstr_text_end", "noinstr",
	  "it runs where the kernel cannot trace: entry code and idle" },
	{ "__entry_text_start", "__entry_text_end", "entry",
	  "it is the assembly by which the kernel is entered" },
	{ "__irqentry_text_start", "__irqentry_text_end", "entry",
	  "it is the assembly by which the kernel is entered" },
	{ "__softirqentry_text_start", "__softirqentry_text_end", "entry",
	  "it is entry code of softirqs" },
	{ "__kprobes_text_start", "__kprobes_text_end", "kprobes",
	  "it is a part of kprobes themselves" },
};
#define N_SECTIONS (sizeof(sections) / sizeof(*sections))

struct section_ranges { uint64_t from[N_SECTIONS], to[N_SECTIONS]; };

/* The kernel's linker script puts a symbol at each section's beginning and end; they are the only
 * trace of sections in kallsyms. One that is missing leaves a range of 0, which explain() passes
 * over. */
static void find_ranges(const struct trace_module *m, struct section_ranges *out)
{
	for (size_t i = 0; i < m->functions.n; i++) {
		const char *name = m->strings.at + m->functions.at[i].name;

		for (size_t k = 0; k < N_SECTIONS && !strncmp(name, "__", 2); k++) {
			if (!strcmp(name, sections[k].from))
				out->from[k] = m->functions.at[i].vaddr;
			if (!strcmp(name, sections[k].to))
				out->to[k] = m->functions.at[i].vaddr;
		}
	}
}

/* Fills in the reason that a function without the ftrace call has. The order counts: a section
 * says more than the general reason, and overwrites it. */
static void explain(const struct section_ranges *ranges, uint64_t address,
		    struct kernel_function *f)
{
	f->word = "notrace";
	f->why = "the kernel was built without a place to trace it at: it is marked notrace, or its file is, or it is assembly";
	if (strstr(f->name, ".cold")) {
		f->word = "cold";
		f->why = "it is no function, but a part of the one of that name";
	}
	for (size_t k = 0; k < N_SECTIONS; k++)
		if (ranges->from[k] && address >= ranges->from[k] && address < ranges->to[k]) {
			f->word = sections[k].word;
			f->why = sections[k].why;
			return;
		}
}

/* --- the list --------------------------------------------------------------------------- */

struct listing {
	bool (*each)(void *context, const struct kernel_function *f);
	void *context;
	struct string_set traceable;
	VEC(char *) lines;    /* of which `traceable` is a set; only if `all` */
	bool all, ended;
};

/* "NAME" or "NAME [MODULE]" becomes two strings, in place. Returns the module's name, "" for the
 * kernel's own functions, which lives as long as the line. */
static const char *split_module(char *line)
{
	char *open = strstr(line, " ["), *end;

	if (!open)
		return "";
	*open = '\0';
	end = strchr(open + 2, ']');
	if (end)
		*end = '\0';
	return open + 2;
}

/* A line of available_filter_functions. Kept for list_others() as a whole, with its module: a
 * static function of one name may be traceable in one module and not in another. */
static bool take_traceable(void *context, const char *line)
{
	struct listing *l = context;
	char *name = mem_strdup(line);
	struct kernel_function f = { .traceable = true, .word = "", .why = "" };

	if (l->all) {
		*vec_add(&l->lines) = mem_strdup(line);
		string_set_add(&l->traceable, l->lines.at[l->lines.n - 1]);
	}
	f.module = split_module(name);
	f.name = name;
	l->ended = !l->each(l->context, &f);
	free(name);
	return !l->ended;
}

/* Lists the functions of kallsyms beyond the traceable ones. Called only if the caller wants all
 * functions: it takes the whole of kallsyms, and a reason for each. */
static void list_others(struct listing *l, const struct trace_module *m)
{
	struct section_ranges ranges = { 0 };

	find_ranges(m, &ranges);
	for (size_t i = 0; i < m->functions.n && !l->ended; i++) {
		char *name = mem_strdup(m->strings.at + m->functions.at[i].name);
		struct kernel_function f = { 0 };

		if (!string_set_has(&l->traceable, name)) {
			f.module = split_module(name);
			f.name = name;
			explain(&ranges, m->functions.at[i].vaddr, &f);
			l->ended = !l->each(l->context, &f);
		}
		free(name);
	}
}

/* 0, or -errno and *err: the symbols cannot be read. */
static int list_rest(struct listing *l, struct err *err)
{
	struct trace_info *info = trace_info_new();
	char *text = kernel_tracefs_read("/proc", "kallsyms");
	int module = kernel_symbols_add(info, text ? text : "", err);

	if (module >= 0)
		list_others(l, &info->modules.at[module]);
	free(text);
	trace_info_free(info);
	return module < 0 ? module : 0;
}

/* A kernel without CONFIG_DYNAMIC_FTRACE does not have the file. An end by the callback is no
 * error. */
int kernel_functions_each(const char *top, bool all,
			  bool (*each)(void *context, const struct kernel_function *f),
			  void *context, struct err *err)
{
	struct listing l = { .each = each, .context = context, .all = all };
	int e = 0;

	if (!kernel_tracefs_has(top, "available_filter_functions"))
		return err_set(err, ENOTSUP,
			       "this kernel was built without dynamic ftrace: none of its functions can be traced");
	kernel_tracefs_lines(top, "available_filter_functions", take_traceable, &l);
	if (all && !l.ended)
		e = list_rest(&l, err);
	string_set_free(&l.traceable);
	for (size_t i = 0; i < l.lines.n; i++)
		free(l.lines.at[i]);
	vec_free(&l.lines);
	return e;
}

/* A callback that ends the walk at the first match: NULL in *pattern says that there was one. */
static bool stop_at_match(void *context, const struct kernel_function *f)
{
	const char **pattern = context;

	if (!glob_match(*pattern, f->name))
		return true;
	*pattern = NULL;
	return false;
}

/* The kernel empties a list before it looks at what is to be in it. So the first word is checked
 * before the write: a wrong one would leave the list empty, which means all functions. */
int kernel_functions_check(const char *top, const char *text, struct err *err)
{
	char *word = mem_strndup(text, strcspn(text, " \n"));
	const char *pattern = word;
	int e = 0;

	/* A module's, or the number of a line of available_filter_functions: the kernel's own
	 * grammar. */
	if (*word && !strchr(word, ':') && word[strspn(word, "0123456789")])
		e = kernel_functions_each(top, false, stop_at_match, &pattern, err);
	else
		pattern = NULL;
	if (!e && pattern)
		e = kernel_functions_explain(top, text, err);
	free(word);
	return e;
}

/* --- a text that the kernel does not take ------------------------------------------------- */

/* Looks for the functions that a pattern might mean. */
struct search {
	char *pattern;
	struct nearest near;
	char copy[128];       /* "NAME.isra.0" */
	bool found;           /* a traceable function matches */
	char word[32], why[160];
};

/* One walk for all patterns: reading the kernel's symbols takes longer than comparing names. */
struct searches {
	VEC(struct search) of;
	VEC(char *) names;    /* that the nearest may be */
};

/* A function that cannot be traced is an answer only for who wrote its whole name. */
static void look_at_untraceable(struct search *s, const struct kernel_function *f)
{
	if (s->word[0] || strcmp(f->name, s->pattern) != 0)
		return;
	snprintf(s->word, sizeof(s->word), "%s", f->word);
	snprintf(s->why, sizeof(s->why), "%s", f->why);
}

/* Compares one function of the kernel with what the user wrote. All are seen, because the nearest
 * name may be the last one. Names are copied: f lives for this call. */
static bool look_at(void *context, const struct kernel_function *f)
{
	struct searches *all = context;

	if (f->traceable)
		*vec_add(&all->names) = mem_strdup(f->name);
	for (size_t i = 0; i < all->of.n; i++) {
		struct search *s = &all->of.at[i];
		size_t n = strlen(s->pattern);

		if (!f->traceable) {
			look_at_untraceable(s, f);
			continue;
		}
		s->found |= glob_match(s->pattern, f->name);
		if (!strncmp(f->name, s->pattern, n) && f->name[n] == '.')
			snprintf(s->copy, sizeof(s->copy), "%s", f->name);
		nearest_offer(&s->near, all->names.at[all->names.n - 1]);
	}
	return true;
}

/* A glob has no one function to look for. */
static bool is_inlined(const struct search *s, const char *text, struct err *err)
{
	const bool glob = s->pattern[strcspn(s->pattern, "*?[")];
	char *file = glob ? NULL : kernel_inlined_file();
	char *where = file ? kernel_inlined_into(file, s->pattern) : NULL;

	if (where)
		err_at(err, EINVAL, text, 0,
		       "the kernel has no code of %s alone: it was %s; trace that", s->pattern, where);
	free(where);
	free(file);
	return where != NULL;
}

/* The most exact answer first: a function that is there but cannot be traced, one that the
 * compiler renamed, one that is spelt similarly. */
static int explain_search(const struct search *s, const char *text, struct err *err)
{
	if (s->found && !strncmp(text + strcspn(text, " \n:"), ":mod:", 5))
		return err_at(err, EINVAL, text, strcspn(text, ":"),
			      "the kernel has no such function in this module, or no such module");
	if (s->found)
		return err_at(err, EINVAL, text, 0, "the kernel does not take this filter");
	if (s->word[0])
		return err_at(err, EINVAL, text, 0, "the kernel cannot trace %s (%s): %s",
			      s->pattern, s->word, s->why);
	if (s->copy[0])
		return err_at(err, EINVAL, text, 0,
			      "the kernel has no function %s, but the compiler's copy %s: name that, or %s*",
			      s->pattern, s->copy, s->pattern);
	if (is_inlined(s, text, err))
		return -EINVAL;
	if (s->near.best)
		return err_at(err, EINVAL, text, 0,
			      "the kernel has no function %s that it can trace; did you mean %s?",
			      s->pattern, s->near.best);
	return err_at(err, EINVAL, text, 0,
		      "the kernel has no function %s that it can trace: it is not in this kernel, or inlined into its callers everywhere",
		      s->pattern);
}

/* A pattern ends where a module or a command of set_ftrace_filter follows; without one all
 * functions are meant. */
static void search_for(struct searches *all, const char *text)
{
	const size_t n = strcspn(text, " \n:");
	char *pattern = n ? mem_strndup(text, n) : mem_strdup("*");

	*vec_add(&all->of) = (struct search){ .pattern = pattern, .near = { .word = pattern } };
}

static void free_searches(struct searches *all)
{
	for (size_t i = 0; i < all->names.n; i++)
		free(all->names.at[i]);
	for (size_t i = 0; i < all->of.n; i++)
		free(all->of.at[i].pattern);
	vec_free(&all->names);
	vec_free(&all->of);
}

int kernel_functions_explain(const char *top, const char *text, struct err *err)
{
	struct searches all = { 0 };
	int e;

	search_for(&all, text);
	e = kernel_functions_each(top, true, look_at, &all, err);
	if (!e)
		e = explain_search(&all.of.at[0], text, err);
	free_searches(&all);
	return e;
}

/* The sentences come in the order of the texts. */
int kernel_functions_explain_each(const char *top, const char *const *texts, size_t n,
				  void (*tell)(const struct err *why), struct err *err)
{
	struct searches all = { 0 };
	int e;

	for (size_t i = 0; i < n; i++)
		search_for(&all, texts[i]);
	e = kernel_functions_each(top, true, look_at, &all, err);
	for (size_t i = 0; i < n && !e; i++) {
		struct err why;

		explain_search(&all.of.at[i], texts[i], &why);
		tell(&why);
	}
	free_searches(&all);
	return e;
}
