/* SPDX-License-Identifier: MIT */
/* Single calls as lines, as strace -f -T -y has them, and as JSON. syscalls.c calls it at the begin
 * of a call, for its arguments, and at its end. Records are a trace's: each copy is looked for
 * within the record, and bytes of programs are written as C's escapes. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "event/syscall_copies.h"
#include "event/syscall_names.h"
#include "report/syscalls_internal.h"

#define WORD_BYTES 64

/* Frees the texts of the arguments, and forgets them. */
void syscalls_lines_free(struct syscalls_call *c)
{
	for (unsigned i = 0; i < SYSCALL_ARGS; i++) {
		free(c->texts[i]);
		c->texts[i] = NULL;
	}
}

/* --- an argument ------------------------------------------------------------------------- */

/* strace's escapes, so that its readers need not learn others: three octal digits, which no
 * following digit can be mistaken for. */
void syscalls_print_quoted(const uint8_t *at, uint32_t n, FILE *f)
{
	fputc('"', f);
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == '"' || at[i] == '\\')
			fprintf(f, "\\%c", at[i]);
		else if (at[i] == '\n' || at[i] == '\t')
			fputs(at[i] == '\n' ? "\\n" : "\\t", f);
		else if (at[i] < ' ' || at[i] > '~')
			fprintf(f, "\\%03o", at[i]);
		else
			fputc(at[i], f);
	fputc('"', f);
}

/* Finds copy k of a record with n arguments; false: it is empty, or not in the record. */
static bool find_copy(const struct event *e, unsigned n, unsigned k, const uint8_t **at,
		      uint32_t *length)
{
	/* Places count from the common fields on, which the payload lacks. */
	const uint64_t loc_at = 8 + 8 * (uint64_t)n + 4 * (uint64_t)k;
	uint32_t loc, place;

	if (loc_at + sizeof(loc) > e->count)
		return false;
	memcpy(&loc, (const uint8_t *)e->payload + loc_at, sizeof(loc));
	place = loc & 0xffff;
	*length = loc >> 16;
	if (!*length || place < EVENT_COMMON_BYTES ||
	    (uint64_t)place + *length > EVENT_COMMON_BYTES + e->count)
		return false;
	*at = (const uint8_t *)e->payload + place - EVENT_COMMON_BYTES;
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

/* Copy k is the structures iovec, and one behind it what they lead to, where that is known. */
static void print_vector(const struct syscall_info *call, const struct call_copy *copies,
			 unsigned n, unsigned k, const struct event *e, FILE *f)
{
	const unsigned arguments = syscall_arguments(call);
	const uint64_t all = e->payload[1 + copies[k].length % 0x10 % CALL_ARGUMENTS];
	const uint8_t *at, *data = NULL;
	uint32_t length, bytes = 0;

	if (!find_copy(e, arguments, k, &at, &length))
		return;
	if (k + 1 < n && copies[k + 1].argument == copies[k].argument &&
	    !find_copy(e, arguments, k + 1, &data, &bytes))
		data = at; /* all of them are empty */
	syscalls_print_vector(at, length, all, data, bytes, f);
}

/* Prints the string, the structure or the buffer that argument i, of that name, leads to; false:
 * there is none in the record. */
static bool print_copy(const struct syscall_info *call, const char *name, const struct event *e,
		       unsigned i, FILE *f)
{
	struct call_copy copies[CALL_COPIES];
	unsigned n = syscall_copies(call, false, copies), k = 0;
	const uint8_t *at;
	uint32_t length;
	bool is_string, is_cut;

	while (k < n && copies[k].argument != i + 1)
		k++;
	if (k == n || !find_copy(e, syscall_arguments(call), k, &at, &length))
		return false;
	if (copies[k].length == CALL_COPY_STRINGS) {
		print_strings(at, length, f);
		return true;
	}
	if (copies[k].length >= CALL_COPY_PAIRS && copies[k].length < CALL_COPY_FIXED) {
		print_vector(call, copies, n, k, e, f);
		return true;
	}
	is_string = copies[k].length == CALL_COPY_STRING;
	is_cut = copies[k].length < CALL_ARGUMENTS &&
		 (uint32_t)e->payload[1 + copies[k].length] > length;
	if (!is_cut && syscalls_print_struct(call->name, name, at, length, f))
		return true;
	/* Other structures are their addresses. */
	if (!is_string && copies[k].length >= CALL_ARGUMENTS)
		return false;
	syscalls_print_quoted(at, length - is_string, f);
	if (is_cut)
		fputs("...", f);
	return true;
}

/* By the name of the argument: types of descriptors are those of numbers. Pointers to
 * descriptors are none. */
static bool is_descriptor(const char *type, const char *name)
{
	static const char *const names[] = {
		"fd", "ufd", "epfd", "fildes", "oldfd", "newfd", "dfd", "olddfd", "newdfd", "out_fd",
		"in_fd", "fd_in", "fd_out", "mqdes", "fanotify_fd", "pidfd" };

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

/* Numbers of bytes and of pieces, which some calls take as unsigned long. */
static bool is_count(const char *name)
{
	return strcmp(name, "vlen") == 0 || strcmp(name, "size") == 0 || strcmp(name, "len") == 0;
}

/* By the kernel's type: modes in octal, addresses in hexadecimal, sizes with their sign (-1). */
static void print_number(const char *type, const char *name, uint64_t v, FILE *f)
{
	bool is_pointer = strchr(type, '*'), is_unsigned = strncmp(type, "unsigned", 8) == 0;

	if (is_pointer && !v)
		fputs("NULL", f);
	else if (strcmp(type, "umode_t") == 0)
		fprintf(f, "0%03o", (unsigned)v & 0xffff);
	else if (v && (is_pointer || (strcmp(type, "unsigned long") == 0 && !is_count(name))))
		fprintf(f, "0x%" PRIx64, v);
	else if (strstr(type, "size_t") || strstr(type, "long") || strstr(type, "off_t"))
		fprintf(f, "%" PRId64, (int64_t)v);
	else if (is_unsigned)
		fprintf(f, "%" PRIu32, (uint32_t)v);
	else
		fprintf(f, "%" PRId32, (int32_t)v);
}

/* The kernel's format of openat is its own; its flags are those of open. */
static const struct syscall_named *names_of(const struct syscall_info *call, const char *argument)
{
	return syscall_named(strcmp(call->name, "openat") == 0 ? "open" : call->name, argument);
}

/* One argument, for free(). Texts are made when the call begins: names of descriptors are those
 * of that time. */
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
	else if (named)
		syscall_named_text(named, type, c->args[i], f);
	else if (!c->named || !print_copy(call, name, e, i, f))
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
		c->texts[i] = argument_text(s, c, call, e, i);
}

/* --- what a call gave -------------------------------------------------------------------- */

/* Prints what copy k of a return has; false: nothing is printed. */
static bool print_given(const struct syscalls_call *c, const struct syscall_info *call,
			const struct call_copy *copies, unsigned k, const struct event *e, FILE *f)
{
	const uint64_t result = e->payload[1];
	const uint8_t *at;
	uint32_t length;
	char name[WORD_BYTES];
	bool found = find_copy(e, 1, k, &at, &length);

	syscall_argument(call, copies[k].argument - 1u, NULL, name, sizeof(name));
	if (copies[k].length == CALL_COPY_RESULT) {
		if (!found && result)
			return false;
		/* getcwd counts the NUL. */
		if (found && length == result && strcmp(call->name, "getcwd") == 0)
			length--;
		syscalls_print_quoted(at, found ? length : 0, f);
		fputs(found && length + 1 < result ? "..." : "", f);
		return true;
	}
	/* A child that has not ended has no status. */
	if (!found || (strcmp(call->name, "wait4") == 0 && !result))
		return false;
	return syscalls_print_struct(call->name, name, at,
				     c->length && c->length < length &&
				     strstr(name, "addr") && !strstr(name, "len") ? c->length : length,
				     f);
}

/* How long an address is that the call gave: the number behind the pointer to its length. */
static uint32_t given_length(const struct syscall_info *call, const struct call_copy *copies,
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

	if (*before != '[' || *after != '[' || strchr(after, ',') || strcmp(before, after) == 0)
		return after;
	text = mem_printf("%.*s => %s", (int)strlen(before) - 1, before, after + 1);
	free(after);
	return text;
}

/* Arguments that point to what the kernel fills in have no text before the return: theirs is made
 * here, in the place of the address. */
void syscalls_lines_given(struct syscalls_call *c, const struct event *e)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	struct call_copy copies[CALL_COPIES];
	unsigned n = call ? syscall_copies(call, true, copies) : 0;

	if (n)
		c->length = given_length(call, copies, n, e);
	for (unsigned k = 0; k < n; k++) {
		char **text = &c->texts[copies[k].argument - 1], *given = NULL;
		size_t size;
		FILE *f = mem_stream(&given, &size);
		bool told = *text && strcmp(*text, "NULL") && print_given(c, call, copies, k, e, f);

		mem_stream_close(f, &given);
		if (told) {
			given = joined(*text, given);
			free(*text);
			*text = given;
		} else {
			free(given);
		}
	}
}

/* --- a line ------------------------------------------------------------------------------ */

/* NAME(ARGUMENTS). A number that this build does not know has its number for a name. */
static void print_call(const struct syscalls_call *c, struct out *o)
{
	const struct syscall_info *call = syscall_by_number(c->nr);

	if (call)
		out_str(o, call->name);
	else
		out_printf(o, "syscall_%" PRIu32, c->nr);
	out_char(o, '(');
	for (unsigned i = 0; i < SYSCALL_ARGS && c->texts[i]; i++) {
		out_str(o, i ? ", " : "");
		out_name(o, c->texts[i], strlen(c->texts[i]));
	}
	out_char(o, ')');
}

/* Addresses are in hexadecimal, as brk's and mmap's results. */
static void print_result(const struct syscalls_call *c, int64_t result, const char *opened,
			 struct out *o)
{
	const char *error = c->error ? strerrorname_np(c->error) : NULL;

	if (c->error && error)
		out_printf(o, " = -1 %s (%s)", error, strerrordesc_np(c->error));
	else if (c->error)
		out_printf(o, " = -%d", c->error);
	else if (result > UINT32_MAX)
		out_printf(o, " = 0x%" PRIx64, (uint64_t)result);
	else
		out_printf(o, " = %" PRId64, result);
	if (opened && !c->error) {
		out_char(o, '<');
		out_name(o, opened, strlen(opened));
		out_char(o, '>');
	}
}

/* result NULL: the call has not returned. Times are ns, from the first record on. */
static void print_json(struct syscalls *s, const struct syscalls_call *c,
		       const struct trace_thread *t, const int64_t *result, uint64_t ticks)
{
	const struct syscall_info *call = syscall_by_number(c->nr);
	struct out *o = s->lines;
	char name[WORD_BYTES];

	out_printf(o, "{\"time_ns\":%" PRIu64 ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"name\":",
		   trace_clock_delta_ns(&s->info->clock, c->tsc - s->first), t->pid, t->tid);
	json_string(o, call ? call->name : "unknown");
	out_printf(o, ",\"number\":%" PRIu32 ",\"args\":{", c->nr);
	for (unsigned i = 0; i < SYSCALL_ARGS && c->texts[i]; i++) {
		syscall_argument(call, i, NULL, name, sizeof(name));
		out_str(o, i ? "," : "");
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
		out_str(s->lines, " = ?\n");
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
