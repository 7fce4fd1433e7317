/* SPDX-License-Identifier: MIT */
/* Called before a session begins, on the only thread. Only reads files, and asks ld.so and
 * dpkg-query. A question that cannot be answered gives no warning: the session itself fails where
 * it must. */
#include "ui/missing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nearest.h"
#include "base/path.h"
#include "image/mapped_file.h"
#include "ui/libraries.h"
#include "ui/run_helper.h"
#include "ui/say.h"
#include "hook/why.h"
#include "sym/inlined.h"

struct missing_search {
	const struct settings *settings;
	pid_t pid;     /* 0: the program is to be launched */
	char *root;    /* the process' mapped_file_root */
	struct sym_module *program;
	/* the program's; NULL: it cannot be planned, and the session will say so */
	struct hook_module *plan;
	char *package; /* "" if none was found; NULL: not looked for yet */
	struct libraries libraries;
	bool searched; /* `libraries` is filled in */
};

/* --- the package, for advice -------------------------------------------------------- */

/* "pkg:amd64: /usr/bin/x" -> "pkg" NULL where there is no dpkg, or no package has the file. For
 * free(). dpkg-query(1) prints "PACKAGE[:ARCH][, PACKAGE]: PATH": the first package is taken. */
static char *owning_package(const char *path)
{
	const char *const ask[] = { "dpkg-query", "-S", path, NULL };
	char *out = run_helper(ask, HELPER_LIST_MOST, "\n").text;

	if (out)
		out[strcspn(out, ":, \n")] = '\0';
	return out;
}

/* A package may know a file by its path before /usr was merged. */
static const char *missing_package(struct missing_search *s)
{
	char *real = s->package ? NULL : realpath(s->program->path, NULL);

	if (real) {
		s->package = owning_package(real);
		if (!s->package && !strncmp(real, "/usr/", 5))
			/* "/usr/bin/x" may stand in dpkg's list as /bin/x: 4 is the length of
			 * "/usr". */
			s->package = owning_package(real + 4);
		free(real);
	}
	if (!s->package)
		s->package = mem_strdup("");
	return *s->package ? s->package : NULL;
}

/* --- the libraries ------------------------------------------------------------------ */

/* Opens a library's symbols: of a process, those of the mapped file; else of the path. */
static int open_library(const struct missing_search *s, const struct mapped_library *l,
			struct sym_module **out)
{
	int fd, e;

	if (!s->pid)
		return sym_open(l->path, out, NULL);
	/* By the mapping (image/mapped_file.h), not by the path alone: the process may have its own
	 * mount namespace, or the file may have been replaced. */
	fd = mapped_file_at(s->pid, l->start, NULL);
	if (fd < 0)
		return fd;
	e = sym_open_fd(fd, l->path, s->root, out, NULL);
	close(fd);
	return e;
}

/* False, too, if the library cannot be read. */
static bool library_has(const struct missing_search *s, const struct mapped_library *l,
			const char *name)
{
	struct sym_module *m;
	bool found;

	if (open_library(s, l, &m))
		return false;
	found = why_has_function(m, name);
	sym_close(m);
	return found;
}

/* Fills in `libraries` when they are first needed. */
static void find_libraries(struct missing_search *s)
{
	if (s->searched)
		return;
	s->searched = true;
	if (s->pid)
		libraries_mapped(s->pid, &s->libraries);
	else
		libraries_linked(s->program, &s->libraries);
}

/* Whether -L opens the library. */
static bool is_opened(const struct missing_search *s, const char *path)
{
	return function_list_has_module(&s->settings->modules, path);
}

/* The path of a library that has the function: one that -L opens (`opened`), or one that it does
 * not; NULL: no such library has it. The path lives as long as *s. The program itself is in the
 * list of a process's mappings, and left out. */
static const char *library_with(struct missing_search *s, const char *name, bool opened)
{
	find_libraries(s);
	for (size_t i = 0; i < s->libraries.at.n; i++) {
		const struct mapped_library *l = &s->libraries.at.at[i];

		if (is_opened(s, l->path) == opened && strcmp(l->path, s->program->path) &&
		    library_has(s, l, name))
			return l->path;
	}
	return NULL;
}

/* Whether the program itself, or a library of it, fits the glob of -L. */
static bool is_linked(struct missing_search *s, const char *glob)
{
	find_libraries(s);
	for (size_t i = 0; i < s->libraries.at.n; i++)
		if (function_module_match(glob, s->libraries.at.at[i].path))
			return true;
	return function_module_match(glob, s->program->path);
}

/* Warns of modules of -L that the program does not link: they may be loaded later, or be slips. A
 * pattern with `!` takes modules away, and needs none. */
static void check_modules(struct missing_search *s)
{
	const struct function_list *l = &s->settings->modules;

	for (size_t i = 0; i < l->patterns.n; i++) {
		const struct function_pattern *p = &l->patterns.at[i];

		if (!p->remove && !is_linked(s, p->glob))
			say_warning("%s links no library %s; it will be traced if the program "
				    "loads it later", s->program->path, p->glob);
	}
}

/* --- the lists ---------------------------------------------------------------------- */

/* A list, as it is compared with each function of a module. */
struct asked { const struct function_list *list; const char *path; };

static bool is_in_list(const char *name, void *arg)
{
	const struct asked *a = arg;

	return function_list_has(a->list, name, a->path);
}

/* Counts the functions of the program that the list means. */
static struct why_hooks meant_names(const struct missing_search *s, const struct function_list *l)
{
	struct asked asked = { l, s->program->path };
	struct why_hooks w;

	why_count(s->plan, is_in_list, &asked, &w);
	return w;
}

/* Counts the functions of the program that one pattern means. */
static struct why_hooks meant_by(const struct missing_search *s, const struct function_pattern *p)
{
	struct function_list one = { 0 };
	struct why_hooks w = { 0 };

	if (function_list_write(&one, p->text, false, NULL) == 0)
		w = meant_names(s, &one);
	function_list_free(&one);
	return w;
}

/* Whether a function of the library matches the pattern. */
static bool library_matches(const struct missing_search *s, const struct mapped_library *l,
			    const struct function_pattern *p)
{
	struct function_list one = { 0 };
	struct sym_module *m;
	bool found = false;

	if (open_library(s, l, &m))
		return false;
	/* It was parsed once already, for the settings: it does not fail. */
	function_list_write(&one, p->text, false, NULL);
	for (size_t i = 0; i < m->functions.n && !found; i++) {
		const char *symbol = sym_name(m, &m->functions.at[i]);

		found = symbol && function_list_has(&one, symbol, l->path);
	}
	function_list_free(&one);
	sym_close(m);
	return found;
}

/* Whether the pattern means a function of a library that -L opens. */
static bool libraries_match(struct missing_search *s, const struct function_pattern *p)
{
	if (!s->settings->modules.patterns.n)
		return false;
	find_libraries(s);
	for (size_t i = 0; i < s->libraries.at.n; i++)
		if (is_opened(s, s->libraries.at.at[i].path) &&
		    library_matches(s, &s->libraries.at.at[i], p))
			return true;
	return false;
}

/* The advice for a "NAME@MODULE" whose module is not opened. NULL: it is opened, or may be loaded
 * later. The caller frees it. */
static char *closed_module(struct missing_search *s, const struct function_pattern *p)
{
	if (!p->module || p->other_modules || function_module_match(p->module, s->program->path))
		return NULL;
	find_libraries(s);
	for (size_t i = 0; i < s->libraries.at.n; i++) {
		const char *path = s->libraries.at.at[i].path, *slash = strrchr(path, '/');

		if (!function_module_match(p->module, path))
			continue;
		return is_opened(s, path) ? NULL
					  : mem_printf("`%s`: %s is not opened: add -L %s", p->text,
						       slash + 1, slash + 1);
	}
	if (s->settings->modules.patterns.n)
		return NULL;
	return mem_printf("`%s`: %s links no library %s", p->text, s->program->path, p->module);
}

/* The name in an opened library that is most like the one that is missing, as "NAME of FILE";
 * NULL: none is. The caller frees it. */
static char *nearest_in_libraries(struct missing_search *s, const char *name)
{
	struct nearest near = { name, NULL, 0 };
	char *found = NULL;

	find_libraries(s);
	for (size_t i = 0; i < s->libraries.at.n; i++) {
		const struct mapped_library *l = &s->libraries.at.at[i];
		const char *like, *before = near.best;
		struct sym_module *m;

		if (!is_opened(s, l->path) || open_library(s, l, &m))
			continue;
		if (sym_nearest(m, name, &like, 1))
			nearest_offer(&near, like);
		if (near.best != before) {
			free(found);
			found = mem_printf("%s of %s", near.best, path_file_name(l->path));
		}
		near.best = found; /* the module's text goes away; only NULL or not counts */
		sym_close(m);
	}
	return found;
}

/* The sentence, and what an opened library has that is like the name. Takes the sentence.
 * why_find() names near functions of the program itself where there are some; a library's are
 * second best. */
static char *with_nearest(struct missing_search *s, const char *name, char *sentence)
{
	char *near = strstr(sentence, "nearest names") ? NULL : nearest_in_libraries(s, name), *all;

	if (!near)
		return sentence;
	all = mem_printf("%s; nearest names: %s", sentence, near);
	free(sentence);
	free(near);
	return all;
}

/* The sentence for a name that the program does not have, with the library that has it. Frees *why,
 * or hands out its sentence. */
static char *not_there(struct missing_search *s, const char *name, struct why *why)
{
	const char *path = library_with(s, name, false), *slash = path ? strrchr(path, '/') : NULL;
	struct err ignored;
	char *sentence;

	if (slash) {
		sentence = mem_printf("`%s` is a function of %s, which is not opened: add -L %s",
				      name, slash + 1, slash + 1);
		why_free(why);
		return sentence;
	}
	/* Only this sentence names a package: dpkg-query is not run for any other, and then the
	 * sentence is made again with the name. */
	if (strstr(why->sentence, "-dbgsym")) {
		why_free(why);
		why_find(s->program, name, missing_package(s), why, &ignored);
	}
	return with_nearest(s, name, why->sentence);
}

/* Tells why no function of that name is traced; NULL: one is. Warns if only a part of them is. */
static char *refusal_of_name(struct missing_search *s, const struct function_pattern *p,
			     const char *name)
{
	struct why_hooks hooks = meant_by(s, p);
	struct why why;
	struct err err;
	char *sentence;

	if (why_find(s->program, name, NULL, &why, &err)) {
		say_warning("%s", err.text);
		return NULL;
	}
	if (!why.there && (!why.sentence || library_with(s, name, true))) {
		why_free(&why);
		return NULL;
	}
	if (!why.there)
		return not_there(s, name, &why);
	sentence = why_refused(&hooks, name);
	if (!sentence && why.sentence)
		say_warning("%s", why.sentence);
	why_free(&why);
	return sentence;
}

/* The refusal for a glob that means no function, or only functions that cannot be hooked; NULL: it
 * is fine. */
static char *refusal_of_glob(struct missing_search *s, const struct function_pattern *p)
{
	struct why_hooks hooks = meant_by(s, p);

	if (hooks.hooked || libraries_match(s, p))
		return NULL;
	if (hooks.refused)
		return why_refused(&hooks, p->text);
	return mem_printf("no function of %s%s matches `%s`", path_file_name(s->program->path),
			  s->settings->modules.patterns.n ? " or its libraries" : "", p->text);
}

/* Why the pattern traces nothing; NULL: it does, or may. The caller frees it. A pattern NAME@MODULE
 * whose module is opened is not looked up: only its module is checked. */
static char *refusal_of(struct missing_search *s, const struct function_pattern *p)
{
	const char *name = function_pattern_name(p);
	char *closed = closed_module(s, p);

	if (closed || p->module)
		return closed;
	return name ? refusal_of_name(s, p, name) : refusal_of_glob(s, p);
}

/* Whether the list means nothing that is there to be hooked. Libraries that are loaded later do not
 * help: a session without a function does not begin. */
static bool is_hopeless(struct missing_search *s, const struct function_list *l)
{
	bool some = !l->patterns.n || meant_names(s, l).hooked;

	for (size_t i = 0; i < l->patterns.n && !some; i++)
		some = !l->patterns.at[i].remove && libraries_match(s, &l->patterns.at[i]);
	return !some;
}

/* Prints the sentence, and the pattern with a caret below it. */
static void refuse_pattern(const char *sentence, const char *pattern)
{
	struct err err;

	err_at(&err, EINVAL, pattern, 0, "%s", sentence);
	say_error(&err);
}

/* Checks each pattern of the list. EXIT_BRACE (said) if nothing would be traced by it. A list that
 * means something else, too, is not refused for one slip: the session runs with a warning. */
static int check_list(struct missing_search *s, const struct function_list *l)
{
	bool hopeless = is_hopeless(s, l);
	int status = 0;

	for (size_t i = 0; i < l->patterns.n; i++) {
		const struct function_pattern *p = &l->patterns.at[i];
		char *sentence = p->remove ? NULL : refusal_of(s, p);

		if (!sentence)
			continue;
		if (hopeless)
			refuse_pattern(sentence, p->text);
		else
			say_warning("%s", sentence);
		status = hopeless ? EXIT_BRACE : status;
		free(sentence);
	}
	return status;
}

/* Names to be left out have to exist, too: after a slip, functions would be recorded against the
 * user's will. */
static void check_left_out(struct missing_search *s)
{
	const struct function_list *l = &s->settings->notrace;

	for (size_t i = 0; i < l->patterns.n; i++) {
		const struct function_pattern *p = &l->patterns.at[i];
		struct why_hooks w = meant_by(s, p);

		if (!p->remove && !p->module && !w.hooked && !w.refused && !libraries_match(s, p))
			say_warning("-n leaves out nothing: no function of %s matches `%s`",
				    s->program->path, p->text);
	}
}

/* Whether anything is named that has to be looked for. */
static bool has_questions(const struct settings *s)
{
	const struct function_list *l = &s->modules;

	if (s->lock_points)
		return false; /* libc's functions, by brace's own list: it has what it has */
	for (size_t i = 0; i < l->patterns.n; i++)
		if (strcmp(l->patterns.at[i].glob, "*"))
			return true;
	return s->filter.patterns.n || s->notrace.patterns.n || s->graph_function.patterns.n ||
	       s->args.patterns.n || s->retval.patterns.n || s->scopes.at.n;
}

/* The functions of all scopes (--within) as one list: one of several that is not there is a
 * warning. */
static int check_scopes(struct missing_search *s)
{
	const struct event_scopes *scopes = &s->settings->scopes;
	struct function_list all = { 0 };
	struct err ignored;
	int status;

	for (size_t i = 0; i < scopes->at.n; i++)
		for (size_t k = 0; k < scopes->at.at[i].functions.patterns.n; k++)
			function_list_write(&all, scopes->at.at[i].functions.patterns.at[k].text,
					    true, &ignored);
	status = check_list(s, &all);
	function_list_free(&all);
	return status;
}

/* The first list by which nothing would be traced decides; later ones are not checked. */
static int check_all(struct missing_search *s)
{
	int status;

	check_modules(s);
	status = check_list(s, &s->settings->filter);
	if (!status)
		status = check_list(s, &s->settings->graph_function);
	if (!status)
		status = check_list(s, &s->settings->args);
	if (!status)
		status = check_list(s, &s->settings->retval);
	if (!status)
		status = check_scopes(s);
	if (!status)
		check_left_out(s);
	return status;
}

/* Checks if the program could be planned. Frees everything but *s. */
static int check_and_free(struct missing_search *s)
{
	int status = s->plan ? check_all(s) : 0;

	hook_module_free(s->plan);
	sym_close(s->program);
	free(s->package);
	free(s->root);
	libraries_free(&s->libraries);
	return status;
}

/* Checks the program in the open file fd, and closes fd. The session says if the file is no
 * program. hook_module_load_fd() may fail where sym_open_fd() did not: the plan is NULL then, and
 * nothing is checked. */
static int check_file(struct missing_search *s, int fd, const char *path)
{
	struct err ignored;
	int status = 0;

	if (fd >= 0 && sym_open_fd(fd, path, s->root, &s->program, NULL) == 0) {
		if (hook_module_load_fd(fd, path, s->root, &s->plan, &ignored) < 0)
			s->plan = NULL;
		status = check_and_free(s);
	} else {
		free(s->root);
	}
	if (fd >= 0)
		close(fd);
	return status;
}

int missing_functions(const struct settings *settings, const char *image)
{
	struct missing_search s = { .settings = settings };

	if (!has_questions(settings))
		return 0;
	s.root = mem_strdup("");
	return check_file(&s, file_open(image, NULL), image);
}

/* The file is opened by /proc/PID/exe, which leads to it even if its path has another file now. */
int missing_functions_of(const struct settings *settings, pid_t pid)
{
	struct missing_search s = { .settings = settings, .pid = pid };
	char name[64], path[4096];
	ssize_t n;

	if (!has_questions(settings))
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	n = readlink(name, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	s.root = mapped_file_root(pid);
	return check_file(&s, file_open(name, NULL), path);
}
