/* SPDX-License-Identifier: MIT */
/* Any lines as writes to a trigger file: each is refused and changes nothing, or stands in the
 * list, whose own lines can be written to another event and show the same there. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "event/outside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct event_field fields[] = { { "int", "a", 8, 4, true }, { "char[8]", "s", 12, 8, false } };
static const struct event_format event = { "fuzz", "fuzz", 1, fields, 2, "" };

static bool exists(void *arg, const char *system, const char *name)
{
	return *system == 's' && *name == 'e';
}

static const struct trigger_context context = { .event_exists = exists };

static void write_line(struct trigger_list *l, const char *line)
{
	char *before = trigger_read(l, NULL), *after;
	struct filter_fault fault;
	int r = trigger_write(l, &event, line, &context, &fault);

	after = trigger_read(l, NULL);
	if (r < 0 && strcmp(before, after))
		abort();
	if (r < 0 && fault.code && (fault.text < line || fault.text + fault.length > line + strlen(line)))
		abort();
	free(before);
	free(after);
}

/* A line that gives the trigger; free() it. */
static char *written(const struct event_trigger *t)
{
	unsigned long n = atomic_load_explicit(&t->count, memory_order_relaxed);
	bool reaches_out = t->kind->action == TRIGGER_NOTIFY || t->kind->action == TRIGGER_EXEC;
	char *count = reaches_out && n == TRIGGER_UNLIMITED ? mem_strdup("") : mem_printf(":%lu", n), *line;

	line = reaches_out ? mem_printf("%s:%s%s%s%s", t->kind->name, ((const struct outside *)t->own)->to, count,
					t->filter ? " if " : "", t->filter ? t->filter : "")
			   : mem_printf("%s%s%s%s%s%s%s%s", t->kind->name, t->system ? ":" : "", t->system ? t->system : "",
					t->event ? ":" : "", t->event ? t->event : "", count, t->filter ? " if " : "",
					t->filter ? t->filter : "");
	free(count);
	return line;
}

/* Writes the shown lines again, from the oldest on, with "count=" and "unlimited" taken back to
 * the written form. */
static void again(const struct trigger_list *l)
{
	struct trigger_list other = { 0 };
	char *want = trigger_read(l, NULL), *got;

	for (size_t i = 0; i < l->at.n; i++) {
		char *line = written(l->at.at[i]);

		write_line(&other, line);
		free(line);
	}
	got = trigger_read(&other, NULL);
	if (strcmp(got, want))
		abort();
	free(got);
	free(want);
	trigger_list_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = mem_strndup((const char *)data, n), *save, *line;
	struct trigger_list l = { 0 };

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		write_line(&l, line);
	again(&l);
	trigger_list_free(&l);
	free(text);
	return 0;
}
