/* SPDX-License-Identifier: MIT */
/* Any bytes as a boot configuration: it is refused with a place in the file, or its listing is a
 * configuration with the same listing, and it stands for writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int to_stream(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -EIO;
}

static char *printed(void (*print)(const struct bootconfig *c, struct out *out),
		     const struct bootconfig *c)
{
	struct out out;
	char *text;
	size_t n;
	FILE *sink = mem_stream(&text, &n);

	out_init(&out, to_stream, sink);
	print(c, &out);
	out_flush(&out);
	out_free(&out);
	fclose(sink);
	return text;
}

/* A listing may be too large, or have a value with both kinds of quotes. */
static void check_listing(const struct bootconfig *c)
{
	char *text = printed(bootconfig_list, c), *again;
	struct bootconfig second;
	struct err err;

	if (!bootconfig_parse(&second, "f", text, strlen(text), &err)) {
		again = printed(bootconfig_list, &second);
		if (strcmp(text, again))
			abort();
		free(again);
	}
	bootconfig_free(&second);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct config_writes w;
	struct bootconfig c;
	struct err err = { 0 };

	if (!bootconfig_parse(&c, "f", (const char *)data, n, &err)) {
		config_writes(&c, &w);
		for (size_t i = 0; i < w.all.n; i++)
			if (w.all.at[i].at > n)
				abort();
		for (size_t i = 0; i < w.remarks.n; i++)
			if (w.remarks.at[i].at > n)
				abort();
		config_writes_free(&w);
		free(printed(bootconfig_json, &c));
		check_listing(&c);
	} else if (!err.code || !*err.text || err.column > sizeof(err.input)) {
		abort();
	}
	bootconfig_free(&c);
	return 0;
}
