/* SPDX-License-Identifier: MIT */
/* The `filter` files of events and systems: writing compiles, and an error stays in the file to be
 * read, as in ftrace. Functions on a struct event_filter, which is its owner's; no state. Errors
 * are faults with a position, for error_log. event_set_files.c calls it on the thread that
 * writes or reads the file. */
#include "event/filter.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"

static const char system_text[] =
	"### global filter ###\n"
	"# Use this to set filters for multiple events.\n"
	"# Only events with the given fields will be affected.\n"
	"# If no events are modified, an error message will be displayed here\n";

/* Length without the blanks at the end. Those at the beginning stay, as in ftrace. */
static size_t length_of(const char *text)
{
	size_t n = strlen(text);

	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	return n;
}

/* True for "0", perhaps after blanks, which removes the filter. */
static bool takes_away(const char *text, size_t n)
{
	return n && text[n - 1] == '0' && strspn(text, " \t\n\v\f\r") == n - 1;
}

/* Replaces text and program; takes both over. */
static void replace_program(struct event_filter *f, char *text, struct filter_program *program)
{
	event_filter_free(f);
	f->text = text;
	f->program = program;
}

void event_filter_free(struct event_filter *f)
{
	free(f->text);
	free(f->program);
	*f = (struct event_filter){ 0 };
}

/* 0, or -errno and *fault. The kernel keeps a refused filter's text, with the caret below it, and
 * filters nothing: so does this. */
int event_filter_write(struct event_filter *f, const struct event_format *e, const char *text,
		       const struct filter_context *c, struct filter_fault *fault)
{
	struct filter_program *program;
	size_t n = length_of(text);
	int r;

	*fault = (struct filter_fault){ 0 };
	if (strlen(text) >= FILTER_TEXT_MAX)
		return -EINVAL;
	if (takes_away(text, n)) {
		event_filter_free(f);
		return 0;
	}
	r = filter_compile(e, text, n, c, &program, fault);
	/* A refused filter filters nothing: its text is shown with the error, and there is no
	 * program. */
	if (r < 0)
		replace_program(f, filter_fault_shown(fault), NULL);
	else
		replace_program(f, mem_strndup(text, n), program);
	return r;
}

/* For free(), with its newline. */
char *event_filter_read(const struct event_filter *f)
{
	return mem_printf("%s\n", f->text ? f->text : "none");
}

/* Each member gets the filter, if it has the fields. *faults: how many do not; 0 is returned all
 * the same if the system has any members, as by the kernel. */
int event_filter_write_system(struct event_filter *system,
			      const struct event_filter_member *members, size_t n_members,
			      const char *text, const struct filter_context *c,
			      struct filter_fault *fault, unsigned *faults)
{
	struct filter_fault of_member;
	size_t n = length_of(text);

	*faults = 0;
	*fault = (struct filter_fault){ 0 };
	if (strlen(text) >= FILTER_TEXT_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n_members; i++) {
		if (event_filter_write(members[i].filter, members[i].event, text, c, &of_member) ==
		    0)
			continue;
		*fault = of_member;
		filter_fault_set(fault, FILTER_BAD_SUBSYSTEM, EINVAL, 0);
		replace_program(members[i].filter, filter_fault_shown(fault), NULL);
		++*faults;
	}
	if (n_members || takes_away(text, n)) {
		event_filter_free(system);
		return 0;
	}
	*fault = (struct filter_fault){ .text = text, .length = n };
	filter_fault_set(fault, FILTER_BAD_SUBSYSTEM, EINVAL, 0);
	++*faults;
	replace_program(system, filter_fault_shown(fault), NULL);
	return -EINVAL;
}

char *event_filter_read_system(const struct event_filter *system)
{
	return system->text ? mem_printf("%s\n", system->text) : mem_strdup(system_text);
}
