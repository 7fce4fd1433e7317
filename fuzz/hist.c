/* SPDX-License-Identifier: MIT */
/* Any lines as writes of histograms: each is refused with a sentence that points into it and
 * changes nothing, or stands in the list and shows a line that is a histogram again; then any bytes
 * as records, which are counted and printed. Each line is also taken as a question of brace hist:
 * it is refused with a column in it, or its trigger is written, too. */
#include <stdlib.h>
#include <string.h>

#include "event/catalogue.h"
#include "event/synthetic.h"
#include "hist/hist.h"
#include "hist/question.h"
#include "shared/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct event_field fields[] = {
	{ "int", "a", 8, 4, true },	      { "char[8]", "s", 12, 8, false },
	{ "__data_loc char[]", "d", 20, 4, false }, { "__rel_loc char[]", "r", 24, 4, false },
	{ "unsigned long", "l", 32, 8, false },    { "unsigned long[6]", "array", 40, 48, false },
};
#define PRINT "\"%d\", REC->a"
static const struct event_field others[] = { { "int", "a", 8, 4, true }, { "char[8]", "s", 12, 8, true }, { "u64", "v", 24, 8, false } };
static const struct event_format formats[] = { { "fuzz", "fuzz", 0, fields, 6, PRINT }, { "fuzz", "other", 0, others, 3, PRINT } };
#define EVENTS (sizeof(formats) / sizeof(formats[0]))

/* Events that a line is written to: @ at its begin means the second. */
static struct event_catalogue *events;
static const struct event_provider provider = { .name = "fuzz", .can_enable = true };
static const struct event_entry *own[EVENTS];
static struct trigger_list lists[EVENTS];

/* trigger_context.find */
static const struct event_trigger *find(void *arg, bool (*fits)(const struct event_trigger *t, const void *what),
					const void *what)
{
	for (size_t k = 0; k < EVENTS; k++)
		for (size_t i = 0; i < lists[k].at.n; i++)
			if (fits(lists[k].at.at[i], what))
				return lists[k].at.at[i];
	return NULL;
}

static const struct event_entry *find_event(void *arg, const char *system, const char *name)
{
	return events_find(events, system, name);
}

static const struct trigger_context context = { .kinds = &hist_kinds, .find = find, .find_event = find_event };

/* The synthetic events that actions may name. */
static void define_all(void)
{
	static const char *const lines[] = { "lat u64 lat; int a; char s[8]", "dyn char d[]; unsigned long st[]; u64 v",
					     "one u64 v", "small u8 v; char s[]" };
	const struct event_entry *entry;
	struct synthetic_command c;
	struct err err;

	events = events_new();
	for (size_t i = 0; i < EVENTS; i++)
		if (events_define(events, &provider, &formats[i], &own[i], &err) < 0)
			abort();
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (synthetic_command_parse(lines[i], &c, &err) < 0 ||
		    events_define(events, &synthetic_provider, c.format, &entry, &err) < 0)
			abort();
		synthetic_command_free(&c);
	}
}

static bool make(void *record, const struct event_entry *e, const uint64_t *payload, size_t words)
{
	uint64_t sum = 0;

	if (words > RECORD_PAYLOAD_MAX || 8 * words + EVENT_COMMON_BYTES < event_record_bytes(e->format))
		abort();
	for (size_t i = 0; i < words; i++)
		sum += payload[i];
	return sum % 5;
}

static void snapshot(void *record)
{
}

static uint64_t time_of(void *record, const char *clock)
{
	return *clock ? 123456789 : 0;
}

static size_t stack_of(void *record, uint64_t *to, size_t max)
{
	for (size_t i = 0; i < max; i++)
		to[i] = i;
	return max;
}

static void write_line(const char *line)
{
	size_t to = *line == '@';
	struct trigger_list *l = &lists[to];
	char *before = trigger_read(l, &hist_kinds), *after;
	struct filter_fault fault;
	int r;

	line += to;
	r = trigger_write(l, own[to]->format, line, &context, &fault);
	after = trigger_read(l, &hist_kinds);
	if (r < 0 && strcmp(before, after))
		abort();
	if (r < 0 && fault.code &&
	    (fault.text < line || fault.text + fault.length > line + strlen(line) || !filter_fault_sentence(&fault)))
		abort();
	free(before);
	free(after);
}

static void ask_line(const char *line)
{
	struct hist_question q;
	struct err err;

	if (hist_question_parse(line, &q, &err) < 0) {
		if (!*err.text || err.column > strlen(line))
			abort();
		return;
	}
	if (q.at + q.n > strlen(line) || strncmp(q.trigger, "hist:keys=", 10))
		abort();
	hist_question_rename(&q, "s", 1, "a");
	write_line(q.trigger);
	hist_question_free(&q);
}

/* Counts the bytes as records of 16 to 79 bytes. */
static void count_all(struct trigger_list *l, const uint8_t *data, size_t n)
{
	for (size_t at = 0; at < n; at += 16) {
		uint32_t size = n - at < 79 ? (uint32_t)(n - at) : 79;
		struct hist_record r = { data + at, size, 1, "fuzz", time_of, stack_of, NULL, NULL, make, snapshot };

		for (size_t i = 0; i < l->at.n; i++) {
			if (!hist_is(l->at.at[i]))
				continue;
			hist_begin(l->at.at[i]);
			hist_count(l->at.at[i], &r);
		}
	}
}

static int drop_text(void *arg, const char *bytes, size_t n)
{
	*(size_t *)arg += n;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = mem_strndup((const char *)data, n), *save, *line;
	size_t printed = 0;
	struct out out;

	if (!events)
		define_all();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		write_line(line);
		ask_line(line);
	}
	out_init_raw(&out, drop_text, &printed);
	/* The second event first: its variables are those that lines of the first one read. */
	for (size_t i = EVENTS; i-- > 0;)
		count_all(&lists[i], data, n);
	for (size_t i = 0; i < EVENTS; i++) {
		hist_text_printer.print(NULL, &lists[i], NULL, &out);
		hist_json_printer.print(NULL, &lists[i], NULL, &out);
		hist_debug_printer.print(NULL, &lists[i], NULL, &out);
		trigger_list_free(&lists[i]);
		lists[i] = (struct trigger_list){ 0 };
	}
	out_flush(&out);
	out_free(&out);
	free(text);
	return 0;
}
