/* SPDX-License-Identifier: MIT */
/* Emits trampolines from the templates of trampoline.S: copies one, fills its fields in, appends
 * the moved prologue. image/function_patches.c calls it for each selected function while a process
 * is planned, on the plan's thread; no state, no decoder. It fails only with -ERANGE, when
 * something is more than 2 GiB away. */
#include "arch/trampoline.h"

#include <errno.h>
#include <string.h>

#include "shared/memory.h"
#include "shared/record.h"
#include "shared/tls.h"

/* The content of a template's field: a distance (field_target() says of which fields), or a
 * constant, or a displacement from the thread pointer (field_value). A field has 4 bytes; F_TABLE
 * has 8, and F_FENCE is a nop of 3. */
enum field_kind {
	F_FORK_GUARD,
	F_TABLE,
	F_FENCE,
	F_WORD,
	F_RSEQ,
	F_CPU,
	F_POS,
	F_LIMIT,
	F_BODY,
	F_ID,
	F_FUNCTION,
	F_TOP,
	F_DEPTH,
	F_MAX,
	/* From here to F_LOCK: words of struct trampoline_pool. */
	F_SLOW_RECORD,
	F_SLOW_RECORD2,
	F_SLOW_ENTRY,
	F_SLOW_SITE,
	F_STATE_ENTRY,
	F_ARENA,
	F_FIND_FDE,
	F_FIND_OBJECT,
	F_ITERATE_PHDR,
	F_SLOW_NONLOCAL,
	F_LOCK,
	F_LOCK_POINT,
	F_SCOPE,
	F_NONLOCAL_ID,
	F_SIZE,
	F_FROM,
	F_FIELDS_N,
};

/* A field of a template, whose last byte is right before `end`. */
struct template_field { enum field_kind kind; const uint8_t *end; };
struct template { const uint8_t *begin, *end; struct template_field fields[16]; };

/* Labels of trampoline.S: begin and end of each template, and the ends of its fields. */
#define LABEL(name) extern const uint8_t name[]
LABEL(graph_begin);
LABEL(graph_end);
LABEL(graph_fork_guard);
LABEL(graph_table);
LABEL(graph_fence);
LABEL(graph_word);
LABEL(graph_rseq); LABEL(graph_cpu); LABEL(graph_pos); LABEL(graph_limit); LABEL(graph_body);
LABEL(graph_record); LABEL(graph_body2); LABEL(graph_id); LABEL(graph_entry);
LABEL(call_begin);
LABEL(call_end);
LABEL(call_fork_guard);
LABEL(call_table);
LABEL(call_fence);
LABEL(call_word);
LABEL(call_arena); LABEL(call_function); LABEL(call_rseq); LABEL(call_cpu); LABEL(call_pos);
LABEL(call_limit); LABEL(call_record); LABEL(call_site);
LABEL(state_begin);
LABEL(state_end);
LABEL(state_fork_guard);
LABEL(state_top);
LABEL(state_depth);
LABEL(state_max);
LABEL(state_body); LABEL(state_id); LABEL(state_entry);
LABEL(inner_begin);
LABEL(inner_end);
LABEL(inner_fork_guard);
LABEL(inner_top);
LABEL(inner_depth);
LABEL(inner_max);
LABEL(inner_body); LABEL(inner_id); LABEL(inner_entry);

LABEL(no_tls_begin); LABEL(no_tls_end); LABEL(no_tls_body); LABEL(no_tls_id); LABEL(no_tls_entry);
LABEL(nonlocal_begin);
LABEL(nonlocal_end);
LABEL(nonlocal_body);
LABEL(nonlocal_entry);
LABEL(nonlocal_id);
LABEL(nonlocal_size); LABEL(nonlocal_from);
LABEL(scope_begin); LABEL(scope_end); LABEL(scope_body); LABEL(scope_id); LABEL(scope_entry);
LABEL(scope_word);
LABEL(lock_begin); LABEL(lock_end); LABEL(lock_point); LABEL(lock_body); LABEL(lock_agent);
LABEL(wrap_begin); LABEL(wrap_end); LABEL(wrap_body); LABEL(wrap_answer);

#define CALL_TEMPLATE                                                                             \
	{ call_begin, call_end,                                                                   \
	  { { F_FORK_GUARD, call_fork_guard }, { F_TABLE, call_table }, { F_ARENA, call_arena },              \
	    { F_FUNCTION, call_function }, { F_FENCE, call_fence }, { F_WORD, call_word },        \
	    { F_RSEQ, call_rseq },                                                                \
	    { F_CPU, call_cpu }, { F_POS, call_pos }, { F_LIMIT, call_limit },                    \
	    { F_SLOW_RECORD2, call_record }, { F_SLOW_SITE, call_site } } }
#define STATE_TEMPLATE(t)                                                                         \
	{ t##_begin, t##_end,                                                                     \
	  { { F_FORK_GUARD, t##_fork_guard }, { F_TOP, t##_top }, { F_DEPTH, t##_depth }, \
	    { F_MAX, t##_max }, { F_BODY, t##_body },                                             \
	    { F_ID, t##_id }, { F_STATE_ENTRY, t##_entry } } }

#define NO_TLS_TEMPLATE                                            \
	{ no_tls_begin, no_tls_end,                               \
	  { { F_BODY, no_tls_body }, { F_ID, no_tls_id },         \
	    { F_STATE_ENTRY, no_tls_entry } } }

#define WRAP_TEMPLATE(answer) \
	{ wrap_begin, wrap_end, { { F_BODY, wrap_body }, { answer, wrap_answer } } }

/* A list of fields ends with one whose `end` is NULL. Kinds share a template where only constants
 * differ. */
static const struct template templates[TRAMPOLINE_KINDS] = {
	[TRAMPOLINE_GRAPH] = { graph_begin, graph_end,
		{ { F_FORK_GUARD, graph_fork_guard }, { F_TABLE, graph_table },
		  { F_FENCE, graph_fence }, { F_WORD, graph_word }, { F_RSEQ, graph_rseq },
		  { F_CPU, graph_cpu }, { F_POS, graph_pos },
		  { F_LIMIT, graph_limit }, { F_BODY, graph_body }, { F_SLOW_RECORD, graph_record },
		  { F_BODY, graph_body2 }, { F_ID, graph_id }, { F_SLOW_ENTRY, graph_entry } } },
	[TRAMPOLINE_CALL] = CALL_TEMPLATE,
	[TRAMPOLINE_ENTRY_ONLY] = CALL_TEMPLATE,
	[TRAMPOLINE_STATE] = STATE_TEMPLATE(state),
	[TRAMPOLINE_INNER] = STATE_TEMPLATE(inner),
	[TRAMPOLINE_STATE_ENTRY_ONLY] = STATE_TEMPLATE(state),
	[TRAMPOLINE_INNER_ENTRY_ONLY] = STATE_TEMPLATE(inner),
	[TRAMPOLINE_NO_TLS] = NO_TLS_TEMPLATE,
	[TRAMPOLINE_NO_TLS_INNER] = NO_TLS_TEMPLATE,
	[TRAMPOLINE_NO_TLS_ENTRY_ONLY] = NO_TLS_TEMPLATE,
	[TRAMPOLINE_NO_TLS_INNER_ENTRY_ONLY] = NO_TLS_TEMPLATE,
	[TRAMPOLINE_NONLOCAL] = { nonlocal_begin, nonlocal_end,
		{ { F_BODY, nonlocal_body }, { F_SLOW_NONLOCAL, nonlocal_entry },
		  { F_NONLOCAL_ID, nonlocal_id }, { F_SIZE, nonlocal_size },
		  { F_FROM, nonlocal_from } } },
	[TRAMPOLINE_SCOPE] = { scope_begin, scope_end,
		{ { F_BODY, scope_body }, { F_ID, scope_id }, { F_STATE_ENTRY, scope_entry },
		  { F_SCOPE, scope_word } } },
	[TRAMPOLINE_LOCK] = { lock_begin, lock_end,
		{ { F_LOCK_POINT, lock_point }, { F_BODY, lock_body }, { F_LOCK, lock_agent } } },
	[TRAMPOLINE_FIND_FDE] = WRAP_TEMPLATE(F_FIND_FDE),
	[TRAMPOLINE_FIND_OBJECT] = WRAP_TEMPLATE(F_FIND_OBJECT),
	[TRAMPOLINE_ITERATE_PHDR] = WRAP_TEMPLATE(F_ITERATE_PHDR),
};

/* Kinds that the function tracer's template may precede (it leaves everything as it was). For
 * no-TLS kinds the agent writes that record itself. */
static const bool graphs[TRAMPOLINE_KINDS] = {
	[TRAMPOLINE_GRAPH] = true,
	[TRAMPOLINE_ENTRY_ONLY] = true,
	[TRAMPOLINE_STATE] = true,
	[TRAMPOLINE_INNER] = true,
	[TRAMPOLINE_STATE_ENTRY_ONLY] = true,
	[TRAMPOLINE_INNER_ENTRY_ONLY] = true,
	[TRAMPOLINE_NONLOCAL] = true,
	[TRAMPOLINE_SCOPE] = true,
};

/* Without the moved instructions, which follow it. */
static size_t template_size(enum trampoline_kind kind)
{
	return (size_t)(templates[kind].end - templates[kind].begin);
}

/* Flags in the id word of state trampolines. */
static const uint32_t id_flags[TRAMPOLINE_KINDS] = {
	[TRAMPOLINE_STATE] = STATE_GRAPH_FUNCTION,
	[TRAMPOLINE_STATE_ENTRY_ONLY] = STATE_GRAPH_FUNCTION | STATE_ENTRY_ONLY,
	[TRAMPOLINE_INNER_ENTRY_ONLY] = STATE_ENTRY_ONLY,
	[TRAMPOLINE_NO_TLS] = STATE_GRAPH_FUNCTION,
	[TRAMPOLINE_NO_TLS_ENTRY_ONLY] = STATE_GRAPH_FUNCTION | STATE_ENTRY_ONLY,
	[TRAMPOLINE_NO_TLS_INNER_ENTRY_ONLY] = STATE_ENTRY_ONLY,
};

/* Returns the low 24 bits of the record that this kind of trampoline writes. */
static uint32_t record_low(enum trampoline_kind kind, uint32_t id)
{
	switch (kind) {
	case TRAMPOLINE_CALL:
		return record_event_id(1, RECORD_EVENT_CALL) << 2;
	case TRAMPOLINE_ENTRY_ONLY:
		return record_event_id(1, RECORD_EVENT_ENTRY_ONLY) << 2;
	default:
		return id << 2 | RECORD_ENTRY;
	}
}

/* Fields that refer to a pointer in the pool: one pool of addresses serves all trampolines near
 * it. */
static const size_t pool_offset[F_FIELDS_N] = {
	[F_SLOW_RECORD] = offsetof(struct trampoline_pool, slow_record),
	[F_SLOW_RECORD2] = offsetof(struct trampoline_pool, slow_record2),
	[F_SLOW_ENTRY] = offsetof(struct trampoline_pool, slow_entry),
	[F_SLOW_SITE] = offsetof(struct trampoline_pool, slow_site),
	[F_STATE_ENTRY] = offsetof(struct trampoline_pool, state_entry),
	[F_SLOW_NONLOCAL] = offsetof(struct trampoline_pool, slow_nonlocal),
	[F_LOCK] = offsetof(struct trampoline_pool, lock),
	[F_ARENA] = offsetof(struct trampoline_pool, arena),
	[F_FIND_FDE] = offsetof(struct trampoline_pool, find_fde),
	[F_FIND_OBJECT] = offsetof(struct trampoline_pool, find_object),
	[F_ITERATE_PHDR] = offsetof(struct trampoline_pool, iterate_phdr),
};

/* Returns the address that a rip-relative field refers to; 0 if the field is an immediate. */
static uint64_t field_target(enum field_kind kind, const struct trampoline_env *env, uint64_t from,
			     uint64_t body)
{
	switch (kind) {
	case F_FORK_GUARD:
		return env->fork_guard;
	case F_BODY:
		return body;
	case F_FROM:
		return from;
	case F_SLOW_RECORD: case F_SLOW_RECORD2: case F_SLOW_ENTRY: case F_SLOW_SITE:
	case F_STATE_ENTRY:
	case F_SLOW_NONLOCAL:
	case F_LOCK:
	case F_ARENA:
	case F_FIND_FDE:
	case F_FIND_OBJECT:
	case F_ITERATE_PHDR:
		return env->pool + pool_offset[kind];
	default:
		return 0;
	}
}

/* Returns the value of an immediate, or of a displacement from the thread pointer. */
static uint32_t field_value(enum field_kind kind, const struct trampoline_env *env,
			    enum trampoline_kind trampoline, uint32_t id)
{
	switch (kind) {
	case F_WORD:
		return record_low(trampoline, id);
	case F_ID:
		return record_low(trampoline, id) | id_flags[trampoline] |
		       (trampoline == TRAMPOLINE_SCOPE ? STATE_SCOPE | env->id_flags : 0) |
		       env->returned << RETURNED_SHIFT;
	case F_FUNCTION:
		return id;
	case F_NONLOCAL_ID:
		return id << 2 | RECORD_ENTRY | env->id_flags;
	case F_SCOPE:
		return env->scope;
	case F_LOCK_POINT:
		return env->lock_point;
	case F_SIZE:
		return env->function_size;
	case F_RSEQ:
		return (uint32_t)env->key;
	case F_MAX:
		/* No limit: any depth is below it. */
		return env->max_depth ? env->max_depth : INT32_MAX;
	case F_CPU:
		return (uint32_t)(env->tls + TLS_KEY);
	case F_LIMIT:
		return (uint32_t)(env->tls + TLS_END);
	case F_TOP:
		return (uint32_t)(env->tls + TLS_TOP_SP);
	case F_DEPTH:
		return (uint32_t)(env->tls + TLS_DEPTH);
	default:
		return (uint32_t)(env->tls + TLS_POS);
	}
}

/* Writes the distance from `next`, the address after the field. -ERANGE: more than 2 GiB. */
static int put_rel32(uint8_t *field, uint64_t next, uint64_t target)
{
	int64_t delta = (int64_t)(target - next);
	int32_t rel = (int32_t)delta;

	if (rel != delta)
		return -ERANGE;
	memcpy(field, &rel, sizeof(rel));
	return 0;
}

/* A moved instruction grows by at most a pushed constant and a jump; a jump back ends the code. */
#define MOVED_GROWTH 20
#define JUMP_BACK 5

/* An upper limit: the exact size is known when the code has been emitted. */
size_t trampoline_room(enum trampoline_kind kind, bool record_both,
		       const struct relocate_recipe *recipe)
{
	size_t body = recipe->len + MOVED_GROWTH * (size_t)recipe->n + JUMP_BACK;

	if (body > RELOCATE_MAX_BYTES)
		body = RELOCATE_MAX_BYTES;
	return (record_both && graphs[kind] ? template_size(TRAMPOLINE_CALL) : 0) +
	       template_size(kind) + body;
}

/* Addresses of one trampoline: the function, the template, the code after it. */
struct template_layout { uint64_t from, at, body; };

/* Over a nop of three bytes. */
static void put_fence(uint8_t *at, bool causal)
{
	static const uint8_t lfence[3] = { 0x0f, 0xae, 0xe8 };

	if (causal)
		memcpy(at, lfence, sizeof(lfence));
}

/* Copies the template and fills in its fields. */
static int emit_template(enum trampoline_kind kind, const struct trampoline_env *env, uint32_t id,
			 const struct template_layout *layout, uint8_t *out)
{
	const struct template *t = &templates[kind];
	/* Only a graph's call goes on through a stub by itself. */
	uint32_t returned = kind == TRAMPOLINE_GRAPH ? env->returned : RETURNED_WORD;
	uint64_t table = env->table + (uint64_t)returned * SITE_TABLE_BYTES;

	memcpy(out, t->begin, template_size(kind));
	for (const struct template_field *f = t->fields; f->end; f++) {
		size_t end = (size_t)(f->end - t->begin);
		uint64_t target = field_target(f->kind, env, layout->from, layout->body);
		uint32_t value = field_value(f->kind, env, kind, id);

		if (f->kind == F_TABLE)
			memcpy(out + end - 8, &table, 8);
		else if (f->kind == F_FENCE)
			put_fence(out + end - 3, env->causal);
		else if (!target)
			memcpy(out + end - 4, &value, 4);
		else if (put_rel32(out + end - 4, layout->at + end, target) < 0)
			return -ERANGE;
	}
	return 0;
}

/* The function tracer's record stands before the kind's own. A function that is hooked only because
 * it may leave its stack, or for a scope, is not traced, so it has none. */
static size_t call_size(enum trampoline_kind kind, const struct trampoline_env *env)
{
	bool silent = (kind == TRAMPOLINE_NONLOCAL && env->id_flags & NONLOCAL_SILENT) ||
		      (kind == TRAMPOLINE_SCOPE && env->scope & SCOPE_SILENT);

	return env->record_both && graphs[kind] && !silent ? template_size(TRAMPOLINE_CALL) : 0;
}

#define CALL_AND_NOP 13

/* Bytes of the code that decides about the call before the agent is asked. */
static size_t condition_size(const struct trampoline_env *env)
{
	return env->arguments && env->condition.filter ? condition_code_bytes(&env->condition) : 0;
}

/* The call of the agent that looks at arguments, and the jump by its answer. */
static size_t ask_size(const struct trampoline_env *env)
{
	return !env->arguments ? 0 : env->conditional ? TRAMPOLINE_ARGUMENTS_BYTES : CALL_AND_NOP;
}

static size_t arguments_size(const struct trampoline_env *env)
{
	return condition_size(env) + ask_size(env);
}

size_t trampoline_body(enum trampoline_kind kind, const struct trampoline_env *env)
{
	return arguments_size(env) + call_size(kind, env) + template_size(kind);
}

/* A call that satisfies the condition passes by the agent, unless arguments are recorded. */
static int emit_condition(const struct trampoline_env *env, uint64_t at, uint64_t body,
			  uint8_t *out)
{
	uint64_t asks = at + condition_size(env);
	const struct condition_ends ends = {
		.passes = env->recorded ? asks : asks + ask_size(env), .asks = asks,
		.rejects = body, .fork_guard = env->fork_guard, .top = env->tls + TLS_TOP_SP,
	};

	return asks == at ? 0 : condition_code_emit(&env->condition, &ends, at, out);
}

/* call *disp32(%rip), and nopl disp32(%rax), whose displacement leads from it to the site. The
 * stack pointer need not step over anything: at a function's entry nothing lives below it. The
 * agent's answer is the carry flag: jc leads to the body, past everything that records. */
static int emit_ask(const struct trampoline_env *env, uint64_t at, uint64_t body, uint8_t *out)
{
	static const uint8_t code[TRAMPOLINE_ARGUMENTS_BYTES] = {
		0xff, 0x15, 0, 0, 0, 0, 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x0f, 0x82,
	};
	uint64_t word = env->pool + offsetof(struct trampoline_pool, arguments);

	if (!env->arguments)
		return 0;
	memcpy(out, code, ask_size(env));
	if (put_rel32(out + 2, at + 6, word) < 0)
		return -ERANGE;
	if (env->conditional &&
	    put_rel32(out + CALL_AND_NOP + 2, at + TRAMPOLINE_ARGUMENTS_BYTES, body) < 0)
		return -ERANGE;
	return put_rel32(out + 9, at + 6, env->arguments);
}

/* The condition, the call that looks at arguments, the function tracer's template, if both are
 * wanted, the kind's own, and the moved instructions. */
int trampoline_emit(enum trampoline_kind kind, const struct trampoline_env *env, uint32_t id,
		    const struct relocate_recipe *recipe, const uint8_t *original, uint64_t vaddr,
		    uint64_t from, uint64_t at, uint8_t *out)
{
	size_t first = arguments_size(env), call = first + call_size(kind, env);
	size_t size = call + template_size(kind), ask = condition_size(env);
	int r = emit_condition(env, at, at + size, out);

	if (r == 0)
		r = emit_ask(env, at + ask, at + size, out + ask);
	if (r == 0 && call > first)
		r = emit_template(TRAMPOLINE_CALL, env, id,
				  &(struct template_layout){ from, at + first, at + call },
				  out + first);
	if (r == 0)
		r = emit_template(kind, env, id,
				  &(struct template_layout){ from, at + call, at + size },
				  out + call);
	if (r == 0)
		r = relocate_emit(recipe, original, vaddr, from, at + size, out + size);
	return r < 0 ? r : (int)size + r;
}
