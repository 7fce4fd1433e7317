/* SPDX-License-Identifier: MIT */
/* A boot configuration as text: the lines of the kernel's tool, and JSON. Any thread. cmd/config.c
 * calls it. Nothing fails: `out` keeps a write error for its owner. */
#include "config/bootconfig.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* In double quotes, or in single ones if the text has double ones: no value has both. */
void bootconfig_quote(struct out *out, const char *text)
{
	const char quote = strchr(text, '"') ? '\'' : '"';

	out_char(out, quote);
	/* Blanks of all kinds are part of values; a terminal stands them. */
	while (*text) {
		size_t n = strcspn(text, "\n\t");

		out_foreign(out, text, n);
		text += n;
		if (*text)
			out_char(out, *text++);
	}
	out_char(out, quote);
}

/* In the form that the kernel's /proc/bootconfig has, so that the two can be compared. */
static void list_values(const struct bootconfig_key *k, struct out *out)
{
	for (size_t i = 0; i < k->values.n; i++) {
		out_str(out, i ? ", " : "");
		bootconfig_quote(out, k->values.at[i].text);
	}
	/* A key alone is listed as one with an empty value. */
	out_str(out, k->values.n ? "\n" : "\"\"\n");
}

/* Keys by a key's place in the tree: its subkeys follow it. */
static void list_key(const struct bootconfig *c, uint32_t key, struct out *out)
{
	const struct bootconfig_key *k = &c->keys.at[key];

	if (key && (k->values.n || k->child == BOOTCONFIG_NONE)) {
		char *path = bootconfig_path(c, key);

		out_printf(out, "%s = ", path);
		list_values(k, out);
		free(path);
	}
	for (uint32_t child = k->child; child != BOOTCONFIG_NONE; child = c->keys.at[child].next)
		list_key(c, child, out);
}

/* "KEY = VALUES", a line for each key with values, or without subkeys. */
void bootconfig_list(const struct bootconfig *c, struct out *out)
{
	list_key(c, 0, out);
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* One value alone, several in an array, none as true. */
static void json_values(const struct bootconfig_key *k, struct out *out)
{
	out_str(out, k->values.n > 1 ? "[" : "");
	for (size_t i = 0; i < k->values.n; i++) {
		out_str(out, i ? "," : "");
		json_string(out, k->values.at[i].text);
	}
	out_str(out, k->values.n > 1 ? "]" : k->values.n ? "" : "true");
}

/* A key with subkeys is an object, whose member "" has its own values. */
static void json_key(const struct bootconfig *c, uint32_t key, struct out *out)
{
	const struct bootconfig_key *k = &c->keys.at[key];
	const char *separator = "";

	if (k->child == BOOTCONFIG_NONE) {
		json_values(k, out);
		return;
	}
	out_char(out, '{');
	if (k->values.n) {
		out_str(out, "\"\":");
		json_values(k, out);
		separator = ",";
	}
	for (uint32_t child = k->child; child != BOOTCONFIG_NONE; child = c->keys.at[child].next) {
		out_str(out, separator);
		json_string(out, c->keys.at[child].word);
		out_char(out, ':');
		json_key(c, child, out);
		separator = ",";
	}
	out_char(out, '}');
}

void bootconfig_json(const struct bootconfig *c, struct out *out)
{
	json_key(c, 0, out);
	out_char(out, '\n');
}
