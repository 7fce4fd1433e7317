/* SPDX-License-Identifier: MIT */
/* Called by brace list, report and probe; the caller frees the list, also after a failure. On the
 * main thread. */
#include "ui/globs.h"

#include "ui/say.h"

int globs_read(struct function_list *l, char *const *operands, int n, int first)
{
	struct err err;

	for (int i = first; i < n; i++)
		if (function_list_write(l, operands[i], true, &err))
			return say_error(&err);
	return 0;
}
