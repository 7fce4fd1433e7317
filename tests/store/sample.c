#include "cmocka_all.h"
#include "sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/record.h"
#include "trace/unpack.h"

uint64_t sample_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void add_image(struct trace_info *info, uint32_t pid, size_t sites)
{
	struct trace_image image = { .pid = pid, .tsc = pid * 1000 };

	image.exe = mem_printf("/usr/bin/program-%u", pid);
	image.cmdline = mem_printf("program-%u --flag 'a b'", pid);
	for (size_t i = 0; i < sites; i++)
		*vec_add(&image.sites) = i > 30 ? 0x555555554000u + i * 0x35 : 0;
	*vec_add(&info->images) = image;
}

static void add_module(struct trace_info *info, uint32_t image, uint32_t first_id, size_t functions)
{
	struct trace_module m = { .image = image, .base = 0x7f0000000000, .start = 0x7f0000001000,
				  .end = 0x7f0000101000, .from_tsc = 5, .first_id = first_id };
	char name[32];

	m.path = mem_printf("/usr/lib/lib%u.so.6", first_id);
	m.name = mem_printf("lib%u.so.6", first_id);
	m.build_id_len = sizeof(m.build_id);
	memset(m.build_id, (int)first_id | 0x80, sizeof(m.build_id));
	*vec_add(&m.strings) = 0;
	for (size_t i = 0; i < functions; i++) {
		struct trace_function f = { .vaddr = 0x1000 + i * 48, .size = (uint32_t)i % 48,
					    .hook = (uint8_t)(i % 7), .reason = (uint8_t)(i % 5),
					    .flags = (uint8_t)(i % 4) };

		if (i % 3) {
			f.name = (uint32_t)m.strings.n;
			snprintf(name, sizeof(name), "function_%zu", i);
			for (const char *c = name; c == name || c[-1]; c++)
				*vec_add(&m.strings) = *c;
		}
		f.library = f.flags & TRACE_FUNCTION_PLT ? f.name : 0;
		*vec_add(&m.functions) = f;
	}
	*vec_add(&info->modules) = m;
}

static void add_threads(struct sample *s, uint32_t threads, uint64_t first_tsc)
{
	for (uint32_t i = 0; i < threads; i++) {
		struct trace_thread t = { .pid = 100, .tid = 100 + i, .image = i % 2,
					  .tsc = first_tsc };

		snprintf(t.comm, sizeof(t.comm), "t-%u", i);
		*vec_add(&s->info->threads) = t;
		*vec_add(&s->threads) = (struct sample_thread){ .tsc = first_tsc };
	}
}

/* The file gets a directory of its own in the temporary one. */
static void choose_path(struct sample *s)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(s->path, sizeof(s->path), "%s/brace-store.XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");

	assert_true(n > 0 && (size_t)n + sizeof("/trace") <= sizeof(s->path));
	assert_non_null(mkdtemp(s->path));
	strcat(s->path, "/trace");
}

void sample_begin(struct sample *s, uint32_t threads, uint64_t seed, uint64_t first_tsc)
{
	struct trace_info *info = trace_info_new();
	struct err err;

	*s = (struct sample){ .info = info, .random = seed };
	info->host = mem_strdup("host");
	info->kernel = mem_strdup("6.1.0");
	info->cpu = mem_strdup("A processor @ 2.00GHz");
	info->cmdline = mem_strdup("brace record -- program");
	info->version = mem_strdup("0.1.0");
	info->tracer = mem_strdup("function_graph");
	info->cpus = 2;
	info->thresh_ns = 1234567;
	info->cost = (struct trace_cost){ 20000, 44000 };
	info->run = (struct trace_run){ mem_strdup("brace record -- program"), .timed = true, .elapsed_ns = 3 };
	*vec_add(&info->settings) = (struct trace_setting){ mem_strdup("max_graph_depth"), mem_strdup("0"), false };
	*vec_add(&info->settings) = (struct trace_setting){ mem_strdup("set_ftrace_filter"), mem_strdup("a\nb"), true };
	info->clock = (struct trace_clock){ 2000000000, 77, 88, UINT64_MAX, "cpuid" };
	add_image(info, 100, 3000);
	add_image(info, 200, 2);
	add_module(info, 0, 1, 1000);
	add_module(info, 0, 1001, 40);
	add_module(info, 1, 1, 0);
	add_threads(s, threads, first_tsc);
	choose_path(s);
	if (store_create(s->path, info, &s->writer, &err))
		fail_msg("%s", err.text);
}

/* The words and the expected event of one record. */
struct made {
	uint64_t *words;
	size_t n;
};

static uint64_t *put(struct made *m, const struct sample_thread *t, uint32_t id, enum record_kind kind)
{
	m->words[m->n++] = record_word(t->tsc, id, kind);
	return &m->words[m->n];
}

static struct event *expect(struct sample *s, uint32_t thread, enum event_kind kind)
{
	struct sample_thread *t = &s->threads.at[thread];
	struct event *e = vec_add(&s->expect);

	*e = (struct event){ .tsc = t->tsc, .thread = thread, .cpu = t->cpu, .kind = (uint8_t)kind };
	return e;
}

static void make_entry(struct sample *s, uint32_t thread, struct made *m, uint32_t fn)
{
	struct sample_thread *t = &s->threads.at[thread];

	put(m, t, fn, RECORD_ENTRY);
	expect(s, thread, EVENT_ENTRY)->fn = fn;
	*vec_add(&t->open) = fn;
}

static void make_exit(struct sample *s, uint32_t thread, struct made *m)
{
	struct sample_thread *t = &s->threads.at[thread];
	uint32_t fn = t->open.at[--t->open.n], parent = t->open.n ? t->open.at[t->open.n - 1] : 0;
	uint32_t site = (fn * 31 + parent) & (RECORD_EXIT_FLOAT - 1);

	put(m, t, site, RECORD_EXIT);
	expect(s, thread, EVENT_EXIT)->site = site;
}

static void make_graph(struct sample *s, uint32_t thread, struct made *m)
{
	struct sample_thread *t = &s->threads.at[thread];
	uint64_t r = sample_random(&s->random);

	t->tsc += 20 + r % 64 + (r % 97 ? 0 : r >> 40);
	if (t->open.n && (r >> 32 & 3 || t->open.n > 40))
		make_exit(s, thread, m);
	else
		make_entry(s, thread, m, 1 + (uint32_t)(r >> 48) % 50);
}

static const uint64_t extremes[] = { 0, 1, 255, 256, UINT32_MAX, UINT32_MAX + UINT64_C(1),
				     UINT64_C(1) << 39, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX };

static uint64_t extreme(struct sample *s)
{
	return extremes[sample_random(&s->random) % (sizeof(extremes) / sizeof(extremes[0]))];
}

static void payload(struct made *m, uint64_t word)
{
	m->words[m->n++] = word;
}

/* The return of a string of up to 8 bytes, or of one that could not be read, or that is said to be
 * longer than its record. */
static void make_text_exit(struct sample *s, uint32_t thread, struct made *m, uint64_t v, uint64_t w)
{
	uint64_t text = v % 12;
	struct event *e;

	put(m, &s->threads.at[thread], record_event_id(3, RECORD_EVENT_EXIT), RECORD_EVENT);
	payload(m, (RECORD_EXIT_FLOAT - 1) | text << 32);
	payload(m, w);
	payload(m, v);
	e = expect(s, thread, EVENT_EXIT);
	e->site = RECORD_EXIT_FLOAT - 1;
	e->flags = text <= 9 ? EVENT_VALUE | EVENT_TEXT : EVENT_VALUE;
	e->count = text <= 9 ? text : 0;
	e->value = w;
}

static void make_wild(struct sample *s, uint32_t thread, struct made *m)
{
	struct sample_thread *t = &s->threads.at[thread];
	uint64_t r = sample_random(&s->random), v = extreme(s), w = extreme(s);
	struct event *e;

	switch (r % 10) {
	case 0:
		put(m, t, RECORD_ID_MAX, RECORD_TAIL);
		expect(s, thread, EVENT_TAIL)->fn = RECORD_ID_MAX;
		break;
	case 1:
		if (r & 2048) {
			make_text_exit(s, thread, m, v, w);
			break;
		}
		put(m, t, (r & 512 ? 0 : RECORD_EXIT_FLOAT - 1) | (r & 1024 ? RECORD_EXIT_VALUE | (r & 4096 ? RECORD_EXIT_FLOAT : 0) : 0),
		    RECORD_EXIT);
		if (r & 1024)
			payload(m, w);
		e = expect(s, thread, EVENT_EXIT);
		e->site = r & 512 ? 0 : RECORD_EXIT_FLOAT - 1;
		e->flags = r & 1024 ? EVENT_VALUE | (r & 4096 ? EVENT_FLOAT : 0) : 0;
		e->value = r & 1024 ? w : 0;
		break;
	case 2:
	case 3:
		put(m, t, record_event_id(1, r % 2 ? RECORD_EVENT_CALL : RECORD_EVENT_ENTRY_ONLY), RECORD_EVENT);
		payload(m, v);
		e = expect(s, thread, r % 2 ? EVENT_CALL : EVENT_ENTRY_ONLY);
		e->fn = (uint32_t)v;
		e->site = (uint32_t)(v >> 32);
		break;
	case 4:
		put(m, t, record_event_id(r & 2048 ? 3 : 2, RECORD_EVENT_SPAN), RECORD_EVENT);
		payload(m, v);
		payload(m, r & 1024 ? w : t->tsc - (r & 0xffff));
		e = expect(s, thread, EVENT_SPAN);
		e->begin = m->words[m->n - 1];
		if (r & 2048) {
			payload(m, w);
			e->flags = EVENT_VALUE;
			e->value = w;
		}
		e->flags |= v >> 32 & RECORD_EXIT_FLOAT ? EVENT_FLOAT : 0;
		e->fn = (uint32_t)v & RECORD_ID_MAX;
		e->count = (uint32_t)v >> RECORD_ID_BITS;
		e->site = (uint32_t)(v >> 32) & ~RECORD_EXIT_FLOAT;
		break;
	case 5:
		put(m, t, record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT);
		payload(m, t->cpu = (uint16_t)(r >> 20));
		break;
	case 6:
		put(m, t, record_event_id(1, RECORD_EVENT_UNWIND), RECORD_EVENT);
		payload(m, v);
		expect(s, thread, EVENT_UNWIND)->count = v;
		break;
	case 7: /* a type that this version does not know, or a program's event; with the longest payload */
		put(m, t, record_event_id(RECORD_PAYLOAD_MAX, r & 1024 ? 0xfff8 : 0x1234), RECORD_EVENT);
		if (!(r & 1024)) {
			e = expect(s, thread, EVENT_TRACE);
			e->fn = 0x1234 - RECORD_EVENT_TRACE;
			e->count = 8 * RECORD_PAYLOAD_MAX;
		}
		for (int i = 0; i < RECORD_PAYLOAD_MAX; i++)
			payload(m, sample_random(&s->random));
		break;
	case 8: /* nobody wrote this slot */
		payload(m, 0);
		break;
	case 9: /* a pause, or a record that an interrupted writer stamped before */
		t->tsc += r & 1024 ? UINT64_C(1) << (r >> 16) % 39 : -(r >> 40 & 0xfff);
		put(m, t, 7, RECORD_ENTRY);
		expect(s, thread, EVENT_ENTRY)->fn = 7;
		break;
	}
}

void sample_run(struct sample *s, uint32_t thread, size_t n, bool wild)
{
	struct sample_thread *t = &s->threads.at[thread];
	struct made m = { .words = mem_realloc(NULL, n * (1 + RECORD_PAYLOAD_MAX), sizeof(uint64_t)) };
	uint64_t near = t->tsc;
	uint16_t cpu = t->cpu = (uint16_t)(sample_random(&s->random) % 3);
	struct err err;

	while (n--)
		if (wild && sample_random(&s->random) % 4 == 0)
			make_wild(s, thread, &m);
		else
			make_graph(s, thread, &m);
	if (store_sync_info(s->writer, &err) ||
	    store_records(s->writer, thread, near, cpu, 0, m.words, m.n, &err))
		fail_msg("%s", err.text);
	free(m.words);
}

void sample_lost(struct sample *s, uint32_t thread, uint64_t lost)
{
	struct sample_thread *t = &s->threads.at[thread];
	uint64_t word;
	struct err err;

	t->tsc += 100;
	expect(s, thread, EVENT_LOST)->count = lost;
	expect(s, thread, EVENT_ENTRY)->fn = 3;
	word = record_word(t->tsc, 3, RECORD_ENTRY);
	if (store_records(s->writer, thread, t->tsc, t->cpu, lost, &word, 1, &err))
		fail_msg("%s", err.text);
}

void sample_finish(struct sample *s)
{
	struct err err;

	if (store_finish(s->writer, &err))
		fail_msg("%s", err.text);
	s->writer = NULL;
}

void sample_free(struct sample *s)
{
	if (s->writer)
		store_discard(s->writer);
	unlink(s->path);
	*strrchr(s->path, '/') = '\0';
	rmdir(s->path);
	for (size_t i = 0; i < s->threads.n; i++)
		vec_free(&s->threads.at[i].open);
	vec_free(&s->threads);
	vec_free(&s->expect);
	trace_info_free(s->info);
}

void assert_same_event(const struct event *a, const struct event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->tsc, b->tsc);
	if (a->kind != EVENT_TRACE && !(a->kind == EVENT_EXIT && a->flags & EVENT_TEXT)) /* where its payload lay: tests/report/events_test.c compares that */
		assert_int_equal(a->begin, b->begin);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->value, b->value);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->fn, b->fn);
	assert_int_equal(a->site, b->site);
	assert_int_equal(a->cpu, b->cpu);
}

/* The thread's packets, unpacked here, give the same events and the same end. */
static void check_words(struct store_reader *r, uint32_t thread, const struct events *events, int end)
{
	struct store_cursor *c = store_cursor_open(r, thread);
	struct unpack *u;
	struct event e;
	struct err err;
	size_t i = 0;
	int n;

	while ((n = store_cursor_words(c, &u, &err)) > 0)
		while (unpack_next(u, &e)) {
			assert_true(i < events->n);
			assert_same_event(&e, &events->at[i++]);
		}
	assert_int_equal(n, end);
	assert_int_equal(i, events->n);
	store_cursor_close(c);
}

int read_thread(struct store_reader *r, uint32_t thread, struct events *out, struct err *err)
{
	struct store_cursor *c = store_cursor_open(r, thread);
	struct event some[100];
	int n = 0;

	*out = (struct events){0};
	if (!c)
		return 0;
	while ((n = store_cursor_next(c, some, 100, err)) > 0)
		for (int i = 0; i < n; i++)
			*vec_add(out) = some[i];
	store_cursor_close(c);
	check_words(r, thread, out, n);
	return n;
}

uint8_t *read_bytes(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY);
	uint8_t *bytes;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = mem_realloc(NULL, (size_t)st.st_size + 1, 1);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*n = (size_t)st.st_size;
	return bytes;
}
