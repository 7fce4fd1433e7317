/* SPDX-License-Identifier: MIT */
/* Finds functions that have neither a symbol nor an unwind range, by recursive descent: the target
 * of a call in known code is a function, and its code is known then, too. functions.c calls it when
 * a file is opened, only where much of the code is unknown; it cannot fail.
 *
 * A wrong begin would be patched, and kill the program. So a target counts only if nothing speaks
 * against it: it is outside of all known functions and of the instructions of those that were
 * found; the bytes before it are padding, or may end a function; from it on, every path that can
 * be followed is of sound instructions and returns with the stack as it was.
 *
 * An address that known code or a relocation names may be that of data, or of a label inside of a
 * function. It counts only if it is aligned as functions are, nothing behind it is in doubt, a path
 * returns with the very stack that it began with, and it calls a known function: data does not by
 * chance. A call needs a stack that is aligned to 16 bytes, so a function moves its stack before it
 * calls, and a label behind that place does not. Any thread: a module belongs to one while it is
 * opened. */
#include "sym/called.h"

#include "base/aside.h"
#include "sym/body.h"
#include "sym/code_refs.h"
#include "sym/coverage.h"

#define UNKNOWN_MIN 5u /* per cent of the code: below it the search is not worth its time */
#define ROUNDS 8       /* over all names: each finds functions that later ones call */
#define FUNCTION_ALIGN 16u
#define START_MAX 64u  /* bytes of a program's first function, up to its call of main */

struct called_search {
	const struct sym_module *m;
	const struct elf_view *v;
	const struct eh_frame *frame;
	struct body body;
	struct code_set starts, asked; /* functions; addresses that were considered */
	struct code_set heard;         /* addresses that something names */
	VEC(uint64_t) queue, named;    /* called, and named: still to be judged */
	struct found_list *out;
};

/* True if an unwind range, or a function that tells its size, is around the address. Functions may
 * lie in others: as sym_around() does, a few are looked at. */
static bool is_covered(const struct called_search *s, uint64_t vaddr)
{
	return sym_around(s->m, vaddr) || eh_frame_around(s->frame, vaddr);
}

/* Returns the first known function behind the address. */
static uint64_t next_known(const struct called_search *s, uint64_t vaddr)
{
	size_t n = vec_bisect(&s->m->functions, f, f->vaddr <= vaddr);

	return n < s->m->functions.n ? s->m->functions.at[n].vaddr : UINT64_MAX;
}

/* Puts an address into the queue, once. */
static void consider(struct called_search *s, uint64_t vaddr)
{
	if (!elf_is_code(s->v, vaddr) || code_set_has(&s->asked, vaddr) ||
	    code_set_has(&s->starts, vaddr))
		return;
	code_set_add(&s->asked, vaddr);
	if (!is_covered(s, vaddr))
		*vec_add(&s->queue) = vaddr;
}

/* Notes an address that is named, once. */
static void hear(struct called_search *s, uint64_t vaddr)
{
	if (vaddr % FUNCTION_ALIGN || !elf_is_code(s->v, vaddr) || code_set_has(&s->heard, vaddr))
		return;
	code_set_add(&s->heard, vaddr);
	if (!is_covered(s, vaddr))
		*vec_add(&s->named) = vaddr;
}

/* Keeps what was walked, and considers what it calls. */
static void keep_body(struct called_search *s)
{
	body_keep(&s->body);
	for (size_t i = 0; i < s->body.calls.n; i++)
		consider(s, s->body.calls.at[i]);
	for (size_t i = 0; i < s->body.names.n; i++)
		hear(s, s->body.names.at[i]);
}

/* A fragment is code of a function, though not one: its begin has another's stack. Nothing is said
 * of it. */
static void walk_known(struct called_search *s, const struct sym_function *f)
{
	uint64_t end = f->size ? f->vaddr + f->size : next_known(s, f->vaddr);

	if (!f->plt && f->source != SYM_SWITCH && body_walk(&s->body, f->vaddr, end))
		keep_body(s);
}

/* The first instruction must do something, and not only lead elsewhere through a table. */
static bool is_first_insn(const struct elf_view *v, uint64_t vaddr)
{
	const struct elf_area *area = elf_code_area(v, vaddr);
	uint64_t left = area->vaddr + area->size - vaddr;
	const uint8_t *p = area->bytes + (vaddr - area->vaddr);
	struct insn in;

	return insn_decode(p, left, vaddr, &in) && in.flow != FLOW_JUMP_INDIRECT &&
	       walk_padding(p, left) == 0;
}

/* Walks what may be a function; false: it is none. */
static bool walk_unknown(struct called_search *s, uint64_t vaddr)
{
	struct body *b = &s->body;

	return !code_set_has(&s->starts, vaddr) && !code_set_has(&b->all.inside, vaddr) &&
	       is_first_insn(s->v, vaddr) && body_may_begin(s->v, vaddr) &&
	       body_walk(b, vaddr, next_known(s, vaddr));
}

/* Only after the walk was believed: a function that is none would be patched. */
static void add_walked(struct called_search *s)
{
	uint64_t start = s->body.start;

	*vec_add(&s->out->list) = (struct found){
		.vaddr = start, .size = body_end(&s->body) - start, .source = SYM_CALLED
	};
	code_set_add(&s->starts, start);
	keep_body(s);
}

/* True if the last walk met a call of a known function. */
static bool calls_known(const struct called_search *s)
{
	for (size_t i = 0; i < s->body.calls.n; i++)
		if (code_set_has(&s->starts, s->body.calls.at[i]))
			return true;
	return false;
}

/* True if the last walk, of something that is called, is a function's: it returns; or, where it
 * seems not to, its place or its calls speak for it. */
static bool is_proven(const struct called_search *s)
{
	return s->body.ends || calls_known(s) ||
	       (s->body.stops && s->body.start % FUNCTION_ALIGN == 0);
}

/* Judges all that is called, and what that calls. */
static void judge_called(struct called_search *s)
{
	while (s->queue.n && !aside_is_over()) {
		uint64_t vaddr = s->queue.at[--s->queue.n];

		if (walk_unknown(s, vaddr) && is_proven(s))
			add_walked(s);
	}
}

/* Judges all names once. True: functions were found, and those left may have become known by
 * them. */
static bool judge_named(struct called_search *s)
{
	size_t n = s->named.n, left = 0, before = s->out->list.n;

	for (size_t i = 0; i < n && !aside_is_over(); i++) {
		uint64_t vaddr = s->named.at[i];

		if (code_set_has(&s->body.all.first, vaddr) || !walk_unknown(s, vaddr) ||
		    s->body.doubtful || s->body.unaligned || !s->body.balanced)
			continue;
		if (calls_known(s))
			add_walked(s);
		else
			s->named.at[left++] = vaddr;
	}
	/* Names that were heard meanwhile. */
	for (size_t i = n; i < s->named.n; i++)
		s->named.at[left++] = s->named.at[i];
	s->named.n = left;
	return s->out->list.n > before;
}

/* libc calls main for the program's first function, which names it as its first argument. */
static void consider_main(struct called_search *s)
{
	const struct elf_area *area = elf_code_area(s->v, s->v->header.e_entry);
	uint64_t at = s->v->header.e_entry, end = at + START_MAX, main = 0;
	struct insn in = { .flow = FLOW_NEXT };

	if (!area)
		return;
	end = end < area->vaddr + area->size ? end : area->vaddr + area->size;
	for (; at < end && in.flow == FLOW_NEXT; at += in.len) {
		const uint8_t *p = area->bytes + (at - area->vaddr);

		if (!insn_decode(p, end - at, at, &in))
			return;
		walk_note_argument(p, &in, &main);
	}
	if (main && (in.flow == FLOW_CALL || in.flow == FLOW_CALL_INDIRECT))
		consider(s, main);
}

/* Notes what data names: by relocations, or as it stands in a file for fixed addresses. */
static void hear_data(struct called_search *s)
{
	struct code_set refs = code_set_new(s->v);
	VEC(uint64_t) list = { 0 };

	code_refs_find(s->v, &s->out->dynsym, &refs);
	list.n = code_set_count(&refs);
	vec_reserve(&list, list.n);
	code_set_list(&refs, list.at);
	for (size_t i = 0; i < list.n; i++)
		hear(s, list.at[i]);
	code_set_free(&refs);
	vec_free(&list);
}

/* In rounds: what is found calls further functions. */
static void search_code(struct called_search *s)
{
	for (size_t i = 0; i < s->m->functions.n; i++)
		code_set_add(&s->starts, s->m->functions.at[i].vaddr);
	for (size_t i = 0; i < s->m->functions.n && !aside_is_over(); i++)
		walk_known(s, &s->m->functions.at[i]);
	consider_main(s);
	judge_called(s);
	hear_data(s);
	for (unsigned i = 0; i < ROUNDS && judge_named(s); i++)
		judge_called(s);
}

/* *out stays empty where symbols tell most of the code already. */
void called_find(const struct sym_module *m, const struct elf_view *v,
		 const struct eh_frame *frame, struct found_list *out)
{
	struct coverage c = coverage_of(m, v);
	struct called_search s = { .m = m, .v = v, .frame = frame, .out = out };

	out->list.n = 0;
	if (c.unknown * 100 < c.code * UNKNOWN_MIN)
		return;
	s.starts = code_set_new(v);
	s.asked = code_set_new(v);
	s.heard = code_set_new(v);
	body_init(&s.body, v, &s.starts);
	search_code(&s);
	body_free(&s.body);
	code_set_free(&s.starts);
	code_set_free(&s.asked);
	code_set_free(&s.heard);
	vec_free(&s.queue);
	vec_free(&s.named);
}
