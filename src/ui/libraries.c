/* SPDX-License-Identifier: MIT */
/* Asked before a session begins, on the only thread, about names of functions (missing.c,
 * function_event.c, follow_program.c). Nothing fails: a file that cannot be read has no
 * functions. */
#include "ui/libraries.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "image/maps.h"
#include "ui/run_helper.h"

/* Executes nothing of the process's program, which may be another user's. */
void libraries_mapped(pid_t pid, struct libraries *out)
{
	struct maps maps;

	if (maps_read(pid, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.at.n; i++)
		if (maps.at.at[i].exec && maps.at.at[i].path[0] == '/')
			*vec_add(&out->at) = (struct mapped_library){
				mem_strdup(maps.at.at[i].path), maps.at.at[i].start };
	maps_free(&maps);
}

/* The loader itself lists them, as for ldd: the user is about to run it anyway. */
void libraries_linked(const struct sym_module *program, struct libraries *out)
{
	const char *interp = program->interp;
	const char *const list_them[] = { interp, "--list", program->path, NULL };
	char *list = interp ? run_helper(list_them, HELPER_LIST_MOST, "\n").text : NULL;
	char *state = NULL;

	for (char *line = list ? strtok_r(list, "\n", &state) : NULL; line;
	     line = strtok_r(NULL, "\n", &state)) {
		const char *path = strchr(line, '/');

		if (path)
			*vec_add(&out->at) = (struct mapped_library){
				.path = mem_strndup(path, strcspn(path, " ")) };
	}
	free(list);
}

void libraries_free(struct libraries *l)
{
	for (size_t i = 0; i < l->at.n; i++)
		free(l->at.at[i].path);
	vec_free(&l->at);
}
