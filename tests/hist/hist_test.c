/* Histograms of the kernel (golden/, `hist` files that Linux 6.12 printed) made again from records
 * that have the keys and values of their rows: the trigger's line, every row and the totals must
 * come out as the kernel printed them. And what the kernel's documents say of a table that is full,
 * of names, pauses and clears. The grammar is held against a real kernel in tests/oracle. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "hist/hist.h"
#include "golden.h"

/* --- an event with the fields of the golden files --------------------------------------------- */

static const struct event_field fields[] = {
	{ "pid_t", "parent_pid", 8, 4, true },
	{ "pid_t", "child_pid", 12, 4, true },
	{ "char[16]", "parent_comm", 16, 16, false },
	{ "unsigned long", "bytes_req", 32, 8, false },
	{ "unsigned long", "bytes_alloc", 40, 8, false },
	{ "unsigned long", "call_site", 48, 8, false },
	{ "long", "id", 56, 8, true },
	{ "pid_t", "next_pid", 64, 4, true },
	{ "pid_t", "prev_pid", 68, 4, true },
	{ "int", "prev_prio", 72, 4, true },
	{ "int", "next_prio", 76, 4, true },
	{ "int", "prio", 80, 4, true },
	{ "char[16]", "comm", 84, 16, false },
	{ "char[16]", "next_comm", 100, 16, false },
	{ "char[16]", "prev_comm", 116, 16, false },
	{ "char[16]", "child_comm", 132, 16, false },
	{ "const void *", "ptr", 24, 8, false },
	{ "pid_t", "pid", 148, 4, true },
	{ "u64", "lat", 152, 8, false },
};
static const struct event_format event = { "test", "test", 600, fields, sizeof(fields) / sizeof(fields[0]), "" };

struct made {
	uint8_t bytes[160];
	char comm[17];
	int cpu;
	uint64_t ns;
	const uint64_t *frames; /* of its stack; NULL: those that stack_of() makes up */
	size_t n_frames;
};

static uint64_t time_of(void *context, const char *clock)
{
	assert_string_equal(clock, "global");
	return ((struct made *)context)->ns;
}

static size_t stack_of(void *context, uint64_t *to, size_t max)
{
	const struct made *m = context;

	assert_true(max >= 2 && max >= m->n_frames);
	if (m->frames) {
		memcpy(to, m->frames, m->n_frames * sizeof(*to));
		return m->n_frames;
	}
	to[0] = 0x1000;
	to[1] = ((struct made *)context)->bytes[32] ? 0x2000 : 0x3000;
	return 2;
}

static void put_field(struct made *m, const char *name, uint64_t value)
{
	enum event_field_kind kind;
	const struct event_field *f = event_find_field(&event, name, strlen(name), &kind);

	if (kind == EVENT_CPU)
		m->cpu = (int)value;
	else
		memcpy(m->bytes + f->offset, &value, f->size);
}

static void count(struct event_trigger *t, struct made *m)
{
	struct hist_record r = { m->bytes, sizeof(m->bytes), m->cpu, m->comm, time_of, stack_of, NULL, m };

	hist_count(t, &r);
}

/* --- a trigger file, and a hist file ---------------------------------------------------------- */

static struct trigger_list other; /* another event's */

static const struct event_trigger *find_trigger(void *arg, bool (*fits)(const struct event_trigger *t, const void *what),
						const void *what)
{
	for (size_t i = 0; i < other.at.n; i++)
		if (fits(other.at.at[i], what))
			return other.at.at[i];
	return NULL;
}

static const struct trigger_context context = { .find = find_trigger, .kinds = &hist_kinds };

static int wrote(struct trigger_list *l, const char *line, struct filter_fault *fault)
{
	return trigger_write(l, &event, line, &context, fault);
}

static void must_write(struct trigger_list *l, const char *line)
{
	struct filter_fault fault;

	if (wrote(l, line, &fault))
		fail_msg("%s: %s", line, fault.code ? filter_fault_sentence(&fault) : "refused");
	for (size_t i = 0; i < l->at.n; i++)
		hist_begin(l->at.at[i]);
}

static int append(void *arg, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, arg);
	return 0;
}

static char *printed(const struct trigger_list *l, const struct hist_symbols *symbols)
{
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);
	struct out out;

	out_init_raw(&out, append, to);
	hist_text_printer.print(NULL, l, symbols, &out);
	out_flush(&out);
	out_free(&out);
	fclose(to);
	return text;
}

/* --- golden files ----------------------------------------------------------------------------- */

/* Puts a text into a field of characters; padded, as it is printed. */
static bool put_text(struct made *m, const char *name, const char *value)
{
	size_t n = strstr(value, "  ") ? (size_t)(strstr(value, "  ") - value) : strcspn(value, " ");
	enum event_field_kind kind;
	const struct event_field *f = event_find_field(&event, name, strlen(name), &kind);

	if (!f || kind != EVENT_STRING)
		return false;
	assert_true(n < f->size);
	memcpy(m->bytes + f->offset, value, n);
	return true;
}

/* "NAME: VALUE", as a key's modifier has printed it. */
static void put_key(struct made *m, const char *line, const char *name, const char *value)
{
	const char *bracket = strchr(value, '[');
	char *in_hex = mem_printf("%s.hex", name);
	int base = strstr(line, in_hex) ? 16 : 10;

	free(in_hex);
	if (put_text(m, name, value))
		return;
	if (!strcmp(name, "common_timestamp")) {
		m->ns = strtoull(value, NULL, 10) * 1000; /* .usecs */
	} else if (bracket && strcmp(name, "call_site")) { /* NAME [NUMBER] */
		if (!strcmp(name, "common_pid"))
			memcpy(m->comm, value, strcspn(value, " "));
		put_field(m, name, strtoull(bracket + 1, NULL, 10));
	} else if (bracket) /* [ADDRESS] NAME */
		put_field(m, name, strtoull(bracket + 1, NULL, 16));
	else if (!strncmp(value, "~ 2^", 4))
		put_field(m, name, UINT64_C(1) << atoi(value + 4));
	else
		put_field(m, name, strtoull(*value == '~' ? value + 2 : value, NULL, base));
}

/* "  NAME: VALUE  NAME: VALUE": calls put() with each; a value goes on to two blanks or the end. */
static void each_pair(const char *text, void (*put)(struct made *m, const char *name, const char *value), struct made *m)
{
	char name[32];
	int n;

	while (sscanf(text, " %31[a-z_]: %n", name, &n) == 1) {
		put(m, name, text + n);
		text += n + strcspn(text + n, " \t");
		text += strspn(text, " \t");
	}
}

static const char *golden_line; /* of the histogram that is made */

/* The sum of a field that is a key, too, comes by itself. */
static void put_value(struct made *m, const char *name, const char *value)
{
	const char *keys = strstr(golden_line, "keys=") + strlen("keys="), *at = strstr(keys, name);

	if (!at || at >= keys + strcspn(keys, ":"))
		put_field(m, name, strtoull(value, NULL, 10));
}

/* The state that an action kept: the tracked value, and fields. */
static void put_saved(struct made *m, const char *name, const char *value)
{
	if (!strcmp(name, "max"))
		m->ns = strtoull(value, NULL, 10) * 1000; /* since the other event, at 0 */
	else if (!strcmp(name, "changed"))
		put_field(m, "prio", strtoull(value, NULL, 10));
	else if (!put_text(m, name, value))
		put_value(m, name, value);
}

/* Bytes that the kernel's kmalloc gives for so many. */
static uint64_t allocated(uint64_t bytes)
{
	uint64_t of = 8;

	while (of < bytes)
		of *= 2;
	return bytes > 64 && bytes <= 96 ? 96 : bytes > 128 && bytes <= 192 ? 192 : of;
}

/* A row with shares of a total, which are no values: each hit has what it was allocated. */
static void put_allocated(struct made *m)
{
	enum event_field_kind kind;
	const struct event_field *f = event_find_field(&event, "bytes_req", strlen("bytes_req"), &kind);
	uint64_t bytes = 0;

	assert_true(f && f->size <= sizeof(bytes));
	memcpy(&bytes, m->bytes + f->offset, f->size);
	put_field(m, "bytes_alloc", allocated(bytes));
}

/* Makes the records of a row: the first has all of the values; its next line is what actions
 * kept. */
static void make_row(struct event_trigger *t, const char *line, char *row)
{
	struct made m = { { 0 } }, before = { { 0 } };
	char *saved = mem_strndup(row + strlen(row) + 1, strcspn(row + strlen(row) + 1, "\n"));
	char *values = strchr(row, '}'), *save, *part = values + 2;
	unsigned long hits = 1;

	golden_line = line;
	if (!strncmp(values, "} hitcount:", strlen("} hitcount:")))
		hits = strtoul(values + strlen("} hitcount:"), &part, 10);
	*values = '\0';
	for (char *key = strtok_r(row + 2, ",", &save); key; key = strtok_r(NULL, ",", &save)) {
		char *colon = strstr(key, ": ");

		*colon = '\0';
		put_key(&m, line, key + strspn(key, " "), colon + 2 + strspn(colon + 2, " "));
	}
	if (strstr(part, "bytes_alloc (%)"))
		put_allocated(&m);
	before = m;
	if (*saved == '\t')
		each_pair(saved, put_saved, &m);
	if (other.at.n)
		count(other.at.at[0], &before);
	for (unsigned long i = 0; i < hits; i++) {
		struct made first = m;

		/* Shares of a total are no values. */
		if (!i && !strchr(part, '%'))
			each_pair(part, put_value, &first);
		count(t, i ? &m : &first);
	}
	free(saved);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text: in their order only what they are sorted by, then all, sorted. */
static char *in_any_order(const char *text, bool ordered)
{
	char *copy = mem_strdup(text), *save, *lines[256], *all, *order = mem_strdup("");
	size_t n = 0;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *share = strstr(line, "bytes_alloc (%):"), *longer = order,
		     *hits = share ? share : strstr(line, "} hitcount:");

		/* Rows without a hit count are sorted by what they do not show. */
		order = ordered ? mem_printf("%s%.24s\n", order, hits ? hits : line) : mem_strdup("");
		free(longer);
		lines[n++] = line;
	}
	qsort(lines, n, sizeof(lines[0]), by_text);
	all = order;
	for (size_t i = 0; i < n; i++) {
		char *longer = mem_printf("%s%s\n", all, lines[i]);

		free(all);
		all = longer;
	}
	free(copy);
	return all;
}

/* hist_symbols.find: by the golden file's own text. */
static bool find_symbol(void *text, uint64_t address, struct hist_symbol *out)
{
	char *key = mem_printf("[%llx] ", (unsigned long long)address);
	const char *at = strstr(text, key);

	*out = (struct hist_symbol){ .size = 1 };
	/* NAME, or NAME+0xOFFSET/0xSIZE */
	if (at) {
		at += strlen(key);
		snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(at, " +"), at);
		if (at[strcspn(at, " +")] == '+')
			sscanf(at + strcspn(at, "+"), "+0x%" SCNx64 "/0x%" SCNx64, &out->offset, &out->size);
	}
	free(key);
	return at;
}

/* One histogram of a file; `want` is changed. */
static void is_section(char *want)
{
	static const char info[] = "# trigger info: ";
	/* The kernel allocated memory while it printed: one hit more than its rows have. */
	static const char *const raced[] = { "    Hits: 156\n", "    Hits: 162\n" };
	char *rows = mem_strdup(want), *line, *save, *got, *got_lines, *want_lines;
	struct trigger_list l = { 0 };
	bool ordered, whole;

	for (size_t i = 0; i < sizeof(raced) / sizeof(raced[0]); i++)
		if (strstr(want, raced[i]))
			strstr(want, raced[i])[strlen(raced[i]) - 2]--;
	line = mem_strdup(strstr(want, info) + strlen(info));
	*strstr(line, strstr(line, "[paused]") ? " [paused]" : " [active]") = '\0';
	/* what the kernel shows of buckets that are sorted by, and does not take back */
	if (strstr(line, ":sort=bytes_req.buckets=64"))
		strcpy(strstr(line, ":sort="), ":sort=bytes_req");
	/* nor of shares */
	if (strstr(line, ":sort=bytes_alloc.percent"))
		strcpy(strstr(line, ":sort="), ":sort=bytes_alloc.descending");
	ordered = !strstr(line, "nohitcount");
	if (strstr(line, "$ts0"))
		must_write(&other, "hist:keys=next_pid:ts0=common_timestamp.usecs");
	must_write(&l, line);
	if (strstr(want, "[paused]")) {
		char *paused = mem_printf("%s:pause", line);

		must_write(&l, paused);
		free(paused);
	}
	for (char *row = strtok_r(rows, "\n", &save); row; row = strtok_r(NULL, "\n", &save))
		if (*row == '{')
			make_row(l.at.at[0], line, row);
	got = printed(&l, &(struct hist_symbols){ find_symbol, want });
	/* Some files were kept without their totals. */
	whole = strstr(want, "\nTotals:\n");
	if (!whole)
		*strstr(got, "\nTotals:\n") = '\0';
	got_lines = in_any_order(got, ordered);
	want_lines = in_any_order(want, ordered);
	assert_string_equal(got_lines, want_lines);
	assert_true(!whole || strlen(got) == strlen(want));
	free(got_lines);
	free(want_lines);
	free(got);
	free(line);
	free(rows);
	trigger_list_free(&l);
	trigger_list_free(&other);
}

/* Each histogram of the file; two empty lines part them. */
static void is_golden(const char *name)
{
	static const char begin[] = "# event histogram\n";
	char *text = golden(name), *at = text, *next;

	assert_int_equal(strncmp(at, begin, strlen(begin)), 0);
	do {
		char *section;

		next = strstr(at + 1, begin);
		section = mem_strndup(at, next ? (size_t)(next - at) - 2 : strlen(at));
		is_section(section);
		free(section);
	} while ((at = next));
	free(text);
}

static void the_kernels_histograms(void **state)
{
	static const char *const names[] = { "one-key", "buckets", "log2", "string-key", "modifiers-hex-execname",
					     "raw-percent", "two-keys-vals-sort", "paused", "filter",
					     "cpu-key", "sym", "named", "nohitcount", "percent-graph", "sym-offset",
					     "syscall", "timestamp-val", "two-triggers", "variables", "expressions",
					     "onchange-save", "onchange-snapshot", "onmax-save", "small-table-drops",
					     "then-clear", "usecs", "three-keys", "wakeup_latency" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_golden(names[i]);
}

/* --- golden files: stacks, errors, what is not there ------------------------------------------ */

#define FRAMES 16u
#define APART 0x100000u /* between functions that were made up for the names of frames */

/* The frames "NAME+0xOFFSET/0xSIZE" of the file, in the order in which they came. */
struct shown_frames {
	struct { char name[64]; uint64_t offset, size; } at[FRAMES];
	size_t n;
};

/* hist_symbols.find: function number i begins at i * APART. */
static bool find_frame(void *arg, uint64_t address, struct hist_symbol *out)
{
	const struct shown_frames *f = arg;
	size_t i = address / APART;

	assert_true(i && i <= f->n);
	*out = (struct hist_symbol){ .offset = address % APART, .size = f->at[i - 1].size };
	snprintf(out->name, sizeof(out->name), "%s", f->at[i - 1].name);
	return true;
}

/* Returns the address of a frame as the file shows it. */
static uint64_t address_of(struct shown_frames *f, const char *line)
{
	size_t i = f->n++;

	assert_true(i < FRAMES);
	assert_int_equal(sscanf(line, " %63[^+]+0x%" SCNx64 "/0x%" SCNx64, f->at[i].name, &f->at[i].offset,
				&f->at[i].size), 3);
	return (i + 1) * APART + f->at[i].offset;
}

/* Each row of such a file is some lines: frames, then the hits. */
static void count_stacks(struct event_trigger *t, const char *want, struct shown_frames *shown)
{
	char *rows = mem_strdup(want), *save;
	uint64_t frames[FRAMES];
	struct made m = { .frames = frames };
	unsigned hits;

	for (char *row = strtok_r(rows, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		if (*row == '{')
			m.n_frames = 0;
		else if (strstr(row, "+0x"))
			frames[m.n_frames++] = address_of(shown, row);
		else if (sscanf(row, "} hitcount: %u", &hits) == 1)
			while (hits--)
				count(t, &m);
	}
	free(rows);
}

/* Both names of the key are shown by the newer one. */
static void the_kernels_stacks(void **state)
{
	static const struct { const char *name, *line; } files[] = {
		{ "stacktrace-key", "hist:keys=common_stacktrace" },
		{ "stacktrace-key-legacy", "hist:keys=stacktrace" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct shown_frames shown = { .n = 0 };
		struct trigger_list l = { 0 };
		char *want = golden(files[i].name), *got;

		must_write(&l, files[i].line);
		count_stacks(l.at.at[0], want, &shown);
		got = printed(&l, &(struct hist_symbols){ find_frame, &shown });
		assert_string_equal(got, want);
		free(got);
		free(want);
		trigger_list_free(&l);
	}
}

/* An event whose histogram was removed, or refused, has an empty file, and lists the kinds. */
static void the_kernel_shows_none(void **state)
{
	static const char *const refused[] = { "hist:keys=parent_pid:size=64", "hist:keys=ptr:size=16",
					       "hist:keys=common_timestamp.usecs:size=64" };
	struct trigger_list l = { 0 };
	struct filter_fault fault;
	char *want = golden("removed"), *kinds, *text;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(wrote(&l, refused[i], &fault), -EINVAL);
	must_write(&l, "hist:keys=parent_pid,child_pid,child_comm");
	assert_int_equal(wrote(&l, "!hist:keys=parent_pid,child_pid,child_comm", &fault), 0);
	kinds = trigger_read(&l, &hist_kinds);
	text = printed(&l, NULL);
	assert_string_equal(kinds, want);
	assert_string_equal(text, "");
	free(kinds);
	free(text);
	free(want);
	trigger_list_free(&l);
}

/* The golden error_log's answer to one line: its sentence, or "" where the kernel has none, and the
 * caret's column. `at` is the "# LINE"; of several sentences the first counts. */
static size_t wanted_fault(const char *at, char *sentence, size_t n)
{
	const char *head = at + strcspn(at, "\n") + 1, *caret = head;

	*sentence = '\0';
	if (*head != '[')
		return 0;
	snprintf(sentence, n, "%.*s", (int)strcspn(strstr(head, "error: ") + 7, "\n"), strstr(head, "error: ") + 7);
	for (int i = 0; i < 2; i++)
		caret += strcspn(caret, "\n") + 1;
	return strcspn(caret, "^") - strlen("  Command: ");
}

/* Lines for which the kernel has no sentence: it refuses the first two without one, and takes the
 * third. */
static bool is_silent(const char *line, int got)
{
	static const struct { const char *line; int result; } others[] = {
		{ "hist:vals=bytes_req", -EINVAL },
		{ "hist:keys=common_pid:size=banana", -EINVAL },
		{ "hist:keys=stacktrace.hex", 0 },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(line, others[i].line) && got == others[i].result)
			return true;
	return false;
}

static const struct event_entry *find_event(void *arg, const char *system, const char *name)
{
	static const struct event_entry entry = { .format = &event };

	return strcmp(name, "sched_switch") ? NULL : &entry;
}

/* Every faulty line of the kernel's error_log, in the same words and with the caret at the same
 * byte. */
static void the_kernels_errors(void **state)
{
	const struct trigger_context known = { .find = find_trigger, .kinds = &hist_kinds,
					       .find_event = find_event };
	char *log = golden("error_log"), sentence[128];
	unsigned n = 0;

	for (const char *at = log; (at = strstr(at, "# hist:")); at++, n++) {
		char *line = mem_strndup(at + 2, strcspn(at + 2, "\n"));
		size_t column = wanted_fault(at, sentence, sizeof(sentence));
		struct trigger_list l = { 0 };
		struct filter_fault fault;
		int got = trigger_write(&l, &event, line, &known, &fault);

		if (!is_silent(line, got) && (got >= 0 || !fault.code || fault.position != column ||
					     strcmp(filter_fault_sentence(&fault), sentence) != 0))
			fail_msg("%s: \"%s\" at %zu, not \"%s\" at %zu", line,
				 fault.code ? filter_fault_sentence(&fault) : "", fault.position, sentence, column);
		trigger_list_free(&l);
		free(line);
	}
	assert_int_equal(n, 26);
	free(log);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Whether the text has the line. */
static void has(const struct trigger_list *l, const char *line)
{
	char *text = printed(l, NULL);

	if (!strstr(text, line))
		fail_msg("no \"%s\" in:\n%s", line, text);
	free(text);
}

static void fill(struct event_trigger *t, unsigned keys)
{
	for (unsigned i = 0; i < keys; i++) {
		struct made m = { .ns = 1000 * i };

		put_field(&m, "bytes_req", i);
		count(t, &m);
	}
}

static void a_full_table_drops(void **state)
{
	struct trigger_list l = { 0 };

	must_write(&l, "hist:keys=bytes_req:size=128");
	fill(l.at.at[0], 200);
	fill(l.at.at[0], 100);
	hist_lose(l.at.at[0], 5);
	has(&l, "    Hits: 228\n    Entries: 128\n    Dropped: 77\n");
	trigger_list_free(&l);
}

static void pause_continue_clear(void **state)
{
	struct trigger_list l = { 0 }, before = { 0 };

	must_write(&l, "hist:keys=bytes_req");
	fill(l.at.at[0], 10);
	must_write(&l, "hist:keys=bytes_req:pause");
	fill(l.at.at[0], 10);
	has(&l, "[paused]\n#\n\n");
	has(&l, "    Hits: 10\n    Entries: 10\n");
	must_write(&l, "hist:keys=bytes_req:cont");
	fill(l.at.at[0], 20);
	has(&l, "    Hits: 30\n    Entries: 20\n");
	/* settings that hold until the records of the write come: they go on counting, and the
	 * clear is still to come */
	trigger_list_copy(&before, &l);
	assert_int_equal(trigger_write(&l, &event, "hist:keys=bytes_req:clear", &context, &(struct filter_fault){ 0 }), 0);
	fill(before.at.at[0], 5);
	has(&l, "    Hits: 35\n");
	hist_begin(l.at.at[0]);
	has(&l, "    Hits: 0\n    Entries: 0\n");
	fill(l.at.at[0], 3);
	hist_begin(l.at.at[0]);
	has(&l, "    Hits: 3\n");
	trigger_list_free(&before);
	trigger_list_free(&l);
}

static void a_name_is_one_table(void **state)
{
	struct trigger_list l = { 0 };
	struct filter_fault fault;

	must_write(&other, "hist:keys=bytes_req:name=both");
	must_write(&l, "hist:keys=bytes_req:name=both");
	assert_int_equal(wrote(&l, "hist:keys=parent_pid:name=both", &fault), -EINVAL);
	assert_int_equal(fault.position, strlen("hist:keys=parent_pid:"));
	fill(other.at.at[0], 10);
	fill(l.at.at[0], 20);
	has(&l, "    Hits: 30\n    Entries: 20\n");
	trigger_list_free(&other);
	fill(l.at.at[0], 1);
	has(&l, "    Hits: 31\n    Entries: 20\n");
	trigger_list_free(&l);
}

static void times_and_stacks(void **state)
{
	struct trigger_list l = { 0 };

	must_write(&l, "hist:keys=common_timestamp.usecs:sort=common_timestamp.descending");
	fill(l.at.at[0], 3);
	has(&l, "\n{ common_timestamp:          2 } hitcount:          1\n{ common_timestamp:          1 } hitcount:          1\n");
	trigger_list_free(&l);
	must_write(&l, "hist:keys=stacktrace");
	assert_true(l.at.at[0]->needs_stack);
	fill(l.at.at[0], 3);
	has(&l, "\n{ common_stacktrace:\n         0x1000\n         0x3000\n} hitcount:          1\n"
		"{ common_stacktrace:\n         0x1000\n         0x2000\n} hitcount:          2\n");
	trigger_list_free(&l);
}

static void names_of_system_calls(void **state)
{
	struct trigger_list l = { 0 };
	struct made m = { { 0 } };

	must_write(&l, "hist:keys=id.syscall");
	put_field(&m, "id", 1);
	count(l.at.at[0], &m);
	put_field(&m, "id", 336);
	count(l.at.at[0], &m);
	has(&l, "\n{ id: sys_write                     [  1] } hitcount:          1\n"
		"{ id: unknown_syscall               [336] } hitcount:          1\n");
	trigger_list_free(&l);
}

/* Records are the program's: what does not lie in them is 0 or empty. */
static void short_records(void **state)
{
	struct trigger_list l = { 0 };
	uint8_t bytes[8] = { 0 };
	struct hist_record r = { .bytes = bytes, .size = 8, .comm = "a" };

	must_write(&l, "hist:keys=parent_comm,bytes_req:vals=id");
	hist_count(l.at.at[0], &r);
	has(&l, ", bytes_req:          0 } hitcount:          1  id:          0\n");
	trigger_list_free(&l);
}

/* --- brace's own: percentiles, and parentheses ------------------------------------------------ */

#define VALUES 5000

static int compare_longs(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

/* The figure of the row behind " NAME: ". */
static long figure(const struct trigger_list *l, const char *name)
{
	char *text = printed(l, NULL), *label = mem_printf(" %s: ", name);
	const char *at = strstr(text, label);
	long value;

	if (!at)
		fail_msg("no %s in %s", name, text);
	value = atol(at + strlen(label));
	free(label);
	free(text);
	return value;
}

static void near_rank(const struct trigger_list *l, const char *name, const long *sorted, size_t percent)
{
	long exact = sorted[(VALUES * percent + 99) / 100 - 1], got = figure(l, name);

	if (labs(got - exact) > labs(exact) / 128)
		fail_msg("%s is %ld, not %ld", name, got, exact);
}

/* Values of both signs and of all magnitudes, against the sorted array. */
static void percentiles(void **state)
{
	static const struct { const char *name; size_t percent; } ranks[] = {
		{ "id.p50", 50 }, { "id.p90", 90 }, { "id.p95", 95 }, { "id.p99", 99 },
	};
	struct trigger_list l = { 0 };
	long values[VALUES];
	uint64_t seed = 1;

	must_write(&l, "hist:keys=parent_pid:vals=id.p50,id.max,id.p90,id,id.p95,id.p99,id.min");
	for (size_t i = 0; i < VALUES; i++) {
		struct made m = { { 0 } };

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		values[i] = (long)(seed >> (1 + seed % 50)) - (i % 3 ? 0 : 1L << (i % 40));
		put_field(&m, "id", (uint64_t)values[i]);
		count(l.at.at[0], &m);
	}
	qsort(values, VALUES, sizeof(*values), compare_longs);
	assert_true(values[0] < 0 && values[VALUES / 2] > 0);
	assert_int_equal(figure(&l, "id.min"), values[0]);
	assert_int_equal(figure(&l, "id.max"), values[VALUES - 1]);
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		near_rank(&l, ranks[i].name, values, ranks[i].percent);
	must_write(&l, "hist:keys=parent_pid:vals=id.p50,id.max,id.p90,id,id.p95,id.p99,id.min:clear");
	has(&l, "    Hits: 0\n    Entries: 0\n");
	trigger_list_free(&l);
}

static void percentiles_give_an_order(void **state)
{
	static const uint64_t rows[][2] = { { 1, 50 }, { 2, 7 }, { 1, 60 }, { 3, 90 }, { 2, 8 } };
	struct trigger_list l = { 0 };

	must_write(&l, "hist:keys=parent_pid:vals=bytes_req.max:sort=bytes_req.max.descending,parent_pid");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = { { 0 } };

		put_field(&m, "parent_pid", rows[i][0]);
		put_field(&m, "bytes_req", rows[i][1]);
		count(l.at.at[0], &m);
	}
	has(&l, ":vals=hitcount,bytes_req.max:sort=bytes_req.max.descending,parent_pid:size=2048 [active]");
	has(&l, "\n{ parent_pid:          3 } hitcount:          1  bytes_req.max:         90\n"
		"{ parent_pid:          1 } hitcount:          2  bytes_req.max:         60\n"
		"{ parent_pid:          2 } hitcount:          2  bytes_req.max:          8\n");
	trigger_list_free(&l);
}

static void parentheses(void **state)
{
	static const struct { const char *line; size_t position; } refused[] = {
		{ "hist:keys=bytes_req.p50", 20 },    { "hist:keys=bytes_req:x=bytes_req.max", 32 },
		{ "hist:keys=bytes_req:vals=bytes_req.max+1", 35 }, { "hist:keys=(bytes_req", 10 },
		{ "hist:keys=(bytes_req)x", 10 },     { "hist:keys=()", 10 },
		{ "hist:keys=bytes_req:vals=hitcount,hitcount.p50", 34 }, { "hist:keys=(parent_comm)", 11 },
		{ "hist:keys=((((((((((bytes_req))))))))))", 18 },
	};
	struct trigger_list l = { 0 };
	struct filter_fault fault;
	struct made m = { { 0 } };

	must_write(&l, "hist:keys=(bytes_req-bytes_alloc)*3,(bytes_req/8).buckets=100:vals=(bytes_req+1).max");
	put_field(&m, "bytes_req", 1700);
	put_field(&m, "bytes_alloc", 1600);
	count(l.at.at[0], &m);
	has(&l, "hist:keys=(bytes_req-bytes_alloc)*3,(bytes_req/8).buckets=100:vals=hitcount,(bytes_req+1).max:sort=");
	has(&l, "\n{ (bytes_req-bytes_alloc)*3:        300, (bytes_req/8): ~ 200-299 } hitcount:          1  "
		"(bytes_req+1).max:       1701\n");
	trigger_list_free(&l);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(wrote(&l, refused[i].line, &fault), -EINVAL);
		if (fault.position != refused[i].position)
			fail_msg("%s: column %zu", refused[i].line, fault.position);
	}
	trigger_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_histograms), cmocka_unit_test(the_kernels_stacks),
		cmocka_unit_test(the_kernel_shows_none),  cmocka_unit_test(the_kernels_errors),
		cmocka_unit_test(a_full_table_drops),
		cmocka_unit_test(pause_continue_clear),	  cmocka_unit_test(a_name_is_one_table),
		cmocka_unit_test(times_and_stacks),	  cmocka_unit_test(short_records),
		cmocka_unit_test(names_of_system_calls),  cmocka_unit_test(percentiles),
		cmocka_unit_test(percentiles_give_an_order), cmocka_unit_test(parentheses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
