/* SPDX-License-Identifier: MIT */
/* ui/fleet_output.c calls it, on brace's only thread. Texts are those of traced programs and of
 * servers: they stand only in JSON, whose "<" are escaped, and the page's policy lets no script run
 * but the viewer's own, by its hash, and nothing be loaded. An error stays in the struct out. */
#include "export/html_rows.h"

#include "base/json.h"
#include "export/html_escape.h"
#include "export/html_rows_page.h"

void html_rows_begin(struct html_rows *p, struct out *to)
{
	p->to = to;
	out_str(to, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "script-src 'sha256-" HTML_SCRIPT_HASH "'; style-src 'sha256-" HTML_STYLE_HASH
		    "'; base-uri 'none'; form-action 'none'\">\n");
	out_str(to, "<meta name=\"viewport\" content=\"width=device-width\">\n"
		    "<title>brace</title>\n<style>");
	out_str(to, html_rows_style);
	out_str(to, "</style></head>\n<body>\n"
		    "<noscript>This page shows a table, and needs JavaScript.</noscript>\n"
		    "<h1 id=\"title\"></h1>\n<div id=\"about-text\"></div>\n"
		    "<input id=\"search\" placeholder=\"search\"><p id=\"count\"></p>\n"
		    "<table><thead><tr id=\"head\"></tr></thead><tbody id=\"body\"></tbody></table>\n"
		    "<script type=\"application/json\" id=\"lines\">\n");
	out_init(&p->lines, html_escape_json, to);
}

static void put_about(struct out *o, const char *title, char *const *notes, unsigned n)
{
	out_str(o, "{\"title\":");
	json_string(o, title);
	out_str(o, ",\"notes\":[");
	for (unsigned i = 0; i < n; i++) {
		out_str(o, i ? "," : "");
		json_string(o, notes[i]);
	}
	out_str(o, "]}\n");
}

void html_rows_end(struct html_rows *p, const char *title, char *const *notes, unsigned n)
{
	struct out about;

	out_flush(&p->lines);
	out_free(&p->lines);
	out_str(p->to, "</script>\n<script type=\"application/json\" id=\"about\">\n");
	out_init(&about, html_escape_json, p->to);
	put_about(&about, title, notes, n);
	out_flush(&about);
	out_free(&about);
	out_str(p->to, "</script>\n<script>");
	out_str(p->to, html_rows_script);
	out_str(p->to, "</script>\n</body></html>\n");
}
