/* SPDX-License-Identifier: MIT */
/* html.c and html_rows.c call it, on brace's only thread; an error stays in the struct out. */
#include "export/html_escape.h"

int html_escape_json(void *arg, const char *bytes, size_t n)
{
	struct out *o = arg;

	while (n) {
		const char *tag = memchr(bytes, '<', n);
		size_t run = tag ? (size_t)(tag - bytes) : n;

		out_bytes(o, bytes, run);
		if (tag)
			out_str(o, "\\u003c");
		bytes += run + !!tag;
		n -= run + !!tag;
	}
	return o->error;
}
