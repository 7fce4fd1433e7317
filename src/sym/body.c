/* SPDX-License-Identifier: MIT */
/* Walks a function's code along its control flow (see the header). called.c uses it, for functions
 * that are known and for those that may be; it cannot fail. Bytes that no path leads to are never
 * decoded, so data between functions, or in them, stays unread.
 *
 * A walk has parts: up to the first calls, and behind each call. Behind a call that does not return
 * may stand anything. Such a part shows by what is no instruction, or by a return with the stack in
 * disorder; it is then undone. Any thread: a walk belongs to one. */
#include "sym/body.h"

#include "arch/walk.h"

#define WORK_TIMES 4 /* instructions in all walks, for each byte of code */
#define ALIGN 16u    /* of what begins behind padding */

/* --- the instructions that were met --- */

static struct body_marks new_marks(const struct elf_view *v)
{
	return (struct body_marks){ code_set_new(v), code_set_new(v) };
}

static void free_marks(struct body_marks *marks)
{
	code_set_free(&marks->first);
	code_set_free(&marks->inside);
}

/* Returns how many bytes belong to the instruction whose first byte is marked. */
static unsigned marked_length(const struct body_marks *marks, uint64_t vaddr)
{
	unsigned n = 1;

	while (n < 15 && code_set_has(&marks->inside, vaddr + n))
		n++;
	return n;
}

/* The first byte apart from the others: a branch into the middle of an instruction tells that one
 * of the two was no code. */
static void mark_insn(struct body_marks *marks, uint64_t vaddr, unsigned n)
{
	code_set_add(&marks->first, vaddr);
	for (unsigned i = 1; i < n; i++)
		code_set_add(&marks->inside, vaddr + i);
}

/* True if the instruction shares some bytes, not all, with one that is marked. */
static bool overlaps(const struct body_marks *marks, uint64_t vaddr, unsigned n)
{
	if (code_set_has(&marks->inside, vaddr))
		return true;
	for (unsigned i = 1; i < n; i++)
		if (code_set_has(&marks->first, vaddr + i))
			return true;
	return false;
}

/* Takes back the instructions from the n-th on. */
static void undo_insns(struct body *b, size_t n)
{
	while (b->insns.n > n) {
		uint64_t at = b->insns.at[--b->insns.n];

		for (unsigned i = marked_length(&b->own, at); i > 1; i--)
			code_set_remove(&b->own.inside, at + i - 1);
		code_set_remove(&b->own.first, at);
	}
}

/* The walk was believed: its instructions become known code. */
void body_keep(struct body *b)
{
	for (size_t i = 0; i < b->insns.n; i++)
		mark_insn(&b->all, b->insns.at[i], marked_length(&b->own, b->insns.at[i]));
}

/* --- jump tables --- */

/* One comparison: below start the difference wraps around. */
static bool is_own(const struct body *b, uint64_t vaddr)
{
	return vaddr - b->start < b->limit - b->start;
}

/* Returns where entry i of a table leads: distances from the table itself, or, wide, addresses. */
static uint64_t table_entry(const uint8_t *entries, uint32_t i, uint64_t table, bool wide)
{
	int32_t distance;
	uint64_t address;

	if (wide) {
		memcpy(&address, entries + 8 * (size_t)i, 8);
		return address;
	}
	memcpy(&distance, entries + 4 * (size_t)i, 4);
	return table + (uint64_t)(int64_t)distance;
}

/* Follows a table. All its entries must lead into the function: else it is no such table, and
 * nothing is followed. */
static void follow_table(struct body *b, struct body_path path, uint64_t table, bool wide)
{
	uint32_t n = path.entries;
	const uint8_t *at = n && table ? elf_at(b->v, table, (wide ? 8 : 4) * (size_t)n) : NULL;
	size_t before = b->branches.n;

	path.entries = 0;
	path.table = 0;
	for (uint32_t i = 0; at && i < n; i++) {
		path.at = table_entry(at, i, table, wide);
		if (!is_own(b, path.at) || code_set_has(&b->own.inside, path.at)) {
			b->branches.n = before;
			return;
		}
		if (!code_set_has(&b->own.first, path.at))
			*vec_add(&b->branches) = path;
	}
}

/* --- one path --- */

/* Control leaves the function with the stack as it is now. */
static void leave_body(struct body *b, const struct body_path *path)
{
	b->ends |= !path->stack.known || path->stack.depth == 0;
}

/* True if a jump with the stack as at entry leads to what looks like another function's begin. */
static bool is_tail_call(const struct body *b, const struct body_path *path, uint64_t target)
{
	return path->stack.known && path->stack.depth == 0 && target % ALIGN == 0 &&
	       target != b->start && body_may_begin(b->v, target);
}

/* True if the path goes on at `target`, where it jumps to. */
static bool jumps_within(const struct body *b, const struct body_path *path, uint64_t target)
{
	return is_own(b, target) && (target == b->start || !code_set_has(b->starts, target)) &&
	       !is_tail_call(b, path, target);
}

/* Goes to what follows the instruction; false: the path ends here. */
static bool follow_flow(struct body *b, struct body_path *path, const uint8_t *p,
			const struct insn *in)
{
	uint64_t next = path->at + in->len;
	struct body_path other = *path;
	uint64_t table;
	bool wide;

	other.at = in->target;
	path->at = next;
	switch (in->flow) {
	case FLOW_BRANCH:
		if (is_own(b, other.at))
			*vec_add(&b->branches) = other;
		return true;
	case FLOW_CALL:
		b->faulty |= in->target == next; /* not a call: it asks for its own address */
		*vec_add(&b->calls) = in->target;
		/* fall through */
	case FLOW_CALL_INDIRECT:
		b->unaligned |= !walk_is_aligned(&path->stack);
		*vec_add(&b->returns) = *path;
		b->returns.at[b->returns.n - 1].after_call = true;
		return false;
	case FLOW_JUMP:
		path->at = other.at;
		if (jumps_within(b, path, path->at))
			return true;
		leave_body(b, path);
		return false;
	case FLOW_JUMP_INDIRECT:
		leave_body(b, path);
		wide = walk_is_table_jump(p, in, &table);
		follow_table(b, *path, wide ? table : path->table, wide);
		return false;
	case FLOW_STOP:
		if (walk_is_return(in)) {
			b->faulty |= path->stack.known && path->stack.depth != 0;
			b->balanced |= path->stack.known;
			leave_body(b, path);
		} else {
			b->stops = true;
		}
		return false;
	default:
		b->stops |= walk_is_trap(in);
		return !walk_is_trap(in);
	}
}

/* True if the path meets another function's begin. Control may fall into it only as it would be
 * called, or when the call before does not return. */
static bool meets_start(struct body *b, const struct body_path *path)
{
	if (path->at == b->start || !code_set_has(b->starts, path->at))
		return false;
	b->faulty |= !path->after_call && path->stack.known && path->stack.depth != 0;
	if (!path->after_call)
		leave_body(b, path);
	b->stops |= path->after_call;
	return true;
}

/* Decodes the instruction at the path's place; NULL, and faulty: there is none that may be. */
static const uint8_t *decode_sound(struct body *b, uint64_t at, struct insn *in)
{
	const uint8_t *p = is_own(b, at) && b->work ? elf_at(b->v, at, b->limit - at) : NULL;

	b->faulty |= !p || !insn_decode(p, b->limit - at, at, in) || walk_is_strange(p, in) ||
		     overlaps(&b->own, at, in->len) || overlaps(&b->all, at, in->len);
	return b->faulty ? NULL : p;
}

/* Notes an instruction that was decoded. */
static void add_insn(struct body *b, uint64_t at, const struct insn *in)
{
	b->work--;
	mark_insn(&b->own, at, in->len);
	*vec_add(&b->insns) = at;
	if (walk_takes_address(in) && elf_is_code(b->v, in->target))
		*vec_add(&b->names) = in->target;
}

/* Walks from one address to where the path ends, or joins what was walked before. */
static void walk_path(struct body *b, struct body_path path)
{
	const uint8_t *p;
	struct insn in;

	do {
		if ((is_own(b, path.at) && code_set_has(&b->own.first, path.at)) ||
		    meets_start(b, &path))
			return;
		p = decode_sound(b, path.at, &in);
		if (!p)
			return;
		add_insn(b, path.at, &in);
		walk_follow_stack(&path.stack, p, &in);
		b->faulty |= path.stack.known && path.stack.depth > 0;
		path.entries = walk_bound(p, &in, path.entries);
		if (walk_takes_address(&in))
			path.table = in.target;
		path.after_call = false;
	} while (!b->faulty && follow_flow(b, &path, p, &in));
}

/* --- parts --- */

/* Walks a part; false: it contradicts itself, and is undone. */
static bool walk_part(struct body *b, struct body_path from)
{
	size_t insns = b->insns.n, calls = b->calls.n, returns = b->returns.n;
	size_t names = b->names.n;
	bool ends = b->ends, balanced = b->balanced;

	b->faulty = false;
	b->branches.n = 0;
	*vec_add(&b->branches) = from;
	while (b->branches.n && !b->faulty)
		walk_path(b, b->branches.at[--b->branches.n]);
	if (!b->faulty)
		return true;
	undo_insns(b, insns);
	b->calls.n = calls;
	b->returns.n = returns;
	b->names.n = names;
	b->ends = ends;
	b->balanced = balanced;
	b->stops |= from.after_call;
	b->doubtful = true;
	return false;
}

/* False: what stands there is no function. limit: no instruction beyond it is one of this
 * function. */
bool body_walk(struct body *b, uint64_t start, uint64_t limit)
{
	const struct elf_area *area = elf_code_area(b->v, start);
	uint64_t end = area->vaddr + area->size;

	undo_insns(b, 0);
	b->calls.n = b->returns.n = b->names.n = 0;
	b->ends = b->balanced = b->stops = b->doubtful = b->unaligned = false;
	b->start = start;
	b->limit = limit < end ? limit : end;
	if (!walk_part(b, (struct body_path){ .at = start, .stack = WALK_STACK_AT_ENTRY }))
		return false;
	while (b->returns.n)
		walk_part(b, b->returns.at[--b->returns.n]);
	return true;
}

/* Returns the end of the padding from `at` on. */
static uint64_t skip_padding(const struct body *b, uint64_t at)
{
	size_t n = 1;

	while (at < b->limit && n) {
		n = walk_padding(elf_at(b->v, at, b->limit - at), b->limit - at);
		at += n;
	}
	return at;
}

/* The end of what was walked in one piece from the start; parts that lie elsewhere are not
 * counted. */
uint64_t body_end(const struct body *b)
{
	uint64_t at = b->start, next = at;

	while (next < b->limit && code_set_has(&b->own.first, next) &&
	       (next == b->start || !code_set_has(b->starts, next))) {
		at = next + marked_length(&b->own, next);
		next = skip_padding(b, at);
		if (code_set_has(&b->own.first, at))
			next = at;
	}
	return at;
}

/* Functions follow an instruction that ends another one, or padding. */
bool body_may_begin(const struct elf_view *v, uint64_t vaddr)
{
	const struct elf_area *area = elf_code_area(v, vaddr);
	uint64_t into = area ? vaddr - area->vaddr : 0;

	if (!area || into < WALK_BEFORE)
		return area && !into;
	return walk_may_end(area->bytes + into - WALK_BEFORE, vaddr % ALIGN == 0);
}

/* v and starts outlive it. The work is bounded by the code's size: a hostile file may lead the
 * walk in circles. */
void body_init(struct body *b, const struct elf_view *v, const struct code_set *starts)
{
	*b = (struct body){ .v = v, .starts = starts, .all = new_marks(v), .own = new_marks(v) };
	for (size_t i = 0; i < v->code.n; i++)
		b->work += WORK_TIMES * v->code.at[i].size;
}

void body_free(struct body *b)
{
	free_marks(&b->all);
	free_marks(&b->own);
	vec_free(&b->insns);
	vec_free(&b->calls);
	vec_free(&b->names);
	vec_free(&b->branches);
	vec_free(&b->returns);
}
