#include "ui/missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/capture.h"
#include "ui/say.h"
#include "ui/why.h"

struct search {
	const struct settings *settings;
	struct sym_module *program;
	char *package; /* "" when looked for in vain; NULL: not looked for yet */
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

static bool module_has(const char *path, const char *name)
{
	struct sym_module *m;
	bool found = false;

	if (sym_open(path, &m, NULL))
		return false;
	for (size_t i = 0; i < m->functions.n && !found; i++) {
		const char *s = sym_name(m, &m->functions.at[i]);

		found = s && !strcmp(s, name);
	}
	sym_close(m);
	return found;
}

/* Whether a library that the program links, and that -L opens, has the function. What the
 * program will dlopen is not known here. */
static bool libraries_have(const struct search *s, const char *name)
{
	const char *interp = s->program->interp;
	char *list = !interp || !s->settings->modules.patterns.n ? NULL :
		     capture((const char *const[]){ interp, "--list", s->program->path, NULL });
	char *state = NULL;
	bool found = false;

	for (char *line = list ? strtok_r(list, "\n", &state) : NULL; line && !found;
	     line = strtok_r(NULL, "\n", &state)) {
		char *path = strchr(line, '/');

		if (!path)
			continue;
		path[strcspn(path, " ")] = '\0';
		found = module_list_match(&s->settings->modules, path) && module_has(path, name);
	}
	free(list);
	return found;
}

/* --- the lists ---------------------------------------------------------------------- */

/* Whether the list takes any function of the program. */
static bool list_takes_any(const struct search *s, const struct function_list *l)
{
	const struct sym_module *m = s->program;

	for (size_t i = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		if (name && function_list_match(l, name, m->path))
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

int missing_functions(const struct settings *settings, const char *image)
{
	struct search s = { .settings = settings };
	int status;

	if (!has_names(&settings->filter) && !has_names(&settings->graph_function))
		return 0;
	if (sym_open(image, &s.program, NULL))
		return 0; /* the session says what is wrong with it */
	status = check_list(&s, &settings->filter);
	if (!status)
		status = check_list(&s, &settings->graph_function);
	sym_close(s.program);
	free(s.package);
	return status;
}
