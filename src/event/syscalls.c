/* SPDX-License-Identifier: MIT */
/* The events of system calls: formats of raw_syscalls: and syscalls:, made from one line of a table
 * for each call. image/call_points.c looks them up by number. Nothing but the catalogue changes; an
 * event that cannot be added is left out. The catalogue's maker calls it before other threads know
 * the catalogue; look-ups are any thread's. */
#include "event/syscalls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/open_flags.h"
#include "base/mem.h"
#include "event/syscall_copies.h"
#include "event/syscall_names.h"

/* After the 8 common bytes: the number as an int, 4 bytes of padding, then 8 bytes for each
 * argument. */
#define NUMBER_OFFSET 8u
#define FIRST_OFFSET 16u

/* One row a call, sorted by number for bsearch(). */
static const struct syscall_info all[] = {
#define S(number, name, arguments) { number, #name, arguments },
#include "arch/syscalls.h"
#undef S
};

const struct syscall_info *syscalls_all(size_t *n)
{
	*n = sizeof(all) / sizeof(*all);
	return all;
}

/* bsearch() in `all`, which is sorted by number. */
static int by_number(const void *key, const void *element)
{
	return (int)*(const uint32_t *)key - ((const struct syscall_info *)element)->number;
}

const struct syscall_info *syscall_by_name(const char *name)
{
	size_t n;
	const struct syscall_info *calls = syscalls_all(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}

/* Numbers without an event are left out of the table, so that a number is no index. */
const struct syscall_info *syscall_by_number(uint32_t number)
{
	if (number >= SYSCALL_NUMBERS)
		return NULL;
	return bsearch(&number, all, sizeof(all) / sizeof(*all), sizeof(*all), by_number);
}

/* --- enter: all arguments take eight bytes, whatever their type ------------------------------ */

/* The format of one call's event while it is made; events_add_format() copies it. */
struct syscall_row {
	const struct syscall_info *call;
	char *words;           /* the arguments, cut into types and names; fields point into it */
	struct event_field fields[2 + SYSCALL_ARGS + CALL_COPIES];
	size_t n;              /* of them */
	size_t arguments;      /* fields [1] and so on */
	struct call_copy copies[CALL_COPIES];
	char *copy_names[CALL_COPIES];
	unsigned n_copies;     /* the last fields */
	char *print;
};

static const struct event_field number_field = { "int", "__syscall_nr", NUMBER_OFFSET, 4, true };

/* Cuts "unsigned int fd, char * buf" into types and names, in place; each name is the last word
 * before a comma. */
static void cut_arguments(struct syscall_row *c, const char *arguments)
{
	char *rest = NULL;

	c->words = mem_strdup(arguments);
	c->fields[0] = number_field;
	c->n = 1;
	for (char *one = strtok_r(c->words, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		char *name = strrchr(one, ' ');

		*name = 0;
		c->fields[c->n] =
			(struct event_field){ one + (*one == ' '), name + 1,
					      (uint16_t)(FIRST_OFFSET + 8 * (c->n - 1)), 8, false };
		c->n++;
	}
}

/* Whether the copy is of the bytes that structures iovec lead to. */
static bool is_iovec(const struct call_copy *c)
{
	return c->length >= CALL_COPY_GATHER && c->length < CALL_COPY_INTS;
}

/* Adds the fields of copies, from that offset on. An argument buf has its copy in __buf_val; what a
 * structure iovec leads to is in __vec_data. */
static void add_copies(struct syscall_row *c, bool behind, uint32_t offset)
{
	char name[64];

	c->n_copies = syscall_copies(c->call, behind, c->copies);
	for (unsigned i = 0; i < c->n_copies; i++) {
		syscall_argument(c->call, c->copies[i].argument - 1u, NULL, name, sizeof(name));
		c->copy_names[i] = mem_printf(is_iovec(&c->copies[i]) ? "__%s_data" : "__%s_val",
					      name);
		c->fields[c->n++] = (struct event_field){ "__data_loc char[]", c->copy_names[i],
							  (uint16_t)(offset + 4 * i), 4, false };
	}
}

static void drop_row(struct syscall_row *c)
{
	for (unsigned i = 0; i < c->n_copies; i++)
		free(c->copy_names[i]);
	free(c->print);
	free(c->words);
}

/* The copy of argument field i; NULL: it has none. */
static const struct call_copy *copy_of(const struct syscall_row *c, size_t i, const char **name)
{
	for (unsigned k = 0; k < c->n_copies; k++) {
		*name = c->copy_names[k];
		if (c->copies[k].argument == i)
			return &c->copies[k];
	}
	return NULL;
}

static bool is_string(const struct call_copy *c)
{
	return c && c->length == CALL_COPY_STRING;
}

/* Structures are not printed: the kernel has none. */
static bool is_buffer(const struct call_copy *c)
{
	return c && c->length < CALL_COPY_BYTES + CALL_ARGUMENTS;
}

/* The kernel prints these flags of open by name. */
static bool is_open_flags(const struct syscall_row *c, size_t i)
{
	return strcmp(c->call->name, "openat") == 0 && strcmp(c->fields[i].name, "flags") == 0;
}

/* The permissions of a file, in octal as the kernel prints those of openat. */
static bool is_open_mode(const struct syscall_row *c, size_t i)
{
	return strcmp(c->fields[i].type, "umode_t") == 0;
}

static const struct syscall_named *names_of(const struct syscall_row *c, size_t i)
{
	return syscall_named(c->call->name, c->fields[i].name);
}

/* A print format has all conversions first, and their values behind them: print_argument() writes
 * these in the same order. */
static void print_argument_text(const struct syscall_row *c, size_t i, FILE *f)
{
	const char *name, *as = is_open_flags(c, i) ? "%s%s"
			      : is_open_mode(c, i)  ? "0%03o"
						    : "0x%08lx";
	const struct call_copy *copy = copy_of(c, i, &name);
	const struct syscall_named *named = names_of(c, i);

	fprintf(f, "%s%s: ", i > 1 ? ", " : "", c->fields[i].name);
	if (named)
		syscall_named_conversions(named, f);
	else
		fputs(as, f);
	if (is_buffer(copy))
		fputs(" (%s)", f);
	else if (is_string(copy))
		fputs(" \\\"%s\\\"", f);
}

/* The kernel's list, in its order. */
static const struct { unsigned bit; const char *name; } open_flags[] = {
	{ O_WRONLY, "O_WRONLY" }, { O_RDWR, "O_RDWR" }, { O_CREAT, "O_CREAT" },
	{ O_EXCL, "O_EXCL" }, { O_NOCTTY, "O_NOCTTY" }, { O_TRUNC, "O_TRUNC" },
	{ O_APPEND, "O_APPEND" }, { O_NONBLOCK, "O_NONBLOCK" }, { O_DSYNC, "O_DSYNC" },
	{ O_DIRECT, "O_DIRECT" }, { OPEN_LARGE_FILE, "O_LARGEFILE" },
	{ O_DIRECTORY, "O_DIRECTORY" }, { O_NOFOLLOW, "O_NOFOLLOW" },
	{ O_NOATIME, "O_NOATIME" }, { O_CLOEXEC, "O_CLOEXEC" },
};

/* O_RDONLY is 0 and has no bit: the kernel's format writes it where no other mode of access is
 * set. */
static void print_open_flags(FILE *f)
{
	fputs(", (REC->flags & ~3) && !(REC->flags & 3) ? \"O_RDONLY|\" : \"\",  REC->flags ? "
	      "__print_flags(REC->flags, \"|\"", f);
	for (size_t i = 0; i < sizeof(open_flags) / sizeof(*open_flags); i++)
		fprintf(f, ", { 0x%x, \"%s\" }", open_flags[i].bit, open_flags[i].name);
	fputs(") : \"O_RDONLY\"", f);
}

static void print_argument(const struct syscall_row *c, size_t i, FILE *f)
{
	const char *name;
	const struct call_copy *copy = copy_of(c, i, &name);
	const struct syscall_named *named = names_of(c, i);

	if (is_open_flags(c, i))
		print_open_flags(f);
	else if (named)
		syscall_named_expressions(named, c->fields[i].type, f);
	else
		fprintf(f, ",%s ((unsigned long)(REC->%s))", is_open_mode(c, i) ? " " : "",
			c->fields[i].name);
	if (is_string(copy))
		fprintf(f, ", __get_str(%s)", name);
	else if (is_buffer(copy))
		fprintf(f, ", __print_hex(__get_dynamic_array(%s), __get_dynamic_array_len(%s))",
			name, name);
}

/* "a: 0x%08lx, b: 0x%08lx", ((unsigned long)(REC->a)), ((unsigned long)(REC->b)); what a string
 * leads to stands behind it in quotes. */
static char *print_arguments(const struct syscall_row *c)
{
	size_t size;
	char *text = NULL;
	FILE *f = mem_stream(&text, &size);

	fputc('"', f);
	for (size_t i = 1; i <= c->arguments; i++)
		print_argument_text(c, i, f);
	fputc('"', f);
	for (size_t i = 1; i <= c->arguments; i++)
		print_argument(c, i, f);
	mem_stream_close(f, &text);
	return text;
}

/* Adds syscalls:sys_enter_NAME, with a field for each argument. */
static int add_enter(struct event_catalogue *c, const struct syscall_info *s, struct err *err)
{
	struct syscall_row call = { .call = s };
	const struct event_entry *entry;
	char *name = mem_printf("sys_enter_%s", s->name);
	struct event_format format = { .system = "syscalls", .name = name };
	int r;

	cut_arguments(&call, s->arguments);
	call.arguments = call.n - 1;
	add_copies(&call, false, FIRST_OFFSET + 8 * (uint32_t)call.arguments);
	call.print = print_arguments(&call);
	format.fields = call.fields;
	format.n = call.n;
	format.print = call.print;
	r = events_add_format(c, &syscalls_provider, &format, &entry, err);
	drop_row(&call);
	free(name);
	return r;
}

/* --- exit, and both raw ones: equal for every call --- */

/* Adds syscalls:sys_exit_NAME. It is printed as the kernel prints it; what the call gave back is in
 * further fields. */
static int add_exit(struct event_catalogue *c, const struct syscall_info *s, struct err *err)
{
	static const struct event_field ret = { "long", "ret", FIRST_OFFSET, 8, true };
	struct syscall_row call = { .call = s, .fields = { number_field, ret }, .n = 2 };
	const struct event_entry *entry;
	char *name = mem_printf("sys_exit_%s", s->name);
	struct event_format format = { .system = "syscalls", .name = name,
				       .print = "\"0x%lx\", REC->ret" };
	int r;

	add_copies(&call, true, FIRST_OFFSET + 8);
	format.fields = call.fields;
	format.n = call.n;
	r = events_add_format(c, &syscalls_provider, &format, &entry, err);
	drop_row(&call);
	free(name);
	return r;
}

static const struct event_field raw_enter[] = {
	{ "long", "id", NUMBER_OFFSET, 8, true },
	{ "unsigned long[6]", "args", FIRST_OFFSET, 8 * SYSCALL_ARGS, false },
}, raw_exit[] = {
	{ "long", "id", NUMBER_OFFSET, 8, true },
	{ "long", "ret", FIRST_OFFSET, 8, true },
};
static const struct event_format raw[] = {
	{ .system = "raw_syscalls",
	  .name = "sys_enter",
	  .fields = raw_enter,
	  .n = 2,
	  .print =
		  "\"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)\", REC->id, REC->args[0], REC->args[1], REC->args[2], "
		  "REC->args[3], REC->args[4], REC->args[5]" },
	{ .system = "raw_syscalls",
	  .name = "sys_exit",
	  .fields = raw_exit,
	  .n = 2,
	  .print = "\"NR %ld = %ld\", REC->id, REC->ret" },
};

/* --- the interface --- */

/* Stops at the first event that is there already with other fields, or for which there is no
 * room. */
static void add_calls(struct event_catalogue *c)
{
	const struct event_entry *entry;
	struct err ignored;
	int r = 0;

	for (size_t i = 0; i < 2 && !r; i++)
		r = events_add_format(c, &syscalls_provider, &raw[i], &entry, &ignored);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !r; i++) {
		r = add_enter(c, &all[i], &ignored);
		if (!r)
			r = add_exit(c, &all[i], &ignored);
	}
}

const struct event_provider syscalls_provider = {
	.name = "syscall", .can_enable = true, .add_common = add_calls
};

/* Both NULL for a number that has no row, as for calls that are newer than the table. */
struct syscall_events syscalls_find(struct event_catalogue *c, uint32_t number)
{
	const struct syscall_info *s = syscall_by_number(number);
	struct syscall_events found = { 0 };
	char name[64];

	if (!s)
		return found;
	snprintf(name, sizeof(name), "sys_enter_%s", s->name);
	found.enter = events_find(c, "syscalls", name);
	snprintf(name, sizeof(name), "sys_exit_%s", s->name);
	found.exit = events_find(c, "syscalls", name);
	return found;
}
