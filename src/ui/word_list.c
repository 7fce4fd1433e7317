/* SPDX-License-Identifier: MIT */
/* Called by commands, on brace's main thread, before anything is read or run. A word that is none
 * of its list is said with all that are: the lists fit in a line. Nothing else fails. */
#include "ui/word_list.h"

#include <string.h>

#include "base/nearest.h"
#include "ui/say.h"

unsigned word_list_find(const struct word_list *list, const char *word)
{
	struct nearest near = { word, NULL, 0 };

	for (unsigned i = 0; i < list->n; i++) {
		if (strcmp(list->words[i], word) == 0)
			return i;
		nearest_offer(&near, list->words[i]);
	}
	say("brace: no %s %s%s; there are", list->kind, word, list->use);
	for (unsigned i = 0; i < list->n; i++)
		say("%s %s", i ? "," : "", list->words[i]);
	if (near.best)
		say("; did you mean %s?", near.best);
	say("\n  %s\n  ^\n", word);
	return list->n;
}
