/* SPDX-License-Identifier: MIT */
/* pprof's protobuf (profile.proto), not compressed, which its readers take as well: a sample for
 * each stack of functions, with calls and own time, and the thread's name as a label. exporter.c
 * calls it, on the thread that exports; `out` keeps a write error. */
#include "export/call_tree.h"
#include "export/formats.h"
#include "export/protobuf.h"

#include "base/utf8.h"

enum { PROFILE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6 };
/* Strings that stand before the functions' names and files: two for each function. */
static const char *const strings[] = { "", "calls", "count", "time", "nanoseconds", "thread" };
enum { STRING_CALLS = 1, STRING_COUNT, STRING_TIME, STRING_NS, STRING_THREAD, STRINGS };

/* The messages are written and emptied one by one; `message` may hold `inner`. */
struct pprof {
	struct call_tree tree;
	struct out *out;
	protobuf message, inner;
};

/* Writes the message as a field of the profile, and empties it. */
static void put_message(struct pprof *p, unsigned field)
{
	protobuf_write(p->out, field, &p->message);
}

/* protobuf's strings are UTF-8; names may be anything. */
static void put_string(struct pprof *p, const char *text)
{
	size_t left = strlen(text);
	uint32_t code;

	for (size_t n; left; text += n, left -= n) {
		n = utf8_character(text, left, &code);
		protobuf_bytes(&p->message, n ? text : "\357\277\275", n ? n : 3);
		n = n ? n : 1;
	}
	put_message(p, PROFILE_STRING);
}

/* The kinds of a sample's values, in their order: numbers of strings. */
static void put_type(struct pprof *p, uint64_t type, uint64_t unit)
{
	protobuf_number(&p->message, 1, type);
	protobuf_number(&p->message, 2, unit);
	put_message(p, PROFILE_TYPE);
}

/* Innermost first. The root is the label. */
static void put_sample(struct pprof *p, uint32_t node)
{
	const struct call_node *n = &p->tree.nodes.at[node];
	const size_t names = STRINGS + 2 * p->tree.walk.functions.n;

	for (; p->tree.nodes.at[node].parent; node = p->tree.nodes.at[node].parent)
		protobuf_varint(&p->inner, p->tree.nodes.at[node].function + 1);
	protobuf_inner(&p->message, 1, &p->inner);
	protobuf_varint(&p->inner, n->calls);
	protobuf_varint(&p->inner, walk_ns(&p->tree.walk, n->self));
	protobuf_inner(&p->message, 2, &p->inner);
	protobuf_number(&p->inner, 1, STRING_THREAD);
	protobuf_number(&p->inner, 2, names + p->tree.nodes.at[node].function);
	protobuf_inner(&p->message, 3, &p->inner);
	put_message(p, PROFILE_SAMPLE);
}

/* A function is a location, too: lines are not told. */
static void put_function(struct pprof *p, uint32_t i)
{
	protobuf_number(&p->message, 1, i + 1);
	protobuf_number(&p->inner, 1, i + 1);
	protobuf_inner(&p->message, 4, &p->inner);
	put_message(p, PROFILE_LOCATION);
	protobuf_number(&p->message, 1, i + 1);
	protobuf_number(&p->message, 2, STRINGS + 2 * (uint64_t)i);
	protobuf_number(&p->message, 3, STRINGS + 2 * (uint64_t)i);
	protobuf_number(&p->message, 4, STRINGS + 2 * (uint64_t)i + 1);
	put_message(p, PROFILE_FUNCTION);
}

/* Types first, then samples; the table of strings last, since its order is fixed by their
 * numbers: `strings`, then two for each function, then threads' names. */
static void put_all(struct pprof *p)
{
	const struct walk *w = &p->tree.walk;

	put_type(p, STRING_CALLS, STRING_COUNT);
	put_type(p, STRING_TIME, STRING_NS);
	for (uint32_t i = 1; i < p->tree.nodes.n && !p->out->error; i++)
		if (p->tree.nodes.at[i].parent && p->tree.nodes.at[i].calls)
			put_sample(p, i);
	for (uint32_t i = 0; i < w->functions.n; i++)
		put_function(p, i);
	for (size_t i = 0; i < STRINGS; i++)
		put_string(p, strings[i]);
	for (size_t i = 0; i < w->functions.n; i++) {
		put_string(p, w->functions.at[i].text);
		put_string(p, w->functions.at[i].file);
	}
	for (size_t i = 0; i < p->tree.names.n; i++)
		put_string(p, p->tree.names.at[i]);
}

/* The exporter's `write`. */
static int write_pprof(struct export_job *job, struct err *err)
{
	struct pprof p = { .out = job->out };
	int r = call_tree_read(&p.tree, job, err);

	if (!r)
		put_all(&p);
	call_tree_free(&p.tree);
	vec_free(&p.message);
	vec_free(&p.inner);
	return r;
}

const struct exporter export_pprof = {
	.name = "pprof", .summary = "pprof's profile, for pprof and its pages", .binary = true,
	.sums = true, .holds = HOLDS_KERNEL, .write = write_pprof,
};
