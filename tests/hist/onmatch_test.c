/* The kernel's wakeup latencies (golden/onmatch-trace.txt, onmatch-hist.txt: what Linux 6.12
 * recorded and counted of sched_waking and sched_switch) made again by the same triggers from
 * records of the same shape: each synthetic event has the kernel's fields, in its order, and the
 * histogram is the kernel's file. Of rows with as many hits the kernel's order is accidental;
 * brace's is that of their keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/synthetic.h"
#include "hist/hist.h"
#include "golden.h"

#define TRIGGER "# trigger info: "
#define EVENT "wakeup_latency: "

static const struct event_field waking_fields[] = { { "pid_t", "pid", 8, 4, true } };
static const struct event_field switch_fields[] = { { "pid_t", "next_pid", 8, 4, true },
						    { "char[16]", "next_comm", 12, 16, false } };
static const struct event_format waking = { "sched", "sched_waking", 600, waking_fields, 1, "" };
static const struct event_format switching = { "sched", "sched_switch", 601, switch_fields, 2, "" };
static struct event_entry made; /* wakeup_latency */
static struct trigger_list wakings, switches;

/* --- the tree's part ---------------------------------------------------------------------- */

static const struct event_trigger *find_trigger(void *arg, bool (*fits)(const struct event_trigger *t, const void *what),
						const void *what)
{
	for (size_t i = 0; i < wakings.at.n; i++)
		if (fits(wakings.at.at[i], what))
			return wakings.at.at[i];
	return NULL;
}

static bool event_exists(void *arg, const char *system, const char *event)
{
	return !strcmp(system, "sched");
}

static const struct event_entry *find_event(void *arg, const char *system, const char *event)
{
	static struct event_entry entries[2];

	entries[0].format = &waking;
	entries[1].format = &switching;
	if (!strcmp(system, SYNTHETIC_SYSTEM))
		return !strcmp(event, made.format->name) ? &made : NULL;
	for (size_t i = 0; i < 2; i++)
		if (!strcmp(entries[i].format->name, event))
			return &entries[i];
	return NULL;
}

static const struct trigger_context context = {
	.event_exists = event_exists, .find = find_trigger, .kinds = &hist_kinds, .find_event = find_event };

static void must_write(struct trigger_list *l, const struct event_format *e, const char *line)
{
	struct filter_fault fault;

	if (trigger_write(l, e, line, &context, &fault))
		fail_msg("%s: %s", line, fault.code ? filter_fault_sentence(&fault) : "refused");
	for (size_t i = 0; i < l->at.n; i++)
		hist_begin(l->at.at[i]);
}

/* --- records ------------------------------------------------------------------------------ */

struct moment {
	uint64_t ns;
	bool wakes;
	int32_t pid;
	char comm[16];
	FILE *to; /* what is made of it, a line each */
};

static uint64_t time_of(void *moment, const char *clock)
{
	return ((struct moment *)moment)->ns;
}

/* The fields as the kernel prints them: "lat=324 pid=1758 comm=sh". */
static bool make(void *moment, const struct event_entry *e, const uint64_t *payload, size_t words)
{
	const struct event_format *f = e->format;

	assert_ptr_equal(e, &made);
	for (size_t i = 0; i < f->n; i++) {
		const char *at = (const char *)payload + f->fields[i].offset - EVENT_COMMON_BYTES;
		uint64_t v = 0;

		assert_true((size_t)f->fields[i].offset - EVENT_COMMON_BYTES + f->fields[i].size <= 8 * words);
		memcpy(&v, at, f->fields[i].size < 8 ? f->fields[i].size : 8);
		fprintf(((struct moment *)moment)->to, "%s%s=", i ? " " : "", f->fields[i].name);
		if (synthetic_is_string(&f->fields[i]))
			fprintf(((struct moment *)moment)->to, "%.16s", at);
		else
			fprintf(((struct moment *)moment)->to, "%llu", (unsigned long long)v);
	}
	fputc('\n', ((struct moment *)moment)->to);
	return true;
}

static void count(struct moment *m)
{
	uint8_t bytes[28] = { 0 };
	struct hist_record r = { .bytes = bytes, .size = m->wakes ? 12 : 28, .comm = "", .time = time_of, .context = m,
				 .make = make };

	memcpy(bytes + 8, &m->pid, sizeof(m->pid));
	if (!m->wakes)
		memcpy(bytes + 12, m->comm, sizeof(m->comm));
	hist_count(m->wakes ? wakings.at.at[0] : switches.at.at[0], &r);
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->ns == y->ns ? y->wakes - x->wakes : x->ns < y->ns ? -1 : 1;
}

/* --- golden files ------------------------------------------------------------------------- */

static struct synthetic_command command;

/* Writes both triggers; the second as the golden file has it. */
static void set_up(const char *hist)
{
	static const char waking_line[] = "hist:keys=pid:vals=hitcount:ts0=common_timestamp.usecs:sort=hitcount:size=2048:clock=global";
	char *line = mem_strndup(strstr(hist, TRIGGER) + strlen(TRIGGER), strcspn(strstr(hist, TRIGGER) + strlen(TRIGGER), "["));
	struct err err;

	assert_int_equal(synthetic_command_parse("wakeup_latency u64 lat; pid_t pid; char comm[16]", &command, &err), 0);
	made = (struct event_entry){ .provider = &synthetic_provider, .format = command.format };
	line[strlen(line) - 1] = '\0';
	must_write(&wakings, &waking, waking_line);
	must_write(&switches, &switching, line);
	free(line);
}

static void tear_down(void)
{
	trigger_list_free(&switches);
	trigger_list_free(&wakings);
	synthetic_command_free(&command);
}

/* Each line of the trace is a thread that was woken that long ago, and runs. */
static void the_kernels_events(void **state)
{
	char *text = golden("onmatch-trace"), *hist = golden("onmatch-hist"), *got, *want, *save;
	VEC(struct moment) moments = { 0 };
	size_t n_got, n_want;
	FILE *to = mem_stream(&got, &n_got), *lines = mem_stream(&want, &n_want);

	set_up(hist);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *event = strstr(line, EVENT);
		struct moment m = { .to = to };
		unsigned long long s, us, lat;

		if (!event)
			continue;
		fprintf(lines, "%s\n", event + strlen(EVENT));
		assert_int_equal(sscanf(strrchr(line, ']') + 1, " %*s %llu.%llu:", &s, &us), 2);
		assert_int_equal(sscanf(event, EVENT "lat=%llu pid=%d comm=%15[^\n]", &lat, &m.pid, m.comm), 3);
		m.ns = (s * 1000000 + us) * 1000;
		*vec_add(&moments) = m;
		m.ns -= lat * 1000;
		m.wakes = true;
		*vec_add(&moments) = m;
	}
	assert_true(moments.n >= 2 * 15);
	qsort(moments.at, moments.n, sizeof(*moments.at), by_time);
	for (size_t i = 0; i < moments.n; i++)
		count(&moments.at[i]);
	mem_stream_close(to, &got);
	mem_stream_close(lines, &want);
	assert_string_equal(got, want);
	vec_free(&moments);
	tear_down();
	free(got);
	free(want);
	free(text);
	free(hist);
}

static int append(void *arg, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, arg);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The hit counts in their order, then all lines, sorted. The caller frees. */
static char *in_any_order(const char *text)
{
	char *copy = mem_strdup(text), *lines[64], *save, *all;
	size_t n = 0, size;
	FILE *to = mem_stream(&all, &size);

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_true(n < 64);
		if (strstr(line, "} hitcount:"))
			fprintf(to, "%s\n", strstr(line, "} hitcount:"));
		lines[n++] = line;
	}
	qsort(lines, n, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%s\n", lines[i]);
	mem_stream_close(to, &all);
	free(copy);
	return all;
}

/* Each hit of a row is one match. */
static void the_kernels_histogram(void **state)
{
	char *want = golden("onmatch-hist"), *rows = mem_strdup(want), *got, *made_text, *save, *got_lines, *want_lines;
	size_t n, n_made;
	FILE *to = mem_stream(&got, &n), *lines = mem_stream(&made_text, &n_made);
	struct moment m = { .ns = 1000000, .to = lines, .comm = "sh" };
	struct out out;
	unsigned hits;

	set_up(want);
	for (char *row = strtok_r(rows, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		if (sscanf(row, "{ next_pid: %d } hitcount: %u", &m.pid, &hits) != 2)
			continue;
		for (unsigned i = 0; i < 2 * hits; i++, m.ns += 1000) {
			m.wakes = i % 2 == 0;
			count(&m);
		}
	}
	out_init_raw(&out, append, to);
	hist_text_printer.print(NULL, &switches, &(struct hist_symbols){ 0 }, &out);
	out_flush(&out);
	out_free(&out);
	mem_stream_close(to, &got);
	mem_stream_close(lines, &made_text);
	got_lines = in_any_order(got);
	want_lines = in_any_order(want);
	assert_string_equal(got_lines, want_lines);
	assert_int_equal(strlen(got), strlen(want));
	tear_down();
	free(got_lines);
	free(want_lines);
	free(got);
	free(made_text);
	free(rows);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_events),
		cmocka_unit_test(the_kernels_histogram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
