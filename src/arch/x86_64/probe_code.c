/* SPDX-License-Identifier: MIT */
#include "arch/x86_64/probe_code.h"

#include <errno.h>
#include <string.h>

#include "arch/x86_64/trampoline.h"

static const uint8_t step_over[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };                /* lea -128(%rsp), %rsp */
static const uint8_t step_back[] = { 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };       /* lea 128(%rsp), %rsp */
static const uint8_t call_agent[] = { 0xff, 0x15 }, tell_site[] = { 0x0f, 0x1f, 0x80 }; /* nopl disp32(%rax) */

struct emit { uint64_t at; uint8_t *out; size_t n; };

static void put(struct emit *e, const uint8_t *bytes, size_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

/* The distance from `from`, which is this field's end if 0. */
static int put_distance(struct emit *e, uint64_t target, uint64_t from)
{
	int64_t delta = (int64_t)(target - (from ? from : e->at + e->n + 4));
	int32_t rel = (int32_t)delta;

	memcpy(e->out + e->n, &rel, 4);
	e->n += 4;
	return rel == delta ? 0 : -ERANGE;
}

static int put_call(struct emit *e, const struct probe_code *p)
{
	uint64_t ret;
	int r;

	put(e, step_over, sizeof(step_over));
	put(e, call_agent, sizeof(call_agent));
	r = put_distance(e, p->agent, 0);
	ret = e->at + e->n;
	put(e, tell_site, sizeof(tell_site));
	if (r == 0)
		r = put_distance(e, p->site, ret);
	put(e, step_back, sizeof(step_back));
	return r;
}

int probe_code_emit(const struct probe_code *p, uint64_t at, uint8_t *out)
{
	struct relocate_recipe lead = *p->lead;
	struct emit e = { .at = at, .out = out };
	int n, r;

	lead.falls = false; /* it goes on right behind */
	n = relocate_emit(&lead, p->original, p->vaddr - lead.len, p->ip - lead.len, at, out);
	if (n < 0)
		return n;
	e.n = (size_t)n;
	r = put_call(&e, p);
	if (r < 0)
		return r;
	if (p->then) {
		r = trampoline_jump(at + e.n, p->then, out + e.n);
		return r < 0 ? r : (int)e.n + 5;
	}
	n = relocate_emit(p->rest, p->original + lead.len, p->vaddr, p->ip, at + e.n, out + e.n);
	return n < 0 ? n : (int)e.n + n;
}
