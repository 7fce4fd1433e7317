/* Every function tracer output of the kernel goes round: lines are read back into call
 * records and printed again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "golden.h"
#include "model/option.h"
#include "report/function.h"

/* A function the file names: where it is said to begin, which return addresses lie in it. */
struct known { char name[64]; uint64_t callee, first_site, last_site, size; };

struct call { char comm[16]; uint32_t tid, cpu; uint64_t ns; char name[64], parent[64]; uint64_t ip, site; };

struct reader {
	const struct golden *g;
	struct trace_info *info;
	VEC(struct known) known;
	VEC(struct call) calls;
	struct trace_header header;
	char preempt[16], kernel[32];
	uint64_t last_ns;
};

static bool on(const struct reader *r, enum trace_option o)
{
	return option_is_set(r->g->options, o);
}

static struct known *known_named(struct reader *r, const char *name)
{
	struct known *k;

	for (size_t i = 0; i < r->known.n; i++)
		if (!strcmp(r->known.at[i].name, name))
			return &r->known.at[i];
	k = vec_add(&r->known);
	*k = (struct known){ .size = 0 };
	snprintf(k->name, sizeof(k->name), "%s", name);
	return k;
}

/* "name", "name+0x4/0x30" or "name <ffffffff81234567>"; *value: the offset or address. */
static void read_symbol(struct reader *r, char *text, char *name, uint64_t *value)
{
	unsigned long long offset = 0, size = 0;
	size_t n = strcspn(text, "+ \n");

	snprintf(name, 64, "%.*s", (int)n, text);
	if (sscanf(text + n, "+0x%llx/0x%llx", &offset, &size) == 2)
		known_named(r, name)->size = size;
	else
		sscanf(text + n, " <%llx>", &offset);
	*value = offset;
}

/* Our calls are told by function, the kernel's by an address 0 or 4 bytes into it. */
static void zero_callee_offset(char *text)
{
	char *plus = strstr(text, "+0x4/");

	if (plus && plus < strstr(text, " <-"))
		plus[3] = '0';
}

static void read_names(struct reader *r, char *text, struct call *c)
{
	char *parent = strstr(text, " <-"), any[] = "f\n";

	if (!strncmp(text, "UNKNOWN TYPE", 12))
		text = any; /* options/fields hides which function it was */
	if (on(r, OPTION_SYM_OFFSET))
		zero_callee_offset(text);
	read_symbol(r, text, c->name, &c->ip);
	if (on(r, OPTION_PRINT_PARENT) && parent && parent < strchr(text, '\n'))
		read_symbol(r, parent + 3, c->parent, &c->site);
}

static void read_numbers(struct reader *r, const char *line, struct call *c)
{
	unsigned long long ns, ip, site;
	const char *format = on(r, OPTION_HEX) ? "%x %x %llx %llx %llx" : "%u %u %llu %llx %llx";

	assert_int_equal(sscanf(line, format, &c->tid, &c->cpu, &ns, &ip, &site), 5);
	c->ns = ns;
	c->ip = ip;
	c->site = site;
	snprintf(c->name, sizeof(c->name), "f%llx", ip);
	snprintf(c->parent, sizeof(c->parent), "p%llx", site);
}

static void read_comm(char *line, struct call *c, char **after)
{
	char *dash = strchr(line, '-');
	size_t n = (size_t)(dash - line), blank = strspn(line, " ");

	snprintf(c->comm, sizeof(c->comm), "%.*s", (int)(n - blank), line + blank);
	c->tid = (uint32_t)strtoul(dash + 1, after, 10);
}

/* "      ls-172       1..... 18251us!: ": times count from the launch, here at 1 s. */
static void read_latency_line(struct reader *r, char *line)
{
	struct call c = { .comm = "" };
	char *at;

	read_comm(line, &c, &at);
	c.cpu = (uint32_t)strtoul(at, &at, 10);
	c.ns = 1000000000 + 1000 * strtoull(at + 6, &at, 10);
	read_names(r, strstr(at, ": ") + 2, &c);
	*vec_add(&r->calls) = c;
}

static void read_line(struct reader *r, char *line)
{
	struct call c = { .comm = "x" };
	unsigned long long s, us;
	char *at = line;

	if (on(r, OPTION_HEX) || on(r, OPTION_RAW)) {
		read_numbers(r, line, &c);
	} else if (!on(r, OPTION_CONTEXT_INFO)) {
		read_names(r, line, &c);
	} else {
		read_comm(line, &c, &at);
		c.cpu = (uint32_t)strtoul(strchr(at, '[') + 1, &at, 10);
		assert_int_equal(sscanf(strpbrk(at + 2, "123456789"), "%llu.%llu", &s, &us), 2);
		c.ns = 1000000000 * s + 1000 * us - 250;
		read_names(r, strstr(at, ": ") + 2, &c);
	}
	*vec_add(&r->calls) = c;
}

static void read_header_line(struct reader *r, const char *line)
{
	unsigned long long entries, written;

	sscanf(line, "# function latency trace v1.1.5 on %31s", r->kernel);
	if (sscanf(line, "# entries-in-buffer/entries-written: %llu/%llu", &entries, &written) == 2 ||
	    sscanf(line, "# latency: 0 us, #%llu/%llu, CPU#%u | (M:%15[^ ]", &entries, &written,
		   &r->header.cpu, r->preempt) == 4) {
		r->header.entries = entries;
		r->header.written = written;
	}
}

static void read_golden(struct reader *r)
{
	for (char *at = r->g->text; *at; at = strchr(at, '\n') + 1) {
		if (*at == '#')
			read_header_line(r, at);
		else if (on(r, OPTION_LATENCY_FORMAT))
			read_latency_line(r, at);
		else
			read_line(r, at);
	}
	r->header.preempt = r->preempt;
	assert_true(r->calls.n > 5);
}

static void note_site(struct reader *r, const char *name, uint64_t site)
{
	struct known *k = known_named(r, name);

	k->first_site = !k->first_site || site < k->first_site ? site : k->first_site;
	k->last_site = site > k->last_site ? site : k->last_site;
}

/* Where the file gives addresses, they are the functions'; else 1 MiB for each, in order. */
static void place_functions(struct reader *r, bool given)
{
	for (size_t i = 0; i < r->calls.n; i++) {
		struct call *c = &r->calls.at[i];

		if (given)
			known_named(r, c->name)->callee = c->ip;
		if (given && *c->parent)
			note_site(r, c->parent, c->site);
		if (!given)
			known_named(r, c->name), known_named(r, c->parent);
	}
	for (size_t i = 0; i < r->known.n; i++) {
		struct known *k = &r->known.at[i];

		if (!given)
			k->callee = (i + 1) << 20;
		else if (!k->callee)
			k->callee = k->first_site - 1;
		if (!k->size)
			k->size = given && k->last_site ? k->last_site - k->callee + 1 : 8;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static void make_module(struct reader *r)
{
	struct trace_module *m = vec_add(&r->info->modules);

	*m = (struct trace_module){ .path = mem_strdup("/x"), .name = mem_strdup("x"), .end = UINT64_MAX };
	*vec_add(&m->strings) = '\0';
	qsort(r->known.at, r->known.n, sizeof(*r->known.at), by_address);
	for (size_t i = 0; i < r->known.n; i++) {
		*vec_add(&m->functions) = (struct trace_function){
			.vaddr = r->known.at[i].callee, .size = (uint32_t)r->known.at[i].size,
			.name = (uint32_t)m->strings.n };
		for (const char *c = r->known.at[i].name; *c; c++)
			*vec_add(&m->strings) = *c;
		*vec_add(&m->strings) = '\0';
	}
}

static uint32_t thread_of(struct reader *r, const struct call *c)
{
	struct trace_thread *t;

	for (uint32_t i = 0; i < r->info->threads.n; i++)
		if (r->info->threads.at[i].tid == c->tid)
			return i;
	t = vec_add(&r->info->threads);
	*t = (struct trace_thread){ .pid = c->tid, .tid = c->tid };
	memcpy(t->comm, c->comm, sizeof(t->comm));
	return (uint32_t)r->info->threads.n - 1;
}

static struct event event_of(struct reader *r, const struct call *c, bool given)
{
	struct known *callee = known_named(r, c->name), *parent = known_named(r, c->parent);
	uint64_t site = given ? c->site : parent->callee + (c->site ? c->site : 4);

	*vec_add(&r->info->images.at[0].sites) = site;
	return (struct event){ .tsc = c->ns, .kind = EVENT_CALL, .cpu = (uint16_t)c->cpu,
			       .thread = thread_of(r, c), .fn = (uint32_t)(callee - r->known.at),
			       .site = (uint32_t)r->info->images.at[0].sites.n - 1 };
}

static void print_calls(struct reader *r, struct text *text, bool given)
{
	struct out out;
	struct function_printer *p;

	out_init(&out, text_flush, text);
	p = function_new(r->info, r->g->options, &out);
	function_header(p, &r->header);
	for (size_t i = 0; i < r->calls.n; i++) {
		struct event e = event_of(r, &r->calls.at[i], given);

		function_event(p, &e);
	}
	function_flush(p);
	out_flush(&out);
	function_free(p);
	out_free(&out);
}

/* The mark of the last line tells the time to a record that is cut off the file. */
static void cut_last_line(struct golden *g)
{
	size_t n = strlen(g->text) - 1;

	while (g->text[n - 1] != '\n')
		n--;
	g->text[n] = '\0';
}

static bool round_trip(struct golden *g)
{
	struct reader r = { .g = g, .info = trace_info_new() };
	bool given = on(&r, OPTION_SYM_ADDR) || on(&r, OPTION_RAW) || on(&r, OPTION_HEX);
	struct text text = { 0 };
	bool same;

	r.info->clock.hz = 1000000000;
	r.info->cpus = 2;
	*vec_add(&r.info->images) = (struct trace_image){ .pid = 1, .tsc = 1000000000 };
	*vec_add(&r.info->images.at[0].sites) = 0;
	read_golden(&r);
	r.info->kernel = mem_strdup(r.kernel);
	place_functions(&r, given);
	make_module(&r);
	print_calls(&r, &text, given);
	if (on(&r, OPTION_LATENCY_FORMAT))
		cut_last_line(g);
	same = golden_same(g, text_end(&text), on(&r, OPTION_LATENCY_FORMAT));
	vec_free(&text.bytes);
	vec_free(&r.known);
	vec_free(&r.calls);
	trace_info_free(r.info);
	return same;
}

static void test_round_trips(void **state)
{
	golden_list list = { 0 };
	unsigned same = 0, differ = 0;

	golden_load(&list, GOLDEN, "function");
	for (size_t i = 0; i < list.n; i++) {
		if (!list.at[i].text)
			printf("left out: %s: %s\n", list.at[i].path + strlen(GOLDEN) + 1,
			       golden_refused(list.at[i].name));
		else if (round_trip(&list.at[i]))
			same++;
		else
			differ++;
	}
	printf("%u files reproduced\n", same);
	assert_int_equal(differ, 0);
	assert_in_range(same, 20, 40);
	golden_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trips) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
