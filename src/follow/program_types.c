/* SPDX-License-Identifier: MIT */
/* sym/source.h finds the members; here they become offsets behind pointers, as the records of calls
 * have them. Called once for each run, on brace's thread; the debug information is not trusted. A
 * type or member that is not there is -errno and a sentence, with its column. */
#include "follow/program_types.h"

#include <errno.h>
#include <string.h>

static uint64_t mask_of(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* The loads on the way. False: there are too many, or one is not within the structure. */
static bool field_chain(const struct sym_chain *c, struct follow_field *out)
{
	if (c->loads > FOLLOW_STEPS)
		return false;
	for (uint8_t i = 0; i <= c->loads; i++)
		if (c->offsets[i] < 0 || c->offsets[i] > INT32_MAX)
			return false;
	for (uint8_t i = 0; i < c->loads; i++)
		out->offset[i] = (uint32_t)c->offsets[i];
	out->steps = c->loads;
	out->last = (uint32_t)c->offsets[c->loads];
	return true;
}

/* The number's bytes and bits within what its last load gives. */
static void field_number(const struct sym_fetched *f, struct follow_field *out)
{
	unsigned bits = f->bits ? f->bits : 8u * f->size;
	bool is_signed = f->type == SYM_FETCHED_SIGNED || f->type == SYM_FETCHED_CHAR;

	out->bytes = f->size;
	out->shift = f->bits ? f->shift : 0;
	out->mask = mask_of(bits);
	out->sign = is_signed ? bits : 0;
	out->pointer = f->type == SYM_FETCHED_POINTER || f->type == SYM_FETCHED_STRING_AT;
}

/* Characters, which are behind one pointer more if the member is a pointer to them. False: there
 * are too many on the way. */
static bool field_text(const struct sym_fetched *f, struct follow_field *out)
{
	if (f->type == SYM_FETCHED_STRING)
		return true;
	if (out->steps == FOLLOW_STEPS)
		return false;
	out->offset[out->steps++] = out->last;
	out->last = 0;
	return true;
}

/* The member at these names of the path, from the first-th on. text: it may be characters. */
static int resolve_field(struct sym_structure *st, const char *user, const struct follow_path *path,
			 uint32_t first, bool text, struct follow_field *out, struct err *err)
{
	size_t at = path->names[first].at, last = path->names[path->n - 1].at;
	struct sym_fetched f;
	int e = sym_structure_fetch(st, user, at, path->end - at, &f, err);
	bool is_text, reached;

	if (e)
		return -EINVAL;
	*out = (struct follow_field){ 0 };
	if (f.count)
		return err_at(err, EINVAL, user, last, "the field is an array: name one element");
	if (!f.memory)
		return err_at(err, EINVAL, user, last, "the field is no place in memory");
	reached = field_chain(&f.chain, out);
	is_text = f.type == SYM_FETCHED_STRING || (text && f.type == SYM_FETCHED_STRING_AT);
	if (is_text && !text)
		return err_at(err, EINVAL, user, last, "the field is no integer: only integers, enumerations and pointers are compared");
	if (is_text)
		reached = reached && field_text(&f, out);
	else
		field_number(&f, out);
	return reached ? 0 : err_at(err, EINVAL, user, last,
				    "the path leads through more than %u pointers", FOLLOW_STEPS);
}

/* The value is taken in the field's bits; one that it can never have is a fault of the text. */
static int plan_condition(struct sym_structure *st, const char *user,
			  const struct follow_condition *c, struct follow_test *out,
			  struct err *err)
{
	int e = resolve_field(st, user, &c->path, 0, false, &out->field, err);

	out->mask = c->mask;
	out->value = c->value;
	out->compare = c->compare;
	if (!e && !follow_field_fit(&out->field, &out->value))
		e = err_at(err, EINVAL, user, c->path.names[c->path.n - 1].at,
			   "the field has %u bits, and is never %#llx",
			   (unsigned)__builtin_popcountll(out->field.mask),
			   (unsigned long long)c->value);
	out->value &= c->mask;
	return e;
}

/* The first name may stand for the object: c->fd. */
static int plan_shown(struct sym_structure *st, const char *user, const struct follow_path *path,
		      struct follow_field *out, struct err *err)
{
	const char *name = path->names[0].text;
	bool is_object = path->n > 1 && *path->names[1].text &&
			 !sym_structure_has(st, name, strlen(name));

	return resolve_field(st, user, path, is_object, true, out, err);
}

/* 0, or -EINVAL and *err with the column in the user's text. */
int follow_program_plan(struct sym_structure *st, const struct follow_expression *x,
			const struct follow_shown *shown, struct follow_plan *out,
			struct err *err)
{
	int e = 0;

	for (out->n_tests = 0; out->n_tests < x->n && !e; out->n_tests++)
		e = plan_condition(st, x->text, &x->conditions[out->n_tests],
				   &out->tests[out->n_tests], err);
	for (out->n_shown = 0; out->n_shown < shown->n && !e; out->n_shown++)
		e = plan_shown(st, shown->text, &shown->paths[out->n_shown],
			       &out->shown[out->n_shown], err);
	return e;
}
