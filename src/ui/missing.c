/* SPDX-License-Identifier: MIT */
#include "ui/missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "image/mapped_file.h"
#include "ui/capture.h"
#include "ui/say.h"
#include "ui/why.h"

struct library { char *path; uint64_t start; /* where the process has it mapped */ };

struct search {
	const struct settings *settings;
	pid_t pid;     /* 0: the program is to be launched */
	char *root;    /* mapped_file_root of the process */
	struct sym_module *program;
	char *package; /* "" when looked for in vain; NULL: not looked for yet */
	VEC(struct library) libraries;
};

/* --- the package, for advice -------------------------------------------------------- */

/* "pkg:amd64: /usr/bin/x" -> "pkg" */
static char *owner(const char *path)
{
	char *out = capture((const char *const[]){ "dpkg-query", "-S", path, NULL });

	if (out)
		out[strcspn(out, ":, \n")] = '\0';
	return out;
}

/* Packages may know a file by its path before /usr was merged. */
static const char *package(struct search *s)
{
	char *real = s->package ? NULL : realpath(s->program->path, NULL);

	if (real) {
		s->package = owner(real);
		if (!s->package && !strncmp(real, "/usr/", 5))
			s->package = owner(real + 4);
		free(real);
	}
	if (!s->package)
		s->package = mem_strdup("");
	return *s->package ? s->package : NULL;
}

/* --- the libraries ------------------------------------------------------------------ */

static int open_library(const struct search *s, const struct library *l, struct sym_module **out)
{
	int fd, e;

	if (!s->pid)
		return sym_open(l->path, out, NULL);
	fd = mapped_file_at(s->pid, l->start, NULL);
	if (fd < 0)
		return fd;
	e = sym_open_fd(fd, l->path, s->root, out, NULL);
	close(fd);
	return e;
}

static bool library_has(const struct search *s, const struct library *l, const char *name)
{
	struct sym_module *m;
	bool found;

	if (open_library(s, l, &m))
		return false;
	found = why_has_function(m, name);
	sym_close(m);
	return found;
}

/* The libraries that the process has mapped. Nothing of its program's is executed: it may be another user's. */
static void find_mapped(struct search *s)
{
	struct maps maps;

	if (maps_read(s->pid, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.at.n; i++)
		if (maps.at.at[i].exec && maps.at.at[i].path[0] == '/')
			*vec_add(&s->libraries) = (struct library){ mem_strdup(maps.at.at[i].path), maps.at.at[i].start };
	maps_free(&maps);
}

/* The libraries that the program links; what it will dlopen is not known here. The loader lists them, as ldd has it do:
 * the user is about to run it anyway. */
static void find_linked(struct search *s)
{
	const char *interp = s->program->interp;
	char *list = interp ? capture((const char *const[]){ interp, "--list", s->program->path,
							     NULL }) : NULL;
	char *state = NULL;

	for (char *line = list ? strtok_r(list, "\n", &state) : NULL; line;
	     line = strtok_r(NULL, "\n", &state)) {
		char *path = strchr(line, '/');

		if (path)
			*vec_add(&s->libraries) = (struct library){ .path = mem_strndup(path, strcspn(path, " ")) };
	}
	free(list);
}

/* Whether a library that -L opens has the function. */
static bool libraries_have(const struct search *s, const char *name)
{
	for (size_t i = 0; i < s->libraries.n; i++) {
		const struct library *l = &s->libraries.at[i];

		if (module_list_match(&s->settings->modules, l->path) && library_has(s, l, name))
			return true;
	}
	return false;
}

static bool is_linked(const struct search *s, const char *glob)
{
	for (size_t i = 0; i < s->libraries.n; i++)
		if (module_match(glob, s->libraries.at[i].path))
			return true;
	return module_match(glob, s->program->path);
}

/* A module of -L that the program does not link may be loaded later, or be a slip. */
static void check_modules(const struct search *s)
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

/* Whether the list takes any function of the program. */
static bool list_takes_any(const struct search *s, const struct function_list *l)
{
	const struct sym_module *m = s->program;

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const char *symbol = sym_name(m, f);
		char spelled[1024];

		if ((symbol && function_list_has(l, symbol, m->path)) ||
		    function_list_match(l, why_spell(m, f, spelled, sizeof(spelled)), m->path))
			return true;
	}
	return false;
}

/* Says what there is to say of one name. False if nothing of that name can be traced. */
static bool check_name(struct search *s, const char *name, char **sentence)
{
	struct why why;
	struct err err;
	bool there;

	*sentence = NULL;
	if (why_find(s->program, name, NULL, &why, &err)) {
		say_warning("%s", err.text);
		return true;
	}
	there = why.there || (why.sentence && libraries_have(s, name));
	if (!there && strstr(why.sentence, "-dbgsym")) {
		why_free(&why);
		why_find(s->program, name, package(s), &why, &err);
	}
	if (!there)
		*sentence = why.sentence;
	else if (why.there && why.sentence)
		say_warning("%s", why.sentence);
	if (there)
		why_free(&why);
	return there;
}

static int check_list(struct search *s, const struct function_list *l)
{
	bool hopeless = l->patterns.n && !s->settings->modules.patterns.n && !list_takes_any(s, l);
	int status = 0;

	for (size_t i = 0; i < l->patterns.n; i++) {
		const struct function_pattern *p = &l->patterns.at[i];
		const char *name = function_pattern_name(p);
		char *sentence;

		if (!name || (p->module && module_match(p->module, s->program->path) ==
						   p->other_modules))
			continue;
		if (check_name(s, name, &sentence))
			continue;
		if (hopeless)
			say("brace: %s\n", sentence);
		else
			say_warning("%s", sentence);
		status = hopeless ? EXIT_BRACE : status;
		free(sentence);
	}
	return status;
}

static bool has_names(const struct function_list *l)
{
	for (size_t i = 0; i < l->patterns.n; i++)
		if (function_pattern_name(&l->patterns.at[i]))
			return true;
	return false;
}

/* Whether something is named that has to be looked for. */
static bool has_questions(const struct settings *s)
{
	const struct function_list *l = &s->modules;

	for (size_t i = 0; i < l->patterns.n; i++)
		if (strcmp(l->patterns.at[i].glob, "*"))
			return true;
	return has_names(&s->filter) || has_names(&s->graph_function);
}

static int check_all(struct search *s)
{
	int status;

	if (s->settings->modules.patterns.n && s->pid)
		find_mapped(s);
	else if (s->settings->modules.patterns.n)
		find_linked(s);
	check_modules(s);
	status = check_list(s, &s->settings->filter);
	return status ? status : check_list(s, &s->settings->graph_function);
}

static int check_and_free(struct search *s)
{
	int status = check_all(s);

	sym_close(s->program);
	free(s->package);
	free(s->root);
	for (size_t i = 0; i < s->libraries.n; i++)
		free(s->libraries.at[i].path);
	vec_free(&s->libraries);
	return status;
}

int missing_functions(const struct settings *settings, const char *image)
{
	struct search s = { .settings = settings };

	if (!has_questions(settings) || sym_open(image, &s.program, NULL))
		return 0; /* the session says what is wrong with the file */
	return check_and_free(&s);
}

int missing_functions_of(const struct settings *settings, pid_t pid)
{
	struct search s = { .settings = settings, .pid = pid };
	char name[64], path[4096];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	n = readlink(name, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	fd = has_questions(settings) ? file_open(name, NULL) : -1;
	if (fd < 0)
		return 0;
	s.root = mapped_file_root(pid);
	if (sym_open_fd(fd, path, s.root, &s.program, NULL) == 0) {
		close(fd);
		return check_and_free(&s);
	}
	close(fd);
	free(s.root);
	return 0;
}
