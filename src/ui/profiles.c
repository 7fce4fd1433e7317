/* SPDX-License-Identifier: MIT */
/* Called by config_option_read() and cmd_config(), on the only thread. Only names are looked at
 * here; the file is read as any other. Without a home there are no profiles. */
#include "ui/profiles.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static const char *const endings[] = { ".bconf", ".json" };
enum { ENDINGS = sizeof(endings) / sizeof(*endings) };

/* The folder, for free(); NULL: the environment names no home. */
static char *folder(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	/* A relative one is none, as the XDG specification says. */
	if (xdg && *xdg == '/')
		return mem_printf("%s/brace", xdg);
	return home && *home == '/' ? mem_printf("%s/.config/brace", home) : NULL;
}

/* The profile's file, for free(), or NULL. */
static char *file_of(const char *in, const char *name)
{
	for (size_t i = 0; i < ENDINGS; i++) {
		char *path = mem_printf("%s/%s%s", in, name, endings[i]);

		if (access(path, F_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

/* A file that is there wins over a profile of its name: what is in sight is meant. For free(). */
char *profile_find(const char *word, struct err *err)
{
	char *in, *path = NULL;

	if (strchr(word, '/') || !strcmp(word, "-") || access(word, F_OK) == 0)
		return mem_strdup(word);
	in = folder();
	if (in)
		path = file_of(in, word);
	if (!path)
		err_set(err, ENOENT, "%s: there is no such file, and no profile %s/%s.bconf; `brace config "
			"--profiles` lists those there are",
			word, in ? in : "~/.config/brace", word);
	free(in);
	return path;
}

/* The length of the name before an ending; 0: not a profile's file. */
static size_t name_length(const char *file)
{
	size_t n = strlen(file);

	for (size_t i = 0; i < ENDINGS; i++) {
		size_t k = strlen(endings[i]);

		if (n > k && *file != '.' && !strcmp(file + n - k, endings[i]))
			return n - k;
	}
	return 0;
}

size_t profiles_list(struct out *out)
{
	char *in = folder();
	struct dirent **files = NULL;
	int n = in ? scandir(in, &files, NULL, alphasort) : 0;
	size_t printed = 0;

	for (int i = 0; i < n; i++) {
		size_t k = name_length(files[i]->d_name);

		if (k) {
			out_foreign(out, files[i]->d_name, k);
			out_spaces(out, k < 16 ? 16 - k : 1);
			out_foreign(out, in, strlen(in));
			out_char(out, '/');
			out_foreign(out, files[i]->d_name, strlen(files[i]->d_name));
			out_char(out, '\n');
			printed++;
		}
		free(files[i]);
	}
	free(files);
	free(in);
	return printed;
}
