/* SPDX-License-Identifier: MIT */
/* Emits the trampolines of probes (see the header). image/probe_patches.c calls it while a process
 * is planned; no state. It fails only with -ERANGE, if the agent's word or a branch target is out
 * of reach. Any thread. */
#include "arch/probe_code.h"

#include <errno.h>
#include <string.h>

#include "arch/code.h"

_Static_assert(RELOCATE_MAX_BYTES + 40 <= UINT8_MAX, "struct probe_code_steps has bytes");

/* lea -128(%rsp), %rsp */
static const uint8_t step_over[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };
/* lea 128(%rsp), %rsp */
static const uint8_t step_back[] = { 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };
/* call *disp32(%rip), and nopl disp32(%rax), whose displacement leads to the site */
static const uint8_t call_agent[] = { 0xff, 0x15 }, tell_site[] = { 0x0f, 0x1f, 0x80 };

/* `at`: where the code will run; `n`: bytes written to `out`. */
struct probe_emit { uint64_t at; uint8_t *out; size_t n; };

static void emit_bytes(struct probe_emit *e, const uint8_t *bytes, size_t n)
{
	memcpy(e->out + e->n, bytes, n);
	e->n += n;
}

/* Writes the distance of `target` from `from`; 0: from the end of this field. */
static int put_distance(struct probe_emit *e, uint64_t target, uint64_t from)
{
	int64_t delta = (int64_t)(target - (from ? from : e->at + e->n + 4));
	int32_t rel = (int32_t)delta;

	memcpy(e->out + e->n, &rel, 4);
	e->n += 4;
	return rel == delta ? 0 : -ERANGE;
}

/* The stack pointer steps over the red zone first, since the call pushes. The agent reads the site
 * from the nop behind its return address. */
static int put_call(struct probe_emit *e, const struct probe_code *p)
{
	uint64_t ret;
	int r;

	emit_bytes(e, step_over, sizeof(step_over));
	emit_bytes(e, call_agent, sizeof(call_agent));
	r = put_distance(e, p->agent, 0);
	ret = e->at + e->n;
	emit_bytes(e, tell_site, sizeof(tell_site));
	if (r == 0)
		r = put_distance(e, p->site, ret);
	emit_bytes(e, step_back, sizeof(step_back));
	return r;
}

int probe_code_emit(const struct probe_code *p, uint64_t at, uint8_t *out,
		    struct probe_code_steps *steps)
{
	struct relocate_recipe lead = *p->lead;
	struct probe_emit e = { .at = at, .out = out };
	int n, r;

	lead.falls = false; /* the call to the agent follows it directly */
	n = relocate_emit(&lead, p->original, p->vaddr - lead.len, p->ip - lead.len, at, out);
	if (n < 0)
		return n;
	e.n = (size_t)n;
	steps->down = (uint8_t)(e.n + sizeof(step_over));
	r = put_call(&e, p);
	if (r < 0)
		return r;
	steps->back = (uint8_t)e.n;
	/* A hooked function's trampoline goes on: it has the moved instructions. */
	if (p->then) {
		r = code_jump(at + e.n, p->then, out + e.n);
		return r < 0 ? r : (int)e.n + 5;
	}
	n = relocate_emit(p->rest, p->original + lead.len, p->vaddr, p->ip, at + e.n, out + e.n);
	return n < 0 ? n : (int)e.n + n;
}
