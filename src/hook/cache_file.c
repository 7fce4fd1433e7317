/* SPDX-License-Identifier: MIT */
/* The format of the plan cache: a header, then arrays, each a multiple of 8 bytes. module.c makes
 * blocks and reads them, on a planner's thread. A block never leaves the machine and is tied to one
 * build of brace, so the arrays are the structures themselves. Nothing in it is believed: a
 * checksum finds damage, and every field is checked on which memory safety or a correct patch
 * depends. A block that fails is not used, and the file is planned anew. */
#include "hook/cache_file.h"

#include <string.h>

#include "arch/code.h"

#define MAGIC "braceHK8"

struct header {
	char magic[8];
	uint64_t size, checksum;   /* of the whole block; of everything after this field */
	struct cache_key key;
	uint64_t entry;
	uint32_t n, n_strings, n_segments, n_needed, n_calls;
	uint32_t n_texts;          /* bytes of the interpreter's name and the DT_NEEDED names */
	uint16_t e_type;
	uint8_t language;
	uint8_t has_interp;
	uint8_t starts_threads, pad[7];
	uint64_t code_bytes, unknown_bytes;
	uint32_t by_kind[HOOK_KINDS_N], by_reason[REASONS_N];
};

#define CHECKED_FROM (offsetof(struct header, checksum) + sizeof(uint64_t))

/* --- checksum ---------------------------------------------------------------- */

/* The multiplication spreads each bit upwards, the shift brings the upper half down again. */
static uint64_t mix_hash(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
	return h ^ h >> 32;
}

/* Four independent lanes, so that the hash runs at memory speed: it is most of a warm start. */
uint64_t cache_hash(uint64_t seed, const void *bytes, size_t n)
{
	uint64_t h[4] = { seed, seed + 1, seed + 2, seed + 3 }, word[4];
	const uint8_t *p = bytes;
	size_t left = n;

	for (; left >= 32; left -= 32, p += 32) {
		memcpy(word, p, 32);
		for (unsigned i = 0; i < 4; i++)
			h[i] = mix_hash(h[i], word[i]);
	}
	/* The rest, padded with zeros; the length is mixed in at the end, so the padding cannot be
	 * confused with bytes. */
	memset(word, 0, sizeof(word));
	memcpy(word, p, left);
	for (unsigned i = 0; i < 4; i++)
		h[i] = mix_hash(h[i], word[i]);
	return mix_hash(mix_hash(mix_hash(mix_hash(n, h[0]), h[1]), h[2]), h[3]);
}

/* --- layout ---------------------------------------------------------------- */

/* Offsets of the arrays in the block, in their order, and its size. */
struct cache_layout { size_t functions, entries, bytes, calls, segments, strings, texts, size; };

/* Up to a multiple of 8, which is enough for every structure in the block. */
static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Counts are 32 bits wide, so sums of products cannot overflow 64. */
static struct cache_layout layout_of(const struct header *h)
{
	struct cache_layout l = { .functions = align8(sizeof(*h)) };

	l.entries = l.functions + align8(h->n * sizeof(struct hook_function));
	l.bytes = l.entries + align8(h->n * sizeof(struct hook_plan_entry));
	l.calls = l.bytes + align8(h->n * sizeof(struct hook_bytes));
	l.segments = l.calls + h->n_calls * sizeof(struct hook_call);
	l.strings = l.segments + h->n_segments * sizeof(struct sym_segment);
	l.texts = l.strings + align8(h->n_strings);
	l.size = l.texts + align8(h->n_texts);
	return l;
}

/* --- making ---------------------------------------------------------------- */

/* Fills in the function as the users of a plan see it, and the bytes that its patches expect. */
static void put_function(const struct sym_module *m, const struct hook_plan_entry *e,
			 struct hook_function *f, struct hook_bytes *b)
{
	const struct sym_function *s = &m->functions.at[e->function];
	/* The larger of what the patch overwrites and what the recipe copies. */
	size_t want = e->recipe.len > e->patch_len ? e->recipe.len : e->patch_len;
	const uint8_t *window = sym_bytes(m, e->vaddr + e->patch_offset, want);
	const uint8_t *island =
		sym_bytes(m, e->vaddr + (uint64_t)(int64_t)e->island, sizeof(b->island));

	f->vaddr = s->vaddr;
	f->size = s->size < UINT32_MAX ? (uint32_t)s->size : UINT32_MAX;
	f->name = s->name;
	f->plt = s->plt;
	if (e->kind == HOOK_NONE)
		return;
	b->window_len = (uint8_t)want;
	memcpy(b->window, window, want);
	if (e->kind == HOOK_SHORT)
		memcpy(b->island, island, sizeof(b->island));
}

/* Returns the bytes that put_texts() writes. */
static size_t texts_size(const struct sym_module *m)
{
	size_t n = m->interp ? strlen(m->interp) + 1 : 0;

	for (size_t i = 0; i < m->needed.n; i++)
		n += strlen(m->needed.at[i]) + 1;
	return n;
}

static void put_texts(const struct sym_module *m, char *to)
{
	if (m->interp)
		to = stpcpy(to, m->interp) + 1;
	for (size_t i = 0; i < m->needed.n; i++)
		to = stpcpy(to, m->needed.at[i]) + 1;
}

/* Returns the header without magic, size, key and checksum, which cache_file_seal() adds. */
static struct header make_header(const struct sym_module *m, const struct hook_plan *p)
{
	struct header h = {
		.entry = m->entry, .n = p->n, .n_strings = (uint32_t)m->strings.n,
		.n_segments = (uint32_t)m->segments.n, .n_needed = (uint32_t)m->needed.n,
		.n_calls = (uint32_t)p->calls.n,
		.n_texts = (uint32_t)texts_size(m), .e_type = m->e_type, .language = m->language,
		.has_interp = m->interp != NULL, .starts_threads = p->starts_threads,
		.code_bytes = m->code_bytes, .unknown_bytes = m->unknown_bytes,
	};

	memcpy(h.by_kind, p->by_kind, sizeof(h.by_kind));
	memcpy(h.by_reason, p->by_reason, sizeof(h.by_reason));
	return h;
}

uint8_t *cache_file_make(const struct sym_module *m, const struct hook_plan *p,
			 const struct cache_key *key, size_t *n)
{
	struct header h = make_header(m, p);
	struct cache_layout l = layout_of(&h);
	uint8_t *out = mem_zalloc(l.size);

	for (uint32_t i = 0; i < p->n; i++)
		put_function(m, &p->entries[i], (struct hook_function *)(out + l.functions) + i,
			     (struct hook_bytes *)(out + l.bytes) + i);
	memcpy(out + l.entries, p->entries, p->n * sizeof(*p->entries));
	if (p->calls.n)
		memcpy(out + l.calls, p->calls.at, p->calls.n * sizeof(*p->calls.at));
	if (m->segments.n)
		memcpy(out + l.segments, m->segments.at, m->segments.n * sizeof(*m->segments.at));
	memcpy(out + l.strings, m->strings.at, m->strings.n);
	put_texts(m, (char *)out + l.texts);
	memcpy(out, &h, sizeof(h));
	cache_file_seal(out, l.size, key);
	*n = l.size;
	return out;
}

void cache_file_seal(uint8_t *bytes, size_t n, const struct cache_key *key)
{
	struct header h;

	if (n < sizeof(h))
		return;
	memcpy(&h, bytes, sizeof(h));
	memcpy(h.magic, MAGIC, sizeof(h.magic));
	h.size = n;
	h.key = *key;
	memcpy(bytes, &h, sizeof(h));
	h.checksum = cache_hash(0, bytes + CHECKED_FROM, n - CHECKED_FROM);
	memcpy(bytes, &h, sizeof(h));
}

/* --- reading ---------------------------------------------------------------- */

/* A bool that holds neither 0 nor 1 is undefined behaviour: its byte is looked at first. */
static bool is_bool(const bool *b)
{
	return *(const uint8_t *)b <= 1;
}

/* Addresses may be any: is_code() compares without adding, so that none overflows. */
static bool good_segments(const struct sym_segment *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!is_bool(&s[i].exec) || !is_bool(&s[i].write))
			return false;
	return true;
}

/* True if the n bytes lie in an executable segment's part of the file. */
static bool is_code(const struct hook_module *m, uint64_t vaddr, uint64_t n)
{
	for (uint32_t i = 0; i < m->n_segments; i++) {
		const struct sym_segment *s = &m->segments[i];

		if (s->exec && vaddr - s->vaddr < s->filesz && n <= s->filesz - (vaddr - s->vaddr))
			return true;
	}
	return false;
}

/* Returns the length that a patch of that kind has; a plan says the same, or it is damaged. */
static uint8_t patch_len(uint8_t kind)
{
	return hook_by_callers(kind) ? 0 : kind == HOOK_SHORT ? CODE_SHORT_JUMP_BYTES
							   : CODE_JUMP_BYTES;
}

/* True if the calls of an entry by callers stand in code, do not overlap, and belong to the
 * function. */
static bool good_calls(const struct hook_module *m, const struct hook_plan_entry *e)
{
	if (!hook_by_callers(e->kind))
		return e->n_calls == 0;
	if (e->first_call > m->n_calls || e->n_calls > m->n_calls - e->first_call || e->recipe.n ||
	    e->recipe.len)
		return false;
	for (uint32_t k = e->first_call; k < e->first_call + e->n_calls; k++)
		if (m->calls[k].function != e->function ||
		    !is_code(m, m->calls[k].at, HOOK_CALL_BYTES) ||
		    (k > e->first_call && m->calls[k].at - m->calls[k - 1].at < HOOK_CALL_BYTES))
			return false;
	return true;
}

/* True if a patch of this entry writes within code only, and its recipe fits the bytes. */
static bool good_patch(const struct hook_module *m, const struct hook_plan_entry *e,
		       const struct hook_bytes *b)
{
	uint64_t at = e->vaddr + e->patch_offset;

	if (e->kind == HOOK_NONE)
		return !e->entry_only;
	return (e->patch_offset == 0 || e->patch_offset == CODE_LANDING_BYTES) &&
	       e->patch_len == patch_len(e->kind) &&
	       b->window_len <= HOOK_WINDOW_MAX && b->window_len >= e->recipe.len &&
	       b->window_len >= e->patch_len && is_code(m, at, b->window_len) &&
	       relocate_valid(&e->recipe, b->window) &&
	       (e->kind != HOOK_SHORT ||
		is_code(m, e->vaddr + (uint64_t)(int64_t)e->island, sizeof(b->island)));
}

/* True if function and entry describe the same function, in ascending order, and every enum is in
 * its range. */
static bool good_function(const struct hook_module *m, uint32_t i)
{
	const struct hook_function *f = &m->functions[i];
	const struct hook_plan_entry *e = &m->entries[i];

	return is_bool(&f->plt) && f->name < m->n_strings && (i == 0 || f->vaddr > f[-1].vaddr) &&
	       e->vaddr == f->vaddr && e->function == i && e->kind < HOOK_KINDS_N &&
	       e->reason < REASONS_N && e->leaves < NONLOCAL_KINDS && e->starts < START_KINDS &&
	       is_bool(&e->entry_only) && is_bool(&e->recipe.falls) &&
	       good_patch(m, e, &m->bytes[i]) && good_calls(m, e);
}

/* True if there are as many strings as the header says, and the last one ends. The sum is 64 bits
 * wide: 2^32 - 1 needed names and an interpreter are not none. */
static bool good_texts(const struct header *h, const char *texts)
{
	uint64_t ends = 0;

	for (uint32_t i = 0; i < h->n_texts; i++)
		ends += !texts[i];
	return ends == (uint64_t)h->n_needed + h->has_interp &&
	       (h->n_texts == 0 || !texts[h->n_texts - 1]);
}

static bool good_header(const struct header *h, const uint8_t *bytes, size_t n,
			const struct cache_key *key)
{
	/* layout_of(h).size == n first of all: the arrays lie inside of the block. */
	return memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 && h->size == n &&
	       layout_of(h).size == n && memcmp(&h->key, key, sizeof(*key)) == 0 &&
	       h->has_interp <= 1 && h->n_strings &&
	       key->file.build_id_len <= sizeof(key->file.build_id) &&
	       cache_hash(0, bytes + CHECKED_FROM, n - CHECKED_FROM) == h->checksum;
}

/* Makes the module's arrays point into the block, which the caller keeps. */
static void point_into(const struct header *h, uint8_t *bytes, struct hook_module *out)
{
	struct cache_layout l = layout_of(h);

	*out = (struct hook_module){
		.n = h->n,
		.n_strings = h->n_strings,
		.n_segments = h->n_segments,
		.n_calls = h->n_calls,
		.n_needed = h->n_needed,
		.e_type = h->e_type,
		.language = h->language,
		.entry = h->entry,
		.starts_threads = h->starts_threads,
		.code_bytes = h->code_bytes,
		.unknown_bytes = h->unknown_bytes,
		.functions = (void *)(bytes + l.functions),
		.entries = (void *)(bytes + l.entries),
		.bytes = (void *)(bytes + l.bytes),
		.calls = (void *)(bytes + l.calls),
		.segments = (void *)(bytes + l.segments),
		.strings = (void *)(bytes + l.strings),
		.build_id_len = h->key.file.build_id_len,
		.interp = h->has_interp ? (char *)bytes + l.texts : NULL,
	};
	memcpy(out->build_id, h->key.file.build_id, sizeof(out->build_id));
	memcpy(out->by_kind, h->by_kind, sizeof(out->by_kind));
	memcpy(out->by_reason, h->by_reason, sizeof(out->by_reason));
}

bool cache_file_read(uint8_t *bytes, size_t n, const struct cache_key *key, struct hook_module *out,
		     const char **needed)
{
	struct header h;
	const char *texts;

	if (n < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if (!good_header(&h, bytes, n, key))
		return false;
	point_into(&h, bytes, out);
	texts = (const char *)bytes + layout_of(&h).texts;
	if (out->strings[0] || out->strings[h.n_strings - 1] || !good_texts(&h, texts) ||
	    !good_segments(out->segments, out->n_segments))
		return false;
	for (uint32_t i = 0; i < out->n; i++)
		if (!good_function(out, i))
			return false;
	*needed = h.has_interp ? texts + strlen(texts) + 1 : texts;
	return true;
}
