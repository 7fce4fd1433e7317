/* SPDX-License-Identifier: MIT */
/* The arguments and values of functions in a trace.dat: those of a call as the kernel's
 * funcgraph-args and funcgraph-retval record them, a word each, and BTF (the kernel's
 * Documentation/bpf/btf.rst), by which trace-cmd finds the arguments' names and types. trace-cmd
 * prints a number or its bytes and nothing else: a text has no place there. trace_dat.c and
 * trace_dat_file.c call this on brace's only thread; nothing here fails. The prototypes and the
 * records may be anybody's. */
#include "export/trace_dat.h"

#include <stdlib.h>
#include <string.h>

#include "base/prototype.h"

#define BTF_MAGIC 0xeb9fu
#define BTF_HEAD 24
#define KIND_SHIFT 24
#define SIGNED_ENUM (1u << 31)
enum {
	KIND_INT = 1, KIND_PTR = 2, KIND_STRUCT = 4, KIND_ENUM = 6, KIND_FUNC = 12, KIND_PROTO = 13,
	KIND_FLOAT = 16
};
/* How the 4 bytes behind an INT say what it is. */
#define INT_SIGNED (1u << 24)
#define INT_BOOL (4u << 24)

/* Types that all files have, numbered from 1 on. A word of `args` has a sign that the reader does
 * not extend, so that all signed numbers are of its 64 bits. */
enum {
	ID_NONE, ID_SIGNED, ID_CHAR, ID_U8, ID_U16, ID_U32, ID_U64, ID_BOOL, ID_FLOAT, ID_DOUBLE,
	ID_POINTER
};
static const struct { const char *name; uint32_t kind, size, describes; } plain_types[] = {
	{ "long", KIND_INT, 8, INT_SIGNED | 64 },
	{ "char", KIND_INT, 8, INT_SIGNED | 64 },
	{ "unsigned char", KIND_INT, 1, 8 },
	{ "unsigned short", KIND_INT, 2, 16 },
	{ "unsigned int", KIND_INT, 4, 32 },
	{ "unsigned long", KIND_INT, 8, 64 },
	{ "bool", KIND_INT, 1, INT_BOOL | 8 },
	{ "float", KIND_FLOAT, 4, 0 },
	{ "double", KIND_FLOAT, 8, 0 },
	{ "", KIND_PTR, 0, 0 },       /* to void */
};

/* --- prototypes ---------------------------------------------------------------------------- */

/* NULL: the trace does not say what the function takes. */
static const char *prototype_text(const struct trace_dat *d, uint32_t function)
{
	const struct trace_module *m;
	const struct trace_function *f = walk_function(&d->walk, function, &m);

	return f && f->prototype ? m->strings.at + f->prototype : NULL;
}

static bool parse(const struct trace_dat *d, uint32_t function, struct prototype *p)
{
	const char *text = prototype_text(d, function);

	return text && prototype_parse(text, p) && p->takes;
}

/* Whether the value is a copy of its bytes: by its address it is a pointer there. */
static bool is_block(const struct prototype_value *v)
{
	return v->block && !v->by_address;
}

/* A string: the record has its characters, and not the pointer. */
static bool is_text(const struct prototype_value *v)
{
	return v->type == PROTOTYPE_STRING_AT;
}

/* An enumeration has a sign if one of its names has a value below 0. */
static bool has_sign(const struct prototype_value *v)
{
	if (v->type == PROTOTYPE_ENUM)
		return memmem(v->names, v->names_bytes, ":-", 2);
	return v->type == PROTOTYPE_SIGNED || v->type == PROTOTYPE_CHAR;
}

/* The value's own bytes of a register, or of a word, as 64 bits. It has bytes. A shift by 64 would
 * be undefined: v->size is at least 1. */
static uint64_t with_sign(const struct prototype_value *v, uint64_t word)
{
	const uint32_t unused = 64 - 8u * v->size;

	word <<= unused;
	return has_sign(v) ? (uint64_t)((int64_t)word >> unused) : word >> unused;
}

/* --- words of a call ----------------------------------------------------------------------- */

/* Writes the words of a value; the number of them, 0: it was not recorded. What has no bytes, and a
 * text, has a word all the same, because the reader counts one. Places of values count from the
 * record's header on, hence PROTOTYPE_FIRST. A record may be shorter than its prototype wants:
 * `e->count` bounds what is read. */
static uint32_t value_words(const struct event *e, const struct prototype_value *v, uint64_t *words)
{
	const bool block = is_block(v);
	const uint32_t at = block ? v->block : v->at, bytes = block ? v->bytes : v->size;
	const uint32_t n = bytes ? (bytes + 7u) / 8 : 1;

	if (bytes && at + bytes > PROTOTYPE_FIRST + e->count)
		return 0;
	memset(words, 0, 8 * n);
	if (!bytes || is_text(v))
		return 1;
	memcpy(words, (const char *)e->payload + at - PROTOTYPE_FIRST, bytes);
	if (!block)
		*words = with_sign(v, *words);
	return n;
}

uint32_t trace_dat_words(struct trace_dat *d, const struct walk_step *s,
			 uint64_t words[TRACE_DAT_WORDS])
{
	struct prototype p;
	uint32_t n = 0;

	if (!d->describes || !s->event || !parse(d, s->function, &p))
		return 0;
	for (uint32_t i = 0; i < p.n; i += 1 + p.parameters[i].members) {
		uint32_t more = value_words(s->event, &p.parameters[i], words + n);

		if (!more)
			break;
		n += more;
		d->walk.counts.texts += is_text(&p.parameters[i]);
	}
	return n;
}

/* --- what a call returned ------------------------------------------------------------------- */

/* The register of a returned value: the pointer of a text, nothing of a structure. A value that
 * was recorded in the other kind of register (of jumps to another function) is none. */
static uint64_t value_word(struct trace_dat *d, const struct prototype_value *v,
			   const struct call_value *value)
{
	const bool is_float = value->flags & CALL_FLOAT;

	if (value->flags & (CALL_TEXT | CALL_BLOCK))
		d->walk.counts.long_values++;
	if (v->type == PROTOTYPE_VOID || v->type == PROTOTYPE_UNASKED ||
	    v->type == PROTOTYPE_WHOLE || is_float != (v->type == PROTOTYPE_FLOAT))
		return 0;
	return v->type == PROTOTYPE_STRING_AT || !v->size ? value->number
							  : with_sign(v, value->number);
}

uint64_t trace_dat_returned(struct trace_dat *d, const struct walk_step *s)
{
	const char *text = prototype_text(d, s->function);
	struct prototype p;

	if (!(s->flags & WALK_VALUE))
		return 0;
	if (!text || !prototype_parse(text, &p) || p.returns.type == PROTOTYPE_UNKNOWN)
		return s->value.flags & CALL_FLOAT ? 0 : s->value.number;
	return value_word(d, &p.returns, &s->value);
}

/* --- types --------------------------------------------------------------------------------- */

/* BTF under way. */
struct btf {
	struct bytes types, strings;
	uint32_t n;               /* types, the last one's number */
};

/* Returns the place of a name among the strings. */
static uint32_t add_name(struct btf *b, const char *name, size_t n)
{
	const uint32_t at = (uint32_t)b->strings.n;

	if (!n)
		return 0;
	bytes_put(&b->strings, name, n);
	bytes_u8(&b->strings, 0);
	return at;
}

/* Appends what all types begin with, and returns the type's number. What the kind wants behind it
 * follows, `n` parts; n may have a flag of the kind. It is struct btf_type of the kernel's
 * include/uapi/linux/btf.h: name, info (bits 24 to 28 the kind, 0 to 15 the parts), size or
 * type. */
static uint32_t add_type(struct btf *b, uint32_t name, uint32_t kind, uint32_t n, uint32_t size)
{
	bytes_u32(&b->types, name);
	bytes_u32(&b->types, kind << KIND_SHIFT | n);
	bytes_u32(&b->types, size);
	return ++b->n;
}

static void add_plain_types(struct btf *b)
{
	bytes_u8(&b->strings, 0); /* the empty name, at 0 */
	for (size_t i = 0; i < sizeof(plain_types) / sizeof(*plain_types); i++) {
		const char *name = plain_types[i].name;

		add_type(b, add_name(b, name, strlen(name)), plain_types[i].kind, 0,
			 plain_types[i].size);
		if (plain_types[i].kind == KIND_INT)
			bytes_u32(&b->types, plain_types[i].describes);
	}
}

/* The number of names of an enumeration that BTF can hold in 32 bits each; 0: it cannot hold
 * all. */
static uint32_t count_names(const struct prototype_value *v)
{
	const char *at = v->names, *end = v->names + v->names_bytes;
	struct prototype_name name;
	uint32_t n = 0;

	for (; prototype_next_name(&at, end, &name); n++)
		if (name.number != (int32_t)name.number)
			return 0;
	return n <= UINT16_MAX ? n : 0;
}

/* An enumeration without a name of its own, or a number. */
static uint32_t add_enum(struct btf *b, const struct prototype_value *v)
{
	const char *at = v->names, *end = v->names + v->names_bytes;
	const uint32_t n = count_names(v);
	struct prototype_name name;
	uint32_t id;

	if (!n)
		return ID_SIGNED;
	id = add_type(b, 0, KIND_ENUM, n | (has_sign(v) ? SIGNED_ENUM : 0), v->size);
	while (prototype_next_name(&at, end, &name)) {
		bytes_u32(&b->types, add_name(b, name.text, name.bytes));
		bytes_u32(&b->types, (uint32_t)(int32_t)name.number);
	}
	return id;
}

static uint32_t unsigned_type(unsigned size)
{
	return size == 1 ? ID_U8 : size == 2 ? ID_U16 : size == 4 ? ID_U32 : ID_U64;
}

/* The number of the value's type, made if it is one of its own. ID_NONE: its word tells nothing,
 * and the reader shows none. */
static uint32_t type_of(struct btf *b, const struct prototype_value *v)
{
	if (is_block(v))
		return add_type(b, 0, KIND_STRUCT, 0, v->bytes);
	switch ((enum prototype_type)v->type) {
	case PROTOTYPE_SIGNED: return ID_SIGNED;
	case PROTOTYPE_CHAR: return ID_CHAR;
	case PROTOTYPE_UNSIGNED: return unsigned_type(v->size);
	case PROTOTYPE_BOOL: return ID_BOOL;
	case PROTOTYPE_FLOAT: return v->size == 4 ? ID_FLOAT : ID_DOUBLE;
	case PROTOTYPE_POINTER: case PROTOTYPE_STRUCT: return ID_POINTER;
	case PROTOTYPE_ENUM: return add_enum(b, v);
	case PROTOTYPE_VOID: case PROTOTYPE_UNKNOWN: case PROTOTYPE_UNASKED:
	case PROTOTYPE_STRING_AT: case PROTOTYPE_CHARS: case PROTOTYPE_ARRAY:
	case PROTOTYPE_WIDE_SIGNED: case PROTOTYPE_WIDE_UNSIGNED: case PROTOTYPE_LONG_DOUBLE:
	case PROTOTYPE_QUAD: case PROTOTYPE_COMPLEX: case PROTOTYPE_WHOLE:
		break;
	}
	return ID_NONE;
}

/* A function with its prototype. Types of parameters stand before it: they may be new ones. */
static void add_function(struct btf *b, const char *name, const struct prototype *p)
{
	uint32_t types[PROTOTYPE_PARAMETERS + 1], names[PROTOTYPE_PARAMETERS + 1], n = 0;
	const uint32_t returns = type_of(b, &p->returns);
	uint32_t id;

	for (uint32_t i = 0; i < p->n; i += 1 + p->parameters[i].members, n++) {
		types[n] = type_of(b, &p->parameters[i]);
		names[n] = add_name(b, p->parameters[i].name, p->parameters[i].name_bytes);
	}
	if (p->more) /* C's "...": no name, no type */
		types[n] = names[n] = 0, n++;
	id = add_type(b, 0, KIND_PROTO, n, returns);
	for (uint32_t i = 0; i < n; i++) {
		bytes_u32(&b->types, names[i]);
		bytes_u32(&b->types, types[i]);
	}
	add_type(b, add_name(b, name, strlen(name)), KIND_FUNC, 1, id);
}

/* --- functions ------------------------------------------------------------------------------ */

/* A function that is described: its name in kallsyms, by which the reader looks it up. */
struct described { char *name; const char *prototype; uint32_t function; };

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct described *)a)->name, ((const struct described *)b)->name);
}

/* Adds the functions of one name, n of them. Where programs have several that take different
 * things, the reader cannot tell them apart, and shows their words as numbers. */
static void add_named(struct btf *b, const struct trace_dat *d, const struct described *at,
		      size_t n)
{
	struct prototype p;

	for (size_t i = 1; i < n; i++)
		if (strcmp(at->prototype, at[i].prototype))
			return;
	if (parse(d, at->function, &p))
		add_function(b, at->name, &p);
}

static void add_functions(struct btf *b, const struct trace_dat *d)
{
	VEC(struct described) all = { 0 };
	struct prototype p;

	for (uint32_t i = 0; i < d->walk.functions.n; i++)
		if (parse(d, i, &p))
			*vec_add(&all) = (struct described){ trace_dat_name(d, i),
							     prototype_text(d, i), i };
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), compare_names);
	for (size_t i = 0, n; i < all.n; i += n) {
		for (n = 1; i + n < all.n && !strcmp(all.at[i].name, all.at[i + n].name); n++)
			;
		add_named(b, d, &all.at[i], n);
	}
	for (size_t i = 0; i < all.n; i++)
		free(all.at[i].name);
	vec_free(&all);
}

bool trace_dat_describes(const struct trace_dat *d)
{
	struct prototype p;

	for (uint32_t i = 0; d->describes && i < d->walk.functions.n; i++)
		if (parse(d, i, &p))
			return true;
	return false;
}

void trace_dat_put_btf(const struct trace_dat *d, struct out *o)
{
	struct btf b = { 0 };
	struct bytes head = { 0 };

	add_plain_types(&b);
	add_functions(&b, d);
	bytes_u16(&head, BTF_MAGIC);
	bytes_u8(&head, 1);       /* version */
	bytes_u8(&head, 0);       /* flags */
	bytes_u32(&head, BTF_HEAD);
	bytes_u32(&head, 0);      /* types, from the head's end on */
	bytes_u32(&head, (uint32_t)b.types.n);
	bytes_u32(&head, (uint32_t)b.types.n);
	bytes_u32(&head, (uint32_t)b.strings.n);
	out_bytes(o, (const char *)head.at, head.n);
	out_bytes(o, (const char *)b.types.at, b.types.n);
	out_bytes(o, (const char *)b.strings.at, b.strings.n);
	vec_free(&head);
	vec_free(&b.types);
	vec_free(&b.strings);
}
