/* SPDX-License-Identifier: MIT */
/* A program over libbrace, as anybody would write one: figures of a trace as JSON, an object a
 * line. tests/run/library.sh compares them with what brace itself prints. */
#include <brace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void die(const char *what)
{
	size_t column;
	const char *input = brace_error_input(&column);

	fprintf(stderr, "%s: %s", what, brace_error());
	if (*input)
		fprintf(stderr, " [%s:%zu]", input, column);
	fputc('\n', stderr);
	exit(1);
}

static void put_text(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	putchar('"');
}

static void put_rows(struct brace_rows *rows)
{
	int r;

	while ((r = brace_rows_next(rows)) > 0) {
		for (unsigned c = 0; c < brace_rows_count(rows); c++) {
			printf(c ? "," : "{");
			put_text(brace_rows_name(rows, c));
			putchar(':');
			switch (brace_rows_type(rows, c)) {
			case BRACE_TYPE_NULL:
				printf("null");
				break;
			case BRACE_TYPE_INT:
				printf("%lld", (long long)brace_rows_int(rows, c));
				break;
			case BRACE_TYPE_REAL:
				printf("%.17g", brace_rows_real(rows, c));
				break;
			case BRACE_TYPE_TEXT:
				put_text(brace_rows_text(rows, c));
				break;
			}
		}
		printf("}\n");
	}
	if (r < 0)
		die("rows");
	brace_rows_close(rows);
}

static void put_info(struct brace_trace *t)
{
	const struct brace_info *i = brace_trace_info(t);

	printf("{\"command\":");
	put_text(i->command);
	printf(",\"records\":%llu,\"calls\":%llu,\"lost\":%llu,\"cpus\":%u,\"cut\":%d,\"bytes\":%llu,"
	       "\"created_ns\":%llu}\n",
	       (unsigned long long)i->records, (unsigned long long)i->calls, (unsigned long long)i->lost,
	       i->cpus, i->cut, (unsigned long long)i->bytes, (unsigned long long)i->created_ns);
	for (uint32_t k = 0; k < brace_trace_setting_count(t); k++) {
		printf("{\"file\":");
		put_text(brace_trace_setting(t, k)->file);
		printf(",\"text\":");
		put_text(brace_trace_setting(t, k)->text);
		printf("}\n");
	}
	for (uint32_t k = 0; k < brace_trace_thread_count(t); k++) {
		const struct brace_thread *x = brace_trace_thread(t, k);

		printf("{\"utid\":%u,\"tid\":%u,\"upid\":%u,\"pid\":%u,\"name\":", k, x->tid, x->process,
		       brace_trace_process(t, x->process)->pid);
		put_text(x->name);
		printf(",\"start_ts\":%llu,\"records\":%llu,\"lost\":%llu}\n", (unsigned long long)x->begin,
		       (unsigned long long)x->records, (unsigned long long)x->lost);
	}
}

/* --- sums over calls ----------------------------------------------------------------- */

struct sum { uint64_t calls, ended, duration, self; };

static void add(struct sum *s, unsigned kind, uint64_t duration, uint64_t self)
{
	s->calls += kind == BRACE_CALL_ENTER || kind == BRACE_CALL_ONLY || kind == BRACE_CALL_WHOLE;
	if (kind != BRACE_CALL_LEAVE && kind != BRACE_CALL_WHOLE)
		return;
	s->ended++;
	s->duration += duration;
	s->self += self;
}

static void put_sums(struct brace_trace *t, const struct sum *sums)
{
	for (uint32_t i = 0; i < brace_trace_function_count(t); i++) {
		if (!sums[i].calls && !sums[i].ended)
			continue;
		printf("{\"name\":");
		put_text(brace_trace_function(t, i)->name);
		printf(",\"module\":");
		put_text(brace_trace_function(t, i)->file);
		printf(",\"calls\":%llu,\"ended\":%llu,\"dur\":%llu,\"self\":%llu}\n",
		       (unsigned long long)sums[i].calls, (unsigned long long)sums[i].ended,
		       (unsigned long long)sums[i].duration, (unsigned long long)sums[i].self);
	}
}

static void sum_calls(struct brace_trace *t, const struct brace_part *part)
{
	struct sum *sums = calloc(brace_trace_function_count(t), sizeof(*sums));
	const struct brace_call *call;
	struct brace_calls *calls;
	int r;

	if (brace_calls_open(t, part, &calls))
		die("calls");
	while ((r = brace_calls_next(calls, &call)) > 0)
		if (call->kind != BRACE_CALL_EVENT)
			add(&sums[call->function], call->kind, call->duration, call->self);
	if (r < 0)
		die("calls");
	brace_calls_close(calls);
	put_sums(t, sums);
	free(sums);
}

#define ROWS 4096
static void sum_columns(struct brace_trace *t, const struct brace_part *part)
{
	static uint64_t duration[ROWS], self[ROWS];
	static uint32_t function[ROWS];
	static uint8_t kind[ROWS];
	struct brace_columns to = { .size = sizeof(to), .duration = duration, .self = self,
				    .function = function, .kind = kind };
	struct sum *sums = calloc(brace_trace_function_count(t), sizeof(*sums));
	struct brace_calls *calls;
	ssize_t n;

	if (brace_calls_open(t, part, &calls))
		die("columns");
	while ((n = brace_calls_columns(calls, &to, ROWS)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (kind[i] != BRACE_CALL_EVENT)
				add(&sums[function[i]], kind[i], duration[i], self[i]);
	if (n < 0)
		die("columns");
	brace_calls_close(calls);
	put_sums(t, sums);
	free(sums);
}

/* --- each call, each event ----------------------------------------------------------- */

/* A line for each call that ended, in the order of the ends. */
static void put_calls(struct brace_trace *t, const struct brace_part *part)
{
	const struct brace_call *call;
	struct brace_calls *calls;
	int r;

	if (brace_calls_open(t, part, &calls))
		die("calls");
	while ((r = brace_calls_next(calls, &call)) > 0) {
		if (call->kind != BRACE_CALL_LEAVE && call->kind != BRACE_CALL_WHOLE)
			continue;
		printf("{\"ts\":%llu,\"dur\":%llu,\"self\":%llu,\"depth\":%u,\"utid\":%u,\"cpu\":%u,\"name\":",
		       (unsigned long long)call->time, (unsigned long long)call->duration,
		       (unsigned long long)call->self, call->depth, call->thread, call->cpu);
		put_text(brace_trace_function(t, call->function)->name);
		printf("}\n");
	}
	if (r < 0)
		die("calls");
	brace_calls_close(calls);
}

static void put_events(struct brace_trace *t, const struct brace_part *part)
{
	const struct brace_call *call;
	struct brace_calls *calls;
	int r;

	if (brace_calls_open(t, part, &calls))
		die("events");
	while ((r = brace_calls_next(calls, &call)) > 0) {
		const struct brace_event *e = brace_trace_event(t, call->event);

		if (call->kind != BRACE_CALL_EVENT)
			continue;
		printf("{\"ts\":%llu,\"utid\":%u,\"cpu\":%u,\"system\":", (unsigned long long)call->time,
		       call->thread, call->cpu);
		put_text(e->system);
		printf(",\"name\":");
		put_text(e->name);
		printf(",\"fields\":{");
		for (uint32_t i = 0; i < e->fields; i++) {
			const struct brace_field *f = brace_trace_field(t, call->event, i);
			const struct brace_value *v = brace_calls_field(calls, i);

			if (brace_calls_find(calls, f->name) < 0)
				die(f->name);
			printf(i ? "," : "");
			put_text(f->name);
			putchar(':');
			if (v->type == BRACE_TYPE_TEXT)
				put_text(v->text);
			else if (v->type == BRACE_TYPE_INT)
				printf("%lld", (long long)v->number);
			else
				printf("null");
		}
		printf("},\"line\":");
		put_text(brace_calls_line(calls));
		printf("}\n");
	}
	if (r < 0)
		die("events");
	brace_calls_close(calls);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Steps a second, one by one and as columns: for docs/library.md. */
static void put_speed(struct brace_trace *t)
{
	static uint64_t a[ROWS], b[ROWS], c[ROWS];
	static uint32_t d[ROWS], e[ROWS], f[ROWS];
	static uint8_t g[ROWS];
	struct brace_columns to = { .size = sizeof(to), .time = a, .duration = b, .self = c, .thread = d,
				    .function = e, .depth = f, .kind = g };
	const struct brace_call *call;
	struct brace_calls *calls;
	double begin = seconds();
	uint64_t steps = 0, sum = 0;
	ssize_t n;

	if (brace_calls_open(t, NULL, &calls))
		die("speed");
	for (; brace_calls_next(calls, &call) > 0; steps++)
		sum += call->self;
	brace_calls_close(calls);
	printf("next: %.1f M steps/s of %.1f M (%llu)\n", (double)steps / (seconds() - begin) / 1e6,
	       (double)steps / 1e6, (unsigned long long)sum);
	begin = seconds();
	steps = 0;
	if (brace_calls_open(t, NULL, &calls))
		die("speed");
	while ((n = brace_calls_columns(calls, &to, ROWS)) > 0)
		steps += (uint64_t)n;
	brace_calls_close(calls);
	printf("columns: %.1f M steps/s\n", (double)steps / (seconds() - begin) / 1e6);
}

int main(int argc, char **argv)
{
	struct brace_part part = { .size = sizeof(part), .options = NULL, .kinds = 0 };
	const char *what = argc > 2 ? argv[1] : "";
	struct brace_trace *t;
	struct brace_rows *rows;

	if (argc < 3) {
		fprintf(stderr, "usage: figures WHAT FILE [ARGUMENT...]\n");
		return 2;
	}
	if (brace_trace_open(argv[2], &t))
		die("open");
	if (argc > 3)
		part.options = (const char *const *)argv + 3;
	if (!strcmp(what, "info")) {
		put_info(t);
	} else if (!strcmp(what, "sums")) {
		sum_calls(t, &part);
	} else if (!strcmp(what, "columns")) {
		sum_columns(t, &part);
	} else if (!strcmp(what, "calls")) {
		put_calls(t, &part);
	} else if (!strcmp(what, "events")) {
		put_events(t, &part);
	} else if (!strcmp(what, "speed")) {
		put_speed(t);
	} else if (!strcmp(what, "report")) {
		if (brace_report_open(t, &part, NULL, &rows))
			die("report");
		put_rows(rows);
	} else {
		struct brace_query *q;

		if (brace_query_open(t, &q) || brace_query_run(q, argv[3], &rows))
			die("query");
		/* In any order. */
		brace_query_close(q);
		brace_trace_close(t);
		t = NULL;
		put_rows(rows);
	}
	brace_trace_close(t);
	return 0;
}
