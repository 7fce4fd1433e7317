#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

char *golden(const char *name)
{
	char *path = mem_printf("%s/%s", GOLDEN, name), *text = NULL;
	FILE *file = fopen(path, "re");
	size_t size = 0;

	if (!file)
		fail_msg("no golden file %s", path);
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = mem_strdup("");
	}
	fclose(file);
	free(path);
	return text;
}

void golden_shows(struct tree *t, const char *path, const char *want)
{
	struct err err;
	char *got = tree_cat(t, path, &err);

	if (!got)
		fail_msg("%s: %s", path, err.text);
	assert_string_equal(got, want);
	free(got);
}
