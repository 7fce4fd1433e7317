/* SPDX-License-Identifier: MIT */
/* A flame graph as an SVG picture of its own: search and zoom are a script inside (flamegraph.js),
 * and nothing else is loaded. Names are the traced program's: they are written as XML text only,
 * never into the script. Without scripts it is still a picture. exporter.c and flamegraph_diff.c
 * call it on the command's thread; only writing can fail, and struct out keeps that error. */
#include "export/flamegraph.h"
#include "export/flamegraph_js.h"
#include "export/formats.h"

#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

#define WIDTH 1200.0
#define ROW 17
#define HEAD 62           /* above the frames: title, search, the frame under the mouse */
#define FOOT 14
#define NARROWEST 0.1     /* pixels; narrower frames are left out */
#define LETTER 7.0        /* width of one in the frames */

/* Characters that XML forbids or that could turn text around are replaced. */
static void put_xml(struct out *o, const char *s, size_t most)
{
	static const char *const entities[128] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	size_t left = strlen(s);
	uint32_t code;

	for (size_t n; left && most; most--, s += n, left -= n) {
		n = utf8_character(s, left, &code);
		if (!n || !escape_is_printable(code))
			out_str(o, "\357\277\275");
		else if (code < 128 && entities[code])
			out_str(o, entities[code]);
		else
			out_bytes(o, s, n);
		n = n ? n : 1;
	}
}

/* The weight of the node alone, without the functions that it called. */
uint64_t flamegraph_own_weight(const struct call_tree *t, uint32_t i)
{
	return t->job->weight == WEIGHT_CALLS ? t->nodes.at[i].calls : t->nodes.at[i].self;
}

/* Parents come before their children: one pass up for the widths, one down for the places. Widths
 * are doubles, since a picture of 1200 pixels needs no more; sums of weights stay whole numbers. */
void flamegraph_lay_out(struct picture *p)
{
	const struct call_tree *t = &p->tree;
	size_t n = t->nodes.n;
	VEC(double) used = { 0 }; /* by node: how much of it its children have taken */

	for (uint32_t i = 0; i < n; i++) {
		uint32_t depth = i ? p->depth.at[t->nodes.at[i].parent] + 1 : 0;

		*vec_add(&p->weight) = flamegraph_own_weight(t, i);
		*vec_add(&p->depth) = depth;
		*vec_add(&p->x) = 0;
		*vec_add(&used) = 0;
	}
	for (size_t i = n; i-- > 1;)
		p->weight.at[t->nodes.at[i].parent] += p->weight.at[i];
	for (uint32_t i = 1; i < n && p->weight.at[0]; i++) {
		uint32_t parent = t->nodes.at[i].parent;
		double width = WIDTH * (double)p->weight.at[i] / (double)p->weight.at[0];

		p->x.at[i] = p->x.at[parent] + used.at[parent];
		used.at[parent] += width;
		if (width < NARROWEST)
			p->left_out++;
		else if (p->depth.at[i] > p->deepest)
			p->deepest = p->depth.at[i];
	}
	vec_free(&used);
}

/* Warm colours, and cold ones for the kernel; equal names have equal ones. Roots, which are
 * threads, are grey. FNV-1a: the colour depends on the name alone, so that two pictures can be
 * compared. */
static void put_colour(struct out *o, const char *name, bool root, bool kernel)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	if (root)
		out_str(o, "#c0c0c8");
	else if (kernel)
		out_printf(o, "rgb(%u,%u,%u)", 110 + h % 50, 160 + h / 64 % 50, 215 + h / 16384 % 40);
	else
		out_printf(o, "rgb(%u,%u,%u)", 205 + h % 50, 75 + h / 64 % 135, h / 16384 % 60);
}

/* Red grew, blue shrank, the stronger the more of the greatest change it has; white did not. The
 * strongest are so light that black names can be read on them. */
static void put_change_colour(struct out *o, const struct picture *p, uint32_t i)
{
	int64_t change = flamegraph_change(p, i);
	double part = p->was->most ? (double)(change < 0 ? -change : change) / (double)p->was->most
				   : 0;
	unsigned rest = change ? 100 + (unsigned)(120 * (1 - part)) : 240;

	if (change > 0)
		out_printf(o, "rgb(255,%u,%u)", rest, rest);
	else if (change < 0)
		out_printf(o, "rgb(%u,%u,255)", rest, rest);
	else
		out_str(o, "#f0f0f0");
}

/* Calls as they are, times in microseconds. */
static void put_weight(const struct picture *p, uint64_t weight)
{
	if (p->tree.job->weight == WEIGHT_CALLS)
		out_u64(p->out, weight, 1, ' ');
	else
		export_put_us(p->out, weight);
}

/* ", own 12.000 us, was 10.000 us" */
static void put_change(const struct picture *p, uint32_t i)
{
	const char *unit = p->tree.job->weight == WEIGHT_CALLS ? " calls" : " us";

	out_str(p->out, "; own: ");
	put_weight(p, flamegraph_ns(p, flamegraph_own_weight(&p->tree, i)));
	out_printf(p->out, "%s, was ", unit);
	put_weight(p, p->was->own[i]);
	out_printf(p->out, "%s; with those below it was ", unit);
	put_weight(p, p->was->all[i]);
	out_str(p->out, unit);
}

/* The frame's figures, for its title: the time of the stack with all above it in the picture,
 * its part of the whole, and its calls. */
static void put_share(const struct picture *p, uint32_t i)
{
	const struct call_node *n = &p->tree.nodes.at[i];
	double share = 100.0 * (double)p->weight.at[i] / (double)p->weight.at[0];

	out_str(p->out, " (");
	if (p->tree.job->weight == WEIGHT_CALLS) {
		out_u64(p->out, p->weight.at[i], 1, ' ');
		out_str(p->out, " calls with those below");
	} else {
		export_put_us(p->out, walk_ns(&p->tree.walk, p->weight.at[i]));
		out_str(p->out, " us");
	}
	out_printf(p->out, ", %.2f %%", share);
	if (n->parent && p->tree.job->weight != WEIGHT_CALLS) {
		out_str(p->out, ", calls: ");
		out_u64(p->out, n->calls, 1, ' ');
	}
	if (p->was)
		put_change(p, i);
	out_char(p->out, ')');
}

/* A frame: its title shows under the mouse, its name stands in it as far as there is room, which
 * is reckoned by the width of a letter. Depth 0, the whole, is not drawn: roots stand at the
 * bottom. */
static void put_frame(const struct picture *p, uint32_t i, double width)
{
	const char *name = call_tree_name(&p->tree, i);
	double y = HEAD + (double)(p->deepest - p->depth.at[i]) * ROW, room = (width - 6) / LETTER;
	struct out *o = p->out;

	out_str(o, "<g class=\"f\" data-name=\"");
	put_xml(o, name, SIZE_MAX);
	out_str(o, "\"><title>");
	put_xml(o, name, SIZE_MAX);
	put_share(p, i);
	out_printf(o, "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		   p->x.at[i], y, width, ROW - 1);
	if (p->was)
		put_change_colour(o, p, i);
	else
		put_colour(o, name, !p->tree.nodes.at[i].parent,
			   call_tree_is_kernel(&p->tree, i));
	out_printf(o, "\"/><text x=\"%.2f\" y=\"%.0f\">", p->x.at[i] + 3, y + 12);
	if (room >= 3 && strlen(name) <= room) {
		put_xml(o, name, SIZE_MAX);
	} else if (room >= 3) {
		put_xml(o, name, (size_t)room - 2);
		out_str(o, "..");
	}
	out_str(o, "</text></g>\n");
}

/* Counts that the picture has no frames for. */
static void put_gone(const struct picture *p)
{
	out_str(p->out, "; red: more than in ");
	put_xml(p->out, p->was->name, 60);
	out_str(p->out, ", blue: less");
	if (!p->was->gone)
		return;
	out_str(p->out, "; stacks that are gone had ");
	put_weight(p, p->was->gone);
	out_str(p->out, p->tree.job->weight == WEIGHT_CALLS ? " calls" : " us");
}

/* The picture's frame, style and head line. Its height is known by now: the deepest frame that
 * is drawn. */
static void put_head(const struct picture *p)
{
	int height = HEAD + (int)p->deepest * ROW + FOOT;
	const char *command = p->tree.walk.info->cmdline;

	out_printf(p->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" height=\"%d\" viewBox=\"0 0 %.0f %d\" data-width=\"%.0f\">\n",
		   WIDTH, height, WIDTH, height, WIDTH);
	out_str(p->out,
		"<style>text { font: 12px monospace; fill: #000; pointer-events: none } svg { background: #fff }\n"
		".head { fill: #333 } .link { pointer-events: all; cursor: pointer; fill: #06c } .f { cursor: pointer } .f:hover rect { stroke: #000 }\n"
		".below rect { opacity: .5 } .hit rect { fill: #c4f }\n"
		"@media (prefers-color-scheme: dark) { svg { background: #1b1b1f } .head { fill: #ddd } .link { fill: #8bf } .f:hover rect { stroke: #fff } .below rect { opacity: .4 } .below text { fill: #fff } }</style>\n"
		"<text class=\"head\" x=\"3\" y=\"16\">");
	put_xml(p->out, command ? command : "", 150);
	out_str(p->out, p->tree.job->weight == WEIGHT_CALLS ? ": calls" : ": time");
	if (p->was)
		put_gone(p);
	out_str(p->out, "</text>\n");
	out_str(p->out,
		"<text class=\"link\" id=\"search\" x=\"3\" y=\"34\">search</text>\n"
		"<text class=\"link\" id=\"back\" x=\"70\" y=\"34\" style=\"display: none\">whole picture</text>\n"
		"<text class=\"head\" id=\"found\" x=\"200\" y=\"34\"></text>\n"
		"<text class=\"head\" id=\"info\" x=\"3\" y=\"52\"></text>\n");
}

/* Node 0 is the root: it has no frame of its own. An error of the output ends it, and stays
 * there. */
void flamegraph_put(struct picture *p)
{
	put_head(p);
	for (uint32_t i = 1; i < p->tree.nodes.n && !p->out->error && p->weight.at[0]; i++) {
		double width = WIDTH * (double)p->weight.at[i] / (double)p->weight.at[0];

		if (width >= NARROWEST)
			put_frame(p, i, width);
	}
	out_str(p->out, "<script><![CDATA[\n");
	out_bytes(p->out, flamegraph_js, sizeof(flamegraph_js) - 1);
	out_str(p->out, "]]></script>\n</svg>\n");
}

/* Weights by calls stay what they are. */
uint64_t flamegraph_ns(const struct picture *p, uint64_t weight)
{
	return p->tree.job->weight == WEIGHT_CALLS ? weight : walk_ns(&p->tree.walk, weight);
}

/* Against the earlier trace, of the frame alone: so a caller is not coloured by what it called. */
int64_t flamegraph_change(const struct picture *p, uint32_t i)
{
	return (int64_t)flamegraph_ns(p, flamegraph_own_weight(&p->tree, i)) -
	       (int64_t)p->was->own[i];
}

void flamegraph_free(struct picture *p)
{
	call_tree_free(&p->tree);
	vec_free(&p->weight);
	vec_free(&p->x);
	vec_free(&p->depth);
}

/* The exporter's `write`. Without weight (an empty trace) the picture has its head only. */
static int write_flamegraph(struct export_job *job, struct err *err)
{
	struct picture p = { .out = job->out };
	int r = call_tree_read(&p.tree, job, err);

	if (!r) {
		flamegraph_lay_out(&p);
		flamegraph_put(&p);
	}
	flamegraph_free(&p);
	return r;
}

const struct exporter export_flamegraph = {
	.name = "flamegraph", .summary = "a picture (SVG) with search and zoom, for browsers",
	.weighs = true, .sums = true, .holds = HOLDS_KERNEL, .write = write_flamegraph,
};
