/* SPDX-License-Identifier: MIT */
/* The events of system calls: formats of raw_syscalls: and syscalls:, made from one line of a table
 * for each call. image/call_points.c looks them up by number. Nothing but the
 * catalogue changes; an event that cannot be added is left out. */
#include "event/syscalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

const struct syscall_info *syscall_by_number(uint32_t number)
{
	if (number >= SYSCALL_NUMBERS)
		return NULL;
	return bsearch(&number, all, sizeof(all) / sizeof(*all), sizeof(*all), by_number);
}

/* --- enter: all arguments take eight bytes, whatever their type ------------------------------ */

/* The format of one call's enter event while it is made; events_add_format() copies it. */
struct syscall_row {
	char *words;           /* the arguments, cut into types and names; fields point into it */
	struct event_field fields[1 + SYSCALL_ARGS];
	size_t n;
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

/* "a: 0x%08lx, b: 0x%08lx", ((unsigned long)(REC->a)), ((unsigned long)(REC->b)) */
static char *print_arguments(const struct syscall_row *c)
{
	size_t size;
	char *text = NULL;
	FILE *f = mem_stream(&text, &size);

	fputc('"', f);
	for (size_t i = 1; i < c->n; i++)
		fprintf(f, "%s%s: 0x%%08lx", i > 1 ? ", " : "", c->fields[i].name);
	fputc('"', f);
	for (size_t i = 1; i < c->n; i++)
		fprintf(f, ", ((unsigned long)(REC->%s))", c->fields[i].name);
	fclose(f);
	return text;
}

/* Adds syscalls:sys_enter_NAME, with a field for each argument. */
static int add_enter(struct event_catalogue *c, const struct syscall_info *s, struct err *err)
{
	struct syscall_row call = { 0 };
	const struct event_entry *entry;
	char *name = mem_printf("sys_enter_%s", s->name);
	struct event_format format = { .system = "syscalls", .name = name };
	int r;

	cut_arguments(&call, s->arguments);
	call.print = print_arguments(&call);
	format.fields = call.fields;
	format.n = call.n;
	format.print = call.print;
	r = events_add_format(c, &syscalls_provider, &format, &entry, err);
	free(call.print);
	free(call.words);
	free(name);
	return r;
}

/* --- exit, and both raw ones: equal for every call --- */

/* Adds syscalls:sys_exit_NAME. */
static int add_exit(struct event_catalogue *c, const struct syscall_info *s, struct err *err)
{
	static const struct event_field ret = { "long", "ret", FIRST_OFFSET, 8, true };
	const struct event_field fields[] = { number_field, ret };
	const struct event_entry *entry;
	char *name = mem_printf("sys_exit_%s", s->name);
	struct event_format format = { .system = "syscalls", .name = name, .fields = fields, .n = 2,
				       .print = "\"0x%lx\", REC->ret" };
	int r = events_add_format(c, &syscalls_provider, &format, &entry, err);

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
	.name = "syscall", .can_enable = true, .everybodys = add_calls
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
