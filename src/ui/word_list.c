/* SPDX-License-Identifier: MIT */
/* Called by commands, on brace's main thread, before anything is read or run. A word that its list
 * does not have is an error, which names all words of the list: they fit in a line. Nothing else
 * fails. */
#include "ui/word_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "ui/say.h"

/* "A, B, C"; free() it. */
static char *all_words(const struct word_list *list)
{
	char *all = mem_strdup(""), *more;

	for (unsigned i = 0; i < list->n; i++) {
		more = mem_printf("%s%s%s", all, i ? ", " : "", list->words[i]);
		free(all);
		all = more;
	}
	return all;
}

unsigned word_list_find(const struct word_list *list, const char *word)
{
	struct nearest near = { word, NULL, 0 };
	char cut[SAY_WORD], *all;
	struct err err;

	for (unsigned i = 0; i < list->n; i++) {
		if (strcmp(list->words[i], word) == 0)
			return i;
		nearest_offer(&near, list->words[i]);
	}
	all = all_words(list);
	err_at(&err, EINVAL, word, 0, "no %s %s%s; there are %s%s%s%s", list->kind,
	       say_word(word, cut), list->use, all, near.best ? "; did you mean " : "",
	       near.best ? near.best : "", near.best ? "?" : "");
	say_error(&err);
	free(all);
	return list->n;
}
