#include "fixture.h"

#include "hook/plan.h"

#include <ctype.h>
#include <string.h>

#define FUNCTION_BYTES 0x10000u
#define MODULE_BASE UINT64_C(0x550000000000)

struct fixture *fixture_new(void)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	struct trace_module *m;

	f->info = trace_info_new();
	f->info->clock.hz = 1000000000;
	f->info->cpus = 2;
	*vec_add(&f->info->images) = (struct trace_image){ .pid = 1, .exe = mem_strdup("/bin/x") };
	*vec_add(&f->info->images.at[0].sites) = 0;
	m = vec_add(&f->info->modules);
	*m = (struct trace_module){ .path = mem_strdup("/bin/x"), .name = mem_strdup("x"),
				    .base = MODULE_BASE, .start = MODULE_BASE, .end = MODULE_BASE };
	*vec_add(&m->strings) = '\0';
	*vec_add(&f->sites) = (struct fixture_site){ 0, 0 };
	return f;
}

void fixture_free(struct fixture *f)
{
	trace_info_free(f->info);
	vec_free(&f->events);
	vec_free(&f->sites);
	free(f);
}

uint32_t fixture_function(struct fixture *f, const char *name, size_t n)
{
	struct trace_module *m = &f->info->modules.at[0];
	struct trace_function *new;

	for (uint32_t i = 0; i < m->functions.n; i++) {
		const char *old = m->strings.at + m->functions.at[i].name;

		if (strlen(old) == n && !memcmp(old, name, n))
			return i;
	}
	new = vec_add(&m->functions);
	*new = (struct trace_function){ .vaddr = (m->functions.n - 1) * FUNCTION_BYTES,
					.size = FUNCTION_BYTES, .name = (uint32_t)m->strings.n,
					.hook = strncmp(name, "un", 2) ? HOOK_JUMP : HOOK_NONE };
	m->end = m->base + m->functions.n * FUNCTION_BYTES;
	for (size_t i = 0; i < n; i++)
		*vec_add(&m->strings) = name[i];
	*vec_add(&m->strings) = '\0';
	return (uint32_t)m->functions.n - 1;
}

uint32_t fixture_thread(struct fixture *f, const char *comm, uint32_t tid)
{
	struct trace_thread *t;

	for (uint32_t i = 0; i < f->info->threads.n; i++)
		if (f->info->threads.at[i].tid == tid && !strcmp(f->info->threads.at[i].comm, comm))
			return i;
	t = vec_add(&f->info->threads);
	*t = (struct trace_thread){ .pid = tid, .tid = tid };
	strncpy(t->comm, comm, sizeof(t->comm) - 1);
	return (uint32_t)f->info->threads.n - 1;
}

uint32_t fixture_site(struct fixture *f, uint32_t caller, uint32_t callee)
{
	uint64_t address;

	for (uint32_t i = 1; i < f->sites.n; i++)
		if (f->sites.at[i].caller == caller && f->sites.at[i].callee == callee)
			return i;
	*vec_add(&f->sites) = (struct fixture_site){ caller, callee };
	address = caller == FIXTURE_OUTSIDE ? MODULE_BASE / 2 + callee
					    : MODULE_BASE + caller * FUNCTION_BYTES + 5 + callee;
	*vec_add(&f->info->images.at[0].sites) = address;
	return (uint32_t)f->sites.n - 1;
}

size_t fixture_event(struct fixture *f, struct event e)
{
	*vec_add(&f->events) = e;
	return f->events.n - 1;
}

struct reading { struct event e; const char *at; struct fixture *f; };

static uint32_t word_function(struct reading *r)
{
	const char *from = r->at;

	while (isalnum((unsigned char)*r->at) || *r->at == '_')
		r->at++;
	return fixture_function(r->f, from, (size_t)(r->at - from));
}

static void word_site(struct reading *r)
{
	uint32_t caller, callee;

	if (isspace((unsigned char)*r->at) || !*r->at || *r->at == '=')
		return;
	caller = word_function(r);
	r->at++;
	callee = word_function(r);
	if (*r->at == '@') {
		r->at++;
		callee += 1000 * (1 + word_function(r));
	}
	r->e.site = fixture_site(r->f, caller, callee);
}

static void word_exit(struct reading *r)
{
	r->at++;
	r->e.kind = EVENT_EXIT;
	r->e.site = 0;
	word_site(r);
	if (*r->at != '=')
		return;
	r->e.flags = EVENT_VALUE;
	r->e.value = strtoull(r->at + 1, (char **)&r->at, 0);
}

static void word_entry(struct reading *r)
{
	r->e.fn = word_function(r);
	r->e.kind = *r->at == '{' ? EVENT_ENTRY : *r->at == '~' ? EVENT_TAIL : EVENT_ENTRY_ONLY;
	r->at++;
}

static void word_slept(struct reading *r, uint64_t ns)
{
	struct event e = { .kind = EVENT_SLEPT, .tsc = r->e.tsc, .begin = r->e.tsc - ns, .count = ns, .thread = r->e.thread };

	fixture_event(r->f, e);
}

/* A word that is no event, or only of what time is: true. */
static bool word_setting(struct reading *r)
{
	char what = *r->at;
	unsigned long value;

	if (!strchr("#%+/", what))
		return false;
	value = strtoul(r->at + 1, (char **)&r->at, 10);
	if (what == '#')
		r->e.thread = fixture_thread(r->f, "x", 1000 + (uint32_t)value);
	else if (what == '%')
		r->e.cpu = (uint16_t)value;
	else if (what == '/')
		word_slept(r, value);
	else
		r->e.tsc += value;
	return true;
}

static void word_event(struct reading *r)
{
	if (*r->at == '}') {
		word_exit(r);
	} else if (*r->at == '*' || *r->at == '?') {
		r->e.kind = *r->at == '*' ? EVENT_UNWIND : EVENT_LOST;
		r->e.count = strtoul(r->at + 1, (char **)&r->at, 10);
	} else {
		word_entry(r);
	}
	fixture_event(r->f, r->e);
	r->e.flags = 0;
	r->e.value = 0;
	r->e.tsc += 1000;
}

void fixture_parse(struct fixture *f, const char *text)
{
	struct reading r = { .e = { .tsc = 1000000, .thread = fixture_thread(f, "x", 1000) },
			     .at = text, .f = f };

	for (;;) {
		while (isspace((unsigned char)*r.at))
			r.at++;
		if (!*r.at)
			return;
		if (!word_setting(&r))
			word_event(&r);
	}
}

int text_flush(void *text, const char *bytes, size_t n)
{
	struct text *t = text;

	vec_reserve(&t->bytes, t->bytes.n + n + 1);
	memcpy(t->bytes.at + t->bytes.n, bytes, n);
	t->bytes.n += n;
	return 0;
}

const char *text_end(struct text *t)
{
	*vec_add(&t->bytes) = '\0';
	t->bytes.n--;
	return t->bytes.at;
}
