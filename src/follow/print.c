/* SPDX-License-Identifier: MIT */
/* Text like function_graph's: one block for each object, with the columns that a graph of one
 * thread does not need: the task, and why a call belongs. Names of tasks and texts out of objects
 * are others', and escaped. Called by ui/follow_output.c, on the thread that reads the events.
 * `out` keeps a write error. */
#include "follow/print.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "follow/presets.h"
#include "report/format.h"

#define TASK_WIDTH 22u
#define NS_SECOND 1000000000u

static const char *const whys[FOLLOW_WHYS_N] = {
	"", "field", "identity", "fd", "socket", "address", "copy", "part", "data",
};

static const char *why_of(const struct follow_line *l)
{
	return whys[l->why < FOLLOW_WHYS_N ? l->why : 0];
}

/* "?": a function that nobody described. */
static const char *name_of(const struct follow_print *p, uint32_t function)
{
	const struct follow_function *f = p->function(p->context, function);

	return f ? f->name : "?";
}

/* --- values ----------------------------------------------------------------------------------- */

/* A number of so many bytes, with its sign. */
static int64_t extend_sign(uint64_t v, unsigned bytes)
{
	unsigned unused = 64 - 8 * (bytes ? bytes : 8);

	return (int64_t)(v << unused) >> unused;
}

/* By the type that the function returns; what has no known type is an address. */
static void print_result(const struct follow_function *f, uint64_t v, struct out *to)
{
	if (f->returns == FOLLOW_SIGNED)
		out_printf(to, "%" PRId64, extend_sign(v, f->bytes));
	else if (f->returns == FOLLOW_UNSIGNED)
		out_u64(to, f->bytes < 8 ? v & ((1ull << 8 * f->bytes) - 1) : v, 0, ' ');
	else
		out_printf(to, "0x%" PRIx64, v);
}

/* A field's number, by its type. */
static void print_number(const struct follow_field *field, uint64_t v, struct out *to)
{
	if (field->pointer)
		out_printf(to, "0x%" PRIx64, v);
	else if (field->sign)
		out_printf(to, "%" PRId64, (int64_t)v);
	else
		out_printf(to, "%" PRIu64, v);
}

/* --show is of the type: a line of another kind, or the kernel's beside a program's, has none. */
static bool has_fields(const struct follow_print *p, const struct follow_line *l)
{
	return p->plan->n_shown && l->kind <= FOLLOW_FILE && !l->beyond;
}

/* The fields of an entry, LABEL=VALUE; "?": the memory could not be read there. */
static void print_shown(const struct follow_print *p, const struct follow_line *l)
{
	for (uint32_t i = 0; i < p->plan->n_shown; i++) {
		const struct follow_field *field = &p->plan->shown[i];

		out_printf(p->to, "%s%s=", i ? " " : "", p->shown->labels[i]);
		if (!(l->valid & 1u << i)) {
			out_str(p->to, "?");
		} else if (field->bytes) {
			print_number(field, l->shown[i].number, p->to);
		} else {
			out_char(p->to, '"');
			out_foreign(p->to, l->shown[i].text, FOLLOW_TEXT);
			out_char(p->to, '"');
		}
	}
}

/* --- the graph -------------------------------------------------------------------------------- */

/* "   ping-512          ": the name first, as function_graph has it. */
static void print_task(const struct follow_print *p, const struct follow_line *l)
{
	size_t n = strnlen(l->comm, sizeof(l->comm)), used = n + 1 + out_width(l->tid);

	out_name(p->to, l->comm, n);
	out_char(p->to, '-');
	out_u64(p->to, l->tid, 0, ' ');
	out_spaces(p->to, used < TASK_WIDTH ? TASK_WIDTH - used : 0);
}

/* Everything before the function: time in seconds, CPU, task, reason, duration. The depth
 * indents by two. */
static void print_columns(const struct follow_print *p, const struct follow_line *l,
			  bool has_duration, uint64_t duration)
{
	out_printf(p->to, "%6" PRIu64 ".%06" PRIu64 " | %3u)  ", l->ns / NS_SECOND,
		   l->ns % NS_SECOND / 1000, l->cpu);
	print_task(p, l);
	out_printf(p->to, "| %-8s | ", l->is_return ? "" : why_of(l));
	if (has_duration) {
		out_char(p->to, format_mark(duration));
		out_char(p->to, ' ');
		format_duration(p->to, duration);
	} else {
		out_spaces(p->to, 14);
	}
	out_str(p->to, " |  ");
	out_spaces(p->to, 2u * l->depth);
}


/* The comment behind a line: of an entry the fields, of a return its function, the result and the
 * object that it gives. entry or leave NULL: the line is only the other one. */
static void print_comment(const struct follow_print *p, const struct follow_line *entry,
			  const struct follow_line *leave)
{
	const struct follow_function *f =
		leave ? p->function(p->context, leave->function) : NULL;
	bool gone = leave && leave->unwound;
	bool kind = entry && follow_kind_name(entry->kind);
	bool fields = entry && has_fields(p, entry);
	bool result = f && f->returns != FOLLOW_VOID && !gone;

	if (!fields && !kind && !result && !gone && (entry || !leave))
		return;
	out_str(p->to, " /*");
	for (unsigned i = 0; kind && i < FOLLOW_KINDS_N; i++)
		if (entry->kinds & 1u << i)
			out_printf(p->to, " %s", follow_kind_name(i));
	if (fields) {
		out_char(p->to, ' ');
		print_shown(p, entry);
	}
	if (leave && !entry)
		out_printf(p->to, " %s", name_of(p, leave->function));
	if (result) {
		out_str(p->to, " ret=");
		print_result(f, leave->result, p->to);
	}
	if (gone)
		out_str(p->to, " unwound");
	if (leave && leave->child)
		out_printf(p->to, " (object %u)", leave->child);
	out_str(p->to, " */");
}

/* --max-graph-depth, counted within the object. */
static bool is_hidden(const struct follow_print *p, const struct follow_line *l)
{
	return p->max_depth && l->depth >= p->max_depth;
}

/* The next line that is shown. */
static size_t next_of(const struct follow_print *p, const struct follow_object *o, size_t i)
{
	do
		i++;
	while (i < o->lines.n && is_hidden(p, &o->lines.at[i]));
	return i;
}

/* Prints one line, or two as one: an entry whose return is the next one. Returns the next index. */
static size_t print_line(const struct follow_print *p, const struct follow_object *o, size_t i)
{
	const struct follow_line *l = &o->lines.at[i];
	size_t next = next_of(p, o, i);
	bool leaf = !l->is_return && l->other && l->other - 1 == next;
	const struct follow_line *leave = leaf ? &o->lines.at[next] : l->is_return ? l : NULL;

	print_columns(p, l, leave && !leave->is_alone, leave ? leave->duration : 0);
	if (l->is_return)
		out_char(p->to, '}');
	else
		out_printf(p->to, "%s()%s", name_of(p, l->function), leaf ? ";" : " {");
	print_comment(p, l->is_return ? NULL : l, leave);
	out_char(p->to, '\n');
	return leaf ? next_of(p, o, next) : next;
}

/* The object's state when its part is printed; a later part says so. */
static void print_heading(const struct follow_print *p, const struct follow_object *o)
{
	out_printf(p->to, "# object %u%s: ", o->number, o->continued ? " (continued)" : "");
	if (o->space == FOLLOW_GROUPS && o->address & FOLLOW_IS_BUFFER)
		out_printf(p->to, "buffer of process %u, ", (uint32_t)(o->address >> 32));
	else if (o->space == FOLLOW_GROUPS)
		out_printf(p->to, "descriptor %u of process %u, ", (uint32_t)o->address,
			   (uint32_t)(o->address >> 32));
	else if (!o->space && follow_kind_name(o->kind))
		out_printf(p->to, "struct %s at 0x%" PRIx64 ", ", follow_kind_name(o->kind), o->address);
	else
		out_printf(p->to, "%s at 0x%" PRIx64 ", ", p->type, o->address);
	if (o->parent)
		out_printf(p->to, "made of object %u by %s, ", o->parent,
			   name_of(p, o->made_by - 1));
	out_printf(p->to, "%" PRIu64 " call%s", o->calls, o->calls == 1 ? "" : "s");
	if (o->returns != o->calls)
		out_printf(p->to, ", %" PRIu64 " returned", o->returns);
	if (o->ended_by)
		out_printf(p->to, ", ended by %s", name_of(p, o->ended_by - 1));
	out_str(p->to, "\n"
		       "#       TIME    | CPU  TASK-TID              | WHY      |    DURATION    |  FUNCTION CALLS\n");
}

/* A part of an object's graph, then an empty line. Flushed: objects end one after another while
 * the run goes on. */
void follow_print_object(const struct follow_print *p, const struct follow_object *o)
{
	size_t i = 0;

	print_heading(p, o);
	while (i < o->lines.n && is_hidden(p, &o->lines.at[i]))
		i++;
	while (i < o->lines.n)
		i = print_line(p, o, i);
	out_char(p->to, '\n');
	out_flush(p->to);
}

/* --- JSON ------------------------------------------------------------------------------------- */

void follow_print_json_head(const struct follow_print *p)
{
	out_str(p->to, "{\"schema\":\"brace-follow\",\"version\":1}\n");
}

/* A task's name or a text of an object, which may lack its NUL. */
static void print_json_text(const struct follow_print *p, const char *text)
{
	char copy[FOLLOW_TEXT + 1] = "";

	memcpy(copy, text, strnlen(text, FOLLOW_TEXT));
	json_string(p->to, copy);
}

/* Fields are texts, as ipftrace2's are. */
static void print_json_shown(const struct follow_print *p, const struct follow_line *l)
{
	for (uint32_t i = 0; i < p->plan->n_shown; i++) {
		const struct follow_field *field = &p->plan->shown[i];

		out_char(p->to, ',');
		json_string(p->to, p->shown->labels[i]);
		out_char(p->to, ':');
		if (!(l->valid & 1u << i)) {
			out_str(p->to, "null");
		} else if (field->bytes) {
			out_char(p->to, '"');
			print_number(field, l->shown[i].number, p->to);
			out_char(p->to, '"');
		} else {
			print_json_text(p, l->shown[i].text);
		}
	}
}

/* The return value is a text: 64 bits would not be exact in every reader. */
static void print_json_return(const struct follow_print *p, const struct follow_line *l)
{
	const struct follow_function *f = p->function(p->context, l->function);

	if (!l->is_alone)
		out_printf(p->to, ",\"duration\":%" PRIu64, l->duration);
	if (l->unwound)
		out_str(p->to, ",\"unwound\":true");
	else if (f && f->returns != FOLLOW_VOID) {
		out_str(p->to, ",\"return_value\":\"");
		print_result(f, l->result, p->to);
		out_char(p->to, '"');
	}
	if (l->child)
		out_printf(p->to, ",\"child\":%u", l->child);
}

/* ipftrace2's members, with brace's own among them. */
void follow_print_json_line(const struct follow_print *p, const struct follow_object *o,
			    const struct follow_line *l)
{
	const struct follow_function *f = p->function(p->context, l->function);

	if (is_hidden(p, l))
		return;
	out_printf(p->to, "{\"packet_id\":\"0x%016" PRIx64 "\",\"timestamp\":%" PRIu64
			  ",\"processor_id\":%u,\"module\":",
		   l->object, l->ns, l->cpu);
	json_string(p->to, f ? f->module : "");
	out_str(p->to, ",\"function\":");
	json_string(p->to, name_of(p, l->function));
	out_printf(p->to, ",\"is_return\":%s,\"object\":%u,\"depth\":%u,\"pid\":%u,\"tid\":%u,\"task\":",
		   l->is_return ? "true" : "false", o->number, l->depth, l->pid, l->tid);
	print_json_text(p, l->comm);
	if (l->is_return)
		print_json_return(p, l);
	else
		out_printf(p->to, ",\"why\":\"%s\"", why_of(l));
	if (l->why >= FOLLOW_BY_COPY && o->parent)
		out_printf(p->to, ",\"parent\":%u", o->parent);
	if (!l->is_return && follow_kind_name(l->kind))
		out_printf(p->to, ",\"type\":\"%s\"", follow_kind_name(l->kind));
	if (!l->is_return && has_fields(p, l))
		print_json_shown(p, l);
	out_str(p->to, "}\n");
}
