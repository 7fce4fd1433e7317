/* SPDX-License-Identifier: MIT */
/* The part of a trace that a program asks for: the options of `brace report`, in its words. Called
 * where cursors and reports are opened, on their thread. Fails with the commands' sentences. */
#include <errno.h>
#include <string.h>

#include "library/library.h"

/* Takes one "NAME=VALUE". */
static int add_option(struct excerpt_spec *w, const char *option)
{
	const char *value = strchr(option, '=');
	char *name;
	int r;

	if (!value)
		return err_at(library_error(), EINVAL, option, strlen(option),
			      "NAME=VALUE is expected, like filter=main");
	name = mem_strndup(option, (size_t)(value - option));
	r = excerpt_spec_add(w, name, value + 1, library_error());
	free(name);
	return r;
}

/* On failure what was taken so far stays in *out; excerpt_spec_free() frees it in either case. */
int library_spec(const struct brace_part *part, struct excerpt_spec *out)
{
	int r = 0;

	*out = (struct excerpt_spec){ 0 };
	for (size_t i = 0; part->options && part->options[i] && !r; i++)
		r = add_option(out, part->options[i]);
	return r;
}
