/* SPDX-License-Identifier: MIT */
/* Single calls as lines, as strace -f -T -y has them, and as JSON. syscalls.c calls it at the begin
 * of a call, for its arguments, and at its end. Records are a trace's: each copy is looked for
 * within the record, and bytes of programs are written as C's escapes. On the thread that prints.
 * Nothing fails: what a record does not have is written as its address. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "event/syscall_copies.h"
#include "event/syscall_names.h"
#include "report/syscalls_structs.h"

#define WORD_BYTES 64

/* Frees the texts of the arguments, and forgets them. */
void syscalls_lines_free(struct syscalls_call *c)
{
	for (unsigned i = 0; i < SYSCALL_ARGS; i++) {
		free(c->texts[i]);
		c->texts[i] = NULL;
	}
	free(c->note);
	c->note = NULL;
}

/* --- an argument ------------------------------------------------------------------------- */

/* strace's escapes, so that its readers need not learn others: three octal digits, which no
 * following digit can be mistaken for. */
void syscalls_print_quoted(const uint8_t *at, uint32_t n, FILE *f)
{
	/* from \t on: those that have letters */
	static const char letters[] = "tnvfr";

	fputc('"', f);
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == '"' || at[i] == '\\')
			fprintf(f, "\\%c", at[i]);
		else if (at[i] >= '\t' && at[i] <= '\r')
			fprintf(f, "\\%c", letters[at[i] - '\t']);
		else if (at[i] < ' ' || at[i] > '~')
			fprintf(f, "\\%03o", at[i]);
		else
			fputc(at[i], f);
	fputc('"', f);
}

/* Finds copy k of a record with n arguments; false: it is empty, or not in the record. Behind the
 * call's number and its arguments, 8 bytes each, the record has a __data_loc for each copy: where
 * it lies, and 16 bits higher its length. Both are the file's words, and are held against the
 * payload. */
static bool find_copy(const struct event *e, unsigned n, unsigned k, const uint8_t **at,
		      uint32_t *length)
{
	/* Places count from the common fields on, which the payload lacks. */
	const uint64_t loc_at = 8 + 8 * (uint64_t)n + 4 * (uint64_t)k;
	uint32_t loc, offset;

	if (loc_at + sizeof(loc) > e->count)
		return false;
	memcpy(&loc, (const uint8_t *)e->payload + loc_at, sizeof(loc));
	offset = loc & 0xffff;
	*length = loc >> 16;
	if (!*length || offset < EVENT_COMMON_BYTES ||
	    (uint64_t)offset + *length > EVENT_COMMON_BYTES + e->count)
		return false;
	*at = (const uint8_t *)e->payload + offset - EVENT_COMMON_BYTES;
	return true;
}

/* Each string with its NUL. What did not fit is not known. */
static void print_strings(const uint8_t *at, uint32_t n, FILE *f)
{
	uint32_t one;

	fputc('[', f);
	for (uint32_t i = 0; i < n; i += one + 1) {
		one = (uint32_t)strnlen((const char *)at + i, n - i);
		fputs(i ? ", " : "", f);
		syscalls_print_quoted(at + i, one, f);
	}
	fputc(']', f);
}

/* Copy k is the structures iovec, of which there are `all`, and one behind it what they lead to,
 * where that is known. A vector without a copy is not printed at all; one whose parts are all empty
 * has no copy of them. */
static void print_vector(const struct syscall_info *call, const struct call_copy *copies,
			 unsigned n, unsigned k, const struct event *e, uint64_t all, FILE *f)
{
	/* A record of a return has the result in place of arguments. */
	const bool after = k + 1 < n && (copies[k + 1].length & 0xf0) == CALL_COPY_SCATTER;
	const unsigned arguments = after ? 1 : syscall_arguments(call);
	struct syscalls_iov_data data = { 0 };
	const uint8_t *at;
	uint32_t length;

	if (!find_copy(e, arguments, k, &at, &length))
		return;
	data.known = k + 1 < n && copies[k + 1].argument == copies[k].argument;
	if (data.known && !find_copy(e, arguments, k + 1, &data.at, &data.n))
		data.n = 0; /* all of them are empty */
	data.whole = after && data.n >= e->payload[1];
	syscalls_print_vector(at, length, all, &data, f);
}

/* Whether the copy is structures iovec, before those that they lead to. */
static bool is_vector(const struct call_copy *c, const char *name)
{
	return (c->length & 0xf0) == CALL_COPY_PAIRS && strcmp(name, "vec") == 0;
}

/* A copy of bytes of which an argument says how many there are, and there are more. A structure of
 * which a part is missing is not one: its bytes are shown, and dots. find_copy() has seen that the
 * record has the arguments. */
static bool is_cut(const struct call_copy *c, const struct event *e, uint32_t n)
{
	return c->length < CALL_ARGUMENTS && (uint32_t)e->payload[1 + c->length] > n;
}

/* Whether nothing of a buffer was to be copied: an argument says that it has no bytes. Arguments
 * that a damaged record lacks are 0. */
static bool is_empty(const struct call_copy *copy, const struct syscalls_call *c, const char *name)
{
	return copy->length < CALL_ARGUMENTS && !c->args[copy->length] &&
	       c->args[copy->argument - 1] && strncmp(name, "buf", 3) == 0;
}

/* Prints the string, the structure or the buffer that argument i leads to; false: there is none in
 * the record. A structure comes before the bytes: buffers of some calls are read as messages
 * (syscalls_netlink.c). A string's NUL is part of its copy, and is not shown. */
static bool print_copy(struct syscalls *s, const struct syscalls_call *c,
		       const struct syscall_info *call, const char *name, const struct event *e,
		       unsigned i, FILE *f)
{
	struct syscalls_memory m = { .s = s, .call = c, .argument = i };
	struct call_copy copies[CALL_COPIES];
	unsigned n = syscall_copies(call, false, copies), k = 0;
	bool is_string, cut;

	while (k < n && copies[k].argument != i + 1)
		k++;
	if (k < n && is_empty(&copies[k], c, name)) {
		fputs("\"\"", f);
		return true;
	}
	if (k == n || !find_copy(e, syscall_arguments(call), k, &m.at, &m.n))
		return false;
	if (copies[k].length == CALL_COPY_STRINGS) {
		print_strings(m.at, m.n, f);
		return true;
	}
	if (is_vector(&copies[k], name)) {
		print_vector(call, copies, n, k, e, e->payload[1 + copies[k].length % 0x10], f);
		return true;
	}
	is_string = copies[k].length == CALL_COPY_STRING;
	cut = is_cut(&copies[k], e, m.n);
	if (!cut && syscalls_print_struct(&m, SYSCALLS_BEFORE, call->name, name, f))
		return true;
	/* Other structures are their addresses. */
	if (!is_string && copies[k].length >= CALL_ARGUMENTS)
		return false;
	syscalls_print_quoted(m.at, m.n - is_string, f);
	fputs(cut ? "..." : "", f);
	return true;
}

/* By the name of the argument: types of descriptors are those of numbers. Pointers to
 * descriptors are none. */
static bool is_descriptor(const char *type, const char *name)
{
	static const char *const names[] = { "fd",     "ufd",	 "epfd",	"fildes",
					     "oldfd",  "newfd",	 "dfd",		"olddfd",
					     "newdfd", "out_fd", "in_fd",	"fd_in",
					     "fd_out", "mqdes",	 "fanotify_fd", "pidfd" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !strchr(type, '*'); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Prints 3</etc/passwd>, or 3 where the trace does not know its name. */
static void print_descriptor(const char *name, int32_t fd, FILE *f)
{
	if (fd == AT_FDCWD) {
		fputs("AT_FDCWD", f);
		return;
	}
	fprintf(f, "%d", fd);
	if (name)
		fprintf(f, "<%s>", name);
}

/* Numbers of bytes and of elements, which some calls take as unsigned long. strace writes them in
 * decimal, and other words of that type in hexadecimal, because addresses have it, too. */
static bool is_count(const char *name)
{
	static const char *const names[] = { "vlen", "size", "len", "maxnode", "nr_pages",
					     "home_node" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* By the kernel's type: modes in octal, addresses in hexadecimal. A type of a size is unsigned, and
 * ssize_t and off_t are not, whatever their names share: the order of the questions matters. */
static void print_number(const char *type, const char *name, uint64_t v, FILE *f)
{
	/* capget's types are pointers, too. */
	bool is_pointer = strchr(type, '*') || strstr(type, "cap_user_"),
	     is_unsigned = strncmp(type, "unsigned", 8) == 0;

	if (is_pointer && !v)
		fputs("NULL", f);
	else if (strcmp(type, "umode_t") == 0)
		fprintf(f, "0%03o", (unsigned)v & 0xffff);
	else if (v && (is_pointer || (strcmp(type, "unsigned long") == 0 && !is_count(name))))
		fprintf(f, "0x%" PRIx64, v);
	else if (strcmp(type, "size_t") == 0)
		fprintf(f, "%" PRIu64, v);
	else if (strstr(type, "size_t") || strstr(type, "long") || strstr(type, "off_t"))
		fprintf(f, "%" PRId64, (int64_t)v);
	else if (is_unsigned)
		fprintf(f, "%" PRIu32, (uint32_t)v);
	else
		fprintf(f, "%" PRId32, (int32_t)v);
}

void syscalls_print_descriptor(const struct syscalls_memory *m, int32_t fd, FILE *f)
{
	print_descriptor(syscalls_files_name(m->s->files, m->call->pid, (uint32_t)fd), fd, f);
}

/* The kernel's format of openat is its own; its flags are those of open. */
static const struct syscall_named *names_of(const struct syscall_info *call, const char *argument)
{
	return syscall_named(strcmp(call->name, "openat") == 0 ? "open" : call->name, argument);
}

/* One argument, for free(). Texts are made when the call begins: names of descriptors are those of
 * that time. raw_syscalls has numbers alone (c->named is false): its pointers are addresses, and
 * nothing of the record is taken for a copy. */
static char *argument_text(struct syscalls *s, const struct syscalls_call *c,
			   const struct syscall_info *call, const struct event *e, unsigned i)
{
	char type[WORD_BYTES], name[WORD_BYTES], *text = NULL;
	const struct syscall_named *named;
	size_t size;
	FILE *f = mem_stream(&text, &size);

	syscall_argument(call, i, type, name, WORD_BYTES);
	named = names_of(call, name);
	if (is_descriptor(type, name))
		print_descriptor(syscalls_files_name(s->files, c->pid, (uint32_t)c->args[i]),
				 (int32_t)c->args[i], f);
	else if (syscalls_print_number_of(c, call->name, i, f))
		; /* it has a sense by another argument */
	else if (named)
		syscall_named_text(named, type, c->args[i], f);
	else if (!c->named || !print_copy(s, c, call, name, e, i, f))
		print_number(type, name, c->args[i], f);
	mem_stream_close(f, &text);
	return text;
}

/* The texts of a call that did not return are freed. */
void syscalls_lines_begin(struct syscalls *s, struct syscalls_call *c, const struct event *e)
{
	const struct syscall_info *call = syscall_by_number(c->nr);

	syscalls_lines_free(c);
	for (unsigned i = 0; call && i < syscall_arguments(call); i++)
		if (syscalls_is_shown(c, call->name, i))
			c->texts[i] = argument_text(s, c, call, e, i);
}

/* --- what a call gave -------------------------------------------------------------------- */

/* A return, the calls' copies, and one of them. */
struct returned_copy {
	const struct syscall_info *call;
	const struct call_copy *copies;
	unsigned n, k;
	const struct event *e;
};

/* Prints as many bytes as the call returned. */
static bool print_returned_bytes(const struct returned_copy *g, const struct syscalls_memory *m,
				 FILE *f)
{
	uint32_t n = m->n;

	/* getcwd counts the NUL. */
	if (n && n == (uint64_t)m->result && strcmp(g->call->name, "getcwd") == 0)
		n--;
	syscalls_print_quoted(m->at, n, f);
	fputs(n && n + 1 < (uint64_t)m->result ? "..." : "", f);
	return true;
}

/* Prints what a copy of a return has; false: nothing is printed. The result is the first word of
 * such a record, in the place of arguments: hence the 1. */
static bool print_returned(const struct returned_copy *g, struct syscalls_memory *m,
			   enum syscalls_phase when, FILE *f)
{
	const struct call_copy *copy = &g->copies[g->k];
	bool found = find_copy(g->e, 1, g->k, &m->at, &m->n);
	bool by_result =
		copy->length == CALL_COPY_RESULT || (copy->length & 0xf0) == CALL_COPY_RETURNED;
	char name[WORD_BYTES];

	/* With a result of 0 the call gave nothing, and that is all of it. */
	if (!found && (!by_result || m->result))
		return false;
	if (!found)
		m->n = 0;
	syscall_argument(g->call, m->argument, NULL, name, sizeof(name));
	if (when == SYSCALLS_AFTER && is_vector(copy, name)) {
		print_vector(g->call, g->copies, g->n, g->k, g->e,
			     m->call->args[copy->length % 0x10 % CALL_ARGUMENTS], f);
		return true;
	}
	if (syscalls_print_struct(m, when, g->call->name, name, f))
		return true;
	return when == SYSCALLS_AFTER && copy->length == CALL_COPY_RESULT &&
	       print_returned_bytes(g, m, f);
}

/* The length of an address that the call gave: the number behind the pointer to its length. */
static uint32_t returned_length(const struct syscall_info *call, const struct call_copy *copies,
				unsigned n, const struct event *e)
{
	char name[WORD_BYTES];
	const uint8_t *at;
	uint32_t length, said = 0;

	for (unsigned k = 0; k < n; k++) {
		syscall_argument(call, copies[k].argument - 1u, NULL, name, sizeof(name));
		if (strstr(name, "len") && find_copy(e, 1, k, &at, &length) &&
		    length >= sizeof(said))
			memcpy(&said, at, sizeof(said));
	}
	return said;
}

/* Puts "[28 => 16]" where both lengths are known and differ, as strace does. */
static char *joined(char *before, char *after)
{
	char *text;

	if (!before || *before != '[' || *after != '[' || strchr(after, ',') ||
	    strcmp(before, after) == 0)
		return after;
	text = mem_printf("%.*s => %s", (int)strlen(before) - 1, before, after + 1);
	free(after);
	return text;
}

/* Puts what one copy has in place of the argument's text. */
static void set_returned(const struct returned_copy *g, struct syscalls_memory *m,
			 struct syscalls_call *c)
{
	char **text = &c->texts[m->argument], *made = NULL;
	size_t size;
	FILE *f = mem_stream(&made, &size);
	bool told;

	m->before = *text;
	told = print_returned(g, m, SYSCALLS_AFTER, f);
	mem_stream_close(f, &made);
	if (!told) {
		free(made);
		return;
	}
	made = joined(*text, made);
	free(*text);
	*text = made;
}

/* Adds what one copy has to what stands behind the result. */
static void add_note(const struct returned_copy *g, struct syscalls_memory *m, bool *first, FILE *f)
{
	char *text = NULL;
	size_t size;
	FILE *one = mem_stream(&text, &size);
	bool told = print_returned(g, m, SYSCALLS_NOTE, one);

	mem_stream_close(one, &text);
	if (told)
		fprintf(f, "%s%s", *first ? "" : ", ", text);
	*first &= !told;
	free(text);
}

/* Returns what stands behind the result, for free(); NULL: nothing. */
static char *note_text(struct returned_copy *g, struct syscalls_memory *m)
{
	char *text = NULL;
	size_t size;
	FILE *f = mem_stream(&text, &size);
	bool first = !syscalls_print_meaning(m->call, g->call->name, m->result, f);

	for (g->k = 0; g->k < g->n && m->result; g->k++) {
		m->argument = g->copies[g->k].argument - 1u;
		if (m->call->texts[m->argument] && strcmp(m->call->texts[m->argument], "NULL"))
			add_note(g, m, &first, f);
	}
	mem_stream_close(f, &text);
	if (!*text) {
		free(text);
		text = NULL;
	}
	return text;
}

void syscalls_lines_pair(struct syscalls *s, const struct syscalls_call *c, const struct event *e)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	struct call_copy copies[CALL_COPIES];
	const uint8_t *at;
	int32_t two[2];
	uint32_t n;

	if (!c->named || !call || syscall_copies(call, true, copies) != 1 ||
	    !find_copy(e, 1, 0, &at, &n) || n != sizeof(two))
		return;
	memcpy(two, at, sizeof(two));
	syscalls_files_pair(s->files, c->pid, c, two);
}

/* Arguments that point to what the kernel fills in have no text before the return: theirs is made
 * here, in the place of the address. */
void syscalls_lines_return(struct syscalls *s, struct syscalls_call *c, const struct event *e)
{
	struct call_copy copies[CALL_COPIES];
	struct returned_copy g = { .call = syscall_by_number(c->nr), .copies = copies, .e = e };
	struct syscalls_memory m = { .s = s, .call = c, .after = true,
				     .result = (int64_t)e->payload[1] };

	if (!g.call)
		return;
	/* A raw event has no copies. */
	g.n = c->named ? syscall_copies(g.call, true, copies) : 0;
	if (g.n)
		c->length = returned_length(g.call, copies, g.n, e);
	c->note = note_text(&g, &m);
	for (g.k = 0; g.k < g.n; g.k++) {
		m.argument = copies[g.k].argument - 1u;
		if (c->texts[m.argument] && strcmp(c->texts[m.argument], "NULL"))
			set_returned(&g, &m, c);
	}
}

/* --- a line ------------------------------------------------------------------------------ */

/* The order in which the arguments of clone stand, with their names, as strace has them. */
static void print_clone(const struct syscalls_call *c, struct out *o)
{
	static const struct { unsigned i; const char *name; } order[] = {
		{ 1, "child_stack" }, { 0, "flags" }, { 2, "parent_tid" }, { 4, "tls" },
		{ 3, "child_tidptr" },
	};

	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		if (c->texts[order[k].i])
			out_printf(o, "%s%s=%s", k ? ", " : "", order[k].name,
				   c->texts[order[k].i]);
}

/* NAME(ARGUMENTS). A number that this build does not know has its number for a name. */
static void print_call(const struct syscalls_call *c, struct out *o)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	const char *before = "";

	if (call)
		out_str(o, call->name);
	else
		out_printf(o, "syscall_%" PRIu32, c->nr);
	out_char(o, '(');
	if (call && strcmp(call->name, "clone") == 0) {
		print_clone(c, o);
	} else {
		for (unsigned i = 0; i < SYSCALL_ARGS; i++) {
			if (!c->texts[i])
				continue;
			out_str(o, before);
			out_name(o, c->texts[i], strlen(c->texts[i]));
			before = ", ";
		}
	}
	out_char(o, ')');
}

static void print_number_result(const struct syscalls_call *c, int64_t result, struct out *o)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	enum syscalls_base base = call ? syscalls_result_base(c, call->name) : SYSCALLS_DECIMAL;

	if (base == SYSCALLS_OCTAL)
		out_printf(o, " = %s%" PRIo64, result ? "0" : "", (uint64_t)result);
	else if (result && (base == SYSCALLS_HEXADECIMAL || result > UINT32_MAX))
		out_printf(o, " = 0x%" PRIx64, (uint64_t)result);
	else
		out_printf(o, " = %" PRId64, result);
}

static void print_note(const struct syscalls_call *c, struct out *o)
{
	if (!c->note)
		return;
	out_str(o, " (");
	out_name(o, c->note, strlen(c->note));
	out_char(o, ')');
}

static void print_result(const struct syscalls_call *c, int64_t result, const char *opened,
			 struct out *o)
{
	const char *error = c->error ? strerrorname_np(c->error) : NULL;

	if (c->error && error)
		out_printf(o, " = -1 %s (%s)", error, strerrordesc_np(c->error));
	else if (c->error)
		out_printf(o, " = -%d", c->error);
	else
		print_number_result(c, result, o);
	if (opened && !c->error) {
		out_char(o, '<');
		out_name(o, opened, strlen(opened));
		out_char(o, '>');
	}
	print_note(c, o);
}

/* result NULL: the call has not returned. Times are ns, from the first record on. */
static void print_json(struct syscalls *s, const struct syscalls_call *c,
		       const struct trace_thread *t, const int64_t *result, uint64_t ticks)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	struct out *o = s->lines;
	const char *before = "";
	char name[WORD_BYTES];

	out_printf(o, "{\"time_ns\":%" PRIu64 ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"name\":",
		   trace_clock_delta_ns(&s->info->clock, c->tsc - s->first), t->pid, t->tid);
	json_string(o, call ? call->name : "unknown");
	out_printf(o, ",\"number\":%" PRIu32 ",\"args\":{", c->nr);
	for (unsigned i = 0; i < SYSCALL_ARGS; i++) {
		if (!c->texts[i])
			continue;
		syscall_argument(call, i, NULL, name, sizeof(name));
		out_str(o, before);
		before = ",";
		json_string(o, name);
		out_char(o, ':');
		json_string(o, c->texts[i]);
	}
	out_str(o, "},\"result\":");
	if (result)
		out_printf(o, "%" PRId64, *result);
	else
		out_str(o, "null");
	out_str(o, ",\"error\":");
	json_string(o, c->error ? strerrorname_np(c->error) : NULL);
	if (c->note) {
		out_str(o, ",\"note\":");
		json_string(o, c->note);
	}
	if (result)
		out_printf(o, ",\"duration_ns\":%" PRIu64 "}\n",
			   trace_clock_delta_ns(&s->info->clock, ticks));
	else
		out_str(o, ",\"duration_ns\":null}\n");
}

/* The line has the time of the call's begin, like strace's, but comes at its end. */
void syscalls_lines_end(struct syscalls *s, const struct syscalls_call *c, uint32_t thread,
			const int64_t *result, uint64_t ticks)
{
	const struct trace_thread *t = &s->info->threads.at[thread];
	const char *opened = NULL;
	uint64_t ns = trace_clock_delta_ns(&s->info->clock, c->tsc - s->first);

	if (s->lines_json) {
		print_json(s, c, t, result, ticks);
		return;
	}
	if (result && *result >= 0 && syscalls_files_opens(c))
		opened = syscalls_files_name(s->files, t->pid, (uint32_t)*result);
	out_printf(s->lines, "%-7" PRIu32 " %4" PRIu64 ".%06" PRIu64 " ", t->tid, ns / 1000000000,
		   ns % 1000000000 / 1000);
	print_call(c, s->lines);
	if (!result) {
		out_str(s->lines, " = ?");
		print_note(c, s->lines);
		out_char(s->lines, '\n');
		return;
	}
	print_result(c, *result, opened, s->lines);
	ns = trace_clock_delta_ns(&s->info->clock, ticks);
	out_printf(s->lines, " <%" PRIu64 ".%06" PRIu64 ">\n", ns / 1000000000,
		   ns % 1000000000 / 1000);
}

/* o outlives s. The schema's line comes first, so that a reader of JSON can refuse a version that
 * it does not know. */
void syscalls_print_lines(struct syscalls *s, struct out *o, bool json)
{
	s->lines = o;
	s->lines_json = json;
	s->by = SYSCALLS_BY_FILE; /* descriptors have names there */
	if (json)
		out_str(o, "{\"schema\":\"brace-syscalls-lines\",\"version\":1}\n");
}
