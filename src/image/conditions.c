/* SPDX-License-Identifier: MIT */
/* Makes of an argument list the format of an event, whose filter the condition is: every argument
 * has 8 bytes of the record, in their order, and only those that the filter reads are fetched.
 * Strings stay addresses, which the filter follows when it comes to them. Called while a process is
 * planned (arguments.c) and before one is begun (ui/), on the caller's thread; no state. A
 * condition that does not fit the function is -errno and a sentence. */
#include "image/conditions.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prototype.h"
#include "image/arguments.h"
#include "model/function_condition.h"
#include "shared/record.h"
#include "sym/arguments.h"

#define WORD 8u
#define REGISTERS 6u
_Static_assert(CONDITION_VALUES == PROTOTYPE_PARAMETERS, "a value for each parameter");

/* at: bytes from the condition's beginning, from which the column in the user's whole text is made.
 * The condition is the text's end, so that the lengths of both tell where it begins. */
int condition_error(const struct function_pattern *p, size_t at, struct err *err,
		    const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	at += strlen(p->text) - strlen(p->returned ? p->returned : p->condition);
	return err_at(err, EINVAL, p->text, at, "%s", text);
}

/* One function's arguments as a format. */
struct compared {
	struct prototype prototype;
	const struct sym_location *locations;
	struct sym_location registers[REGISTERS];
	bool hidden;
	struct event_field fields[PROTOTYPE_PARAMETERS];
	char *names[PROTOTYPE_PARAMETERS];
	size_t n; /* of fields */
};

/* The type words by which a filter knows what it compares; NULL: it cannot compare such values.
 * Every number is a "long" for it: size and sign are the field's own. */
static const char *field_type(const struct prototype_value *v)
{
	switch ((enum prototype_type)v->type) {
	case PROTOTYPE_SIGNED: case PROTOTYPE_UNSIGNED: case PROTOTYPE_CHAR: case PROTOTYPE_BOOL:
	case PROTOTYPE_POINTER: case PROTOTYPE_ENUM:
		return "long";
	case PROTOTYPE_STRING_AT:
		return "char *";
	default:
		return NULL;
	}
}

static bool is_signed(const struct prototype_value *v)
{
	return v->type == PROTOTYPE_SIGNED || v->type == PROTOTYPE_CHAR ||
	       v->type == PROTOTYPE_ENUM;
}

/* The filter reads strings to their NUL, which a view does not have. */
static bool is_compared(const struct prototype_value *v)
{
	return v->name && v->size && v->form != PROTOTYPE_VIEW;
}

/* Gives the argument, the k-th, its place in the record, and its field, if it can be compared. */
static void add_value(struct compared *c, struct prototype_value *v, uint32_t k)
{
	const char *type = is_compared(v) ? field_type(v) : NULL;

	v->at = (uint16_t)(ARGUMENTS_FIRST + WORD * k);
	if (v->type == PROTOTYPE_STRING_AT) {
		/* The address of its characters stands first in a std::string object. */
		v->form = v->form == PROTOTYPE_OBJECT ? PROTOTYPE_INDIRECT : v->form;
		v->type = PROTOTYPE_POINTER;
		v->size = WORD;
	}
	/* Its members are not read. */
	if (v->type == PROTOTYPE_STRUCT)
		v->type = PROTOTYPE_UNKNOWN;
	if (!type)
		return;
	c->names[c->n] = mem_strndup(v->name, v->name_bytes);
	c->fields[c->n] = (struct event_field){ type, c->names[c->n], v->at, v->size,
						is_signed(v) };
	c->n++;
}

/* known NULL: the six registers of the calling convention, as arg1 to arg6. False: the prototype
 * is malformed. */
static bool begin_compared(struct compared *c, const struct sym_arguments *known)
{
	char *text = mem_printf("?(%s)", known ? known->takes
					       : "arg1=u8,arg2=u8,arg3=u8,arg4=u8,arg5=u8,arg6=u8");
	bool good = prototype_parse(text, &c->prototype);

	c->locations = known ? known->locations.at : c->registers;
	c->hidden = known && known->hidden;
	for (uint32_t i = 0, k = 0; good && i < c->prototype.n; k++) {
		struct prototype_value *v = &c->prototype.parameters[i];

		add_value(c, v, k);
		i += 1 + v->members;
	}
	c->prototype.fixed = ARGUMENTS_FIRST + WORD * c->prototype.taken;
	free(text);
	return good;
}

static void end_compared(struct compared *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->names[i]);
}

/* Refuses an unknown name, and says which ones there are. */
static int tell_names(const struct compared *c, const struct function_pattern *p,
		      const char *function, size_t at, const struct sym_arguments *known,
		      struct err *err)
{
	char names[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < c->n && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "",
				      c->names[i]);
	if (!known)
		return condition_error(p, at, err, "%s has no debug information: its arguments "
				       "are known as arg1 to arg6 only", function);
	if (!c->n)
		return condition_error(p, at, err, "%s has no argument that can be compared",
				       function);
	return condition_error(p, at, err, "%s has no such argument that can be compared, it has %s",
			       function, names);
}

/* A name that is not there is the one fault of which more can be told than the filter's own
 * sentence. */
static int tell_fault(const struct compared *c, const struct function_pattern *p,
		      const char *function, const struct filter_fault *f,
		      const struct sym_arguments *known, struct err *err)
{
	size_t at = function_condition_column(f);

	if (f->error == FILTER_FIELD_NOT_FOUND)
		return tell_names(c, p, function, at, known, err);
	return condition_error(p, at, err, "condition of %s: %s", function,
			       filter_fault_sentence(f));
}

/* Whether the filter reads the argument at this place of the record. FILTER_NEVER compares nothing:
 * its offset is none. */
static bool is_read(const struct filter_program *filter, uint16_t at)
{
	for (uint16_t i = 0; i < filter->n; i++)
		if (filter->at[i].test != FILTER_NEVER && filter->at[i].offset == at)
			return true;
	return false;
}

/* An argument that the filter does not read is not fetched: its size becomes 0. */
static int make_fetch(struct compared *c, const struct function_pattern *p, struct condition *out,
		      struct err *err)
{
	for (uint32_t i = 0; i < c->prototype.n; i++)
		if (!is_read(out->filter, c->prototype.parameters[i].at))
			c->prototype.parameters[i].size = 0;
	out->fetch = arguments_fetch(&c->prototype, c->locations, c->prototype.taken, c->hidden,
				     &out->fetch_bytes);
	return out->fetch ? 0 : condition_error(p, 0, err, "the condition reads too many arguments");
}

/* begins: the condition chooses the calls with which graphs begin. *out is to be freed by
 * condition_free(), if 0 is returned. */
int condition_compile(const struct function_pattern *p, const char *function,
		      const struct sym_arguments *known, bool begins, struct condition *out,
		      struct err *err)
{
	struct event_format format = { "brace", "call", 0, NULL, 0, NULL };
	const struct filter_context context = { 0 };
	struct compared *c = mem_zalloc(sizeof(*c));
	struct filter_fault fault;
	int r;

	*out = (struct condition){ .begins = begins };
	if (!begin_compared(c, known)) {
		r = condition_error(p, 0, err, "the arguments of %s are not known", function);
	} else {
		format.fields = c->fields;
		format.n = c->n;
		r = filter_compile(&format, p->condition, strlen(p->condition), &context,
				   &out->filter, &fault);
		r = r < 0 ? tell_fault(c, p, function, &fault, known, err)
			  : make_fetch(c, p, out, err);
	}
	if (r < 0)
		condition_free(out);
	end_compared(c);
	free(c);
	return r;
}

/* --- by recorded arguments -------------------------------------------------------------------- */

/* A recorded string has its place in the record, as an event's has. */
static void add_recorded(struct compared *c, const struct prototype_value *v)
{
	bool string = v->type == PROTOTYPE_STRING_AT;
	const char *type = is_compared(v) ? field_type(v) : NULL;

	if (!type || v->size > WORD)
		return;
	c->names[c->n] = mem_strndup(v->name, v->name_bytes);
	c->fields[c->n] = (struct event_field){ string ? "__data_loc char[]" : type, c->names[c->n],
						v->at, v->size, is_signed(v) };
	c->n++;
}

int condition_compile_recorded(const struct function_pattern *p, const char *function,
			       const char *prototype, struct filter_program **out,
			       struct err *err)
{
	struct event_format format = { "brace", "call", 0, NULL, 0, NULL };
	const struct filter_context context = { 0 };
	struct compared *c = mem_zalloc(sizeof(*c));
	const struct sym_arguments known = { 0 };
	struct filter_fault fault;
	int r;

	if (!prototype || !prototype_parse(prototype, &c->prototype)) {
		r = condition_error(p, 0, err, "the arguments of %s are not known", function);
	} else {
		const struct prototype *t = &c->prototype;

		for (uint32_t i = 0; i < t->n; i += 1 + t->parameters[i].members)
			add_recorded(c, &t->parameters[i]);
		format.fields = c->fields;
		format.n = c->n;
		r = filter_compile(&format, p->condition, strlen(p->condition), &context, out,
				   &fault);
		if (r < 0)
			r = tell_fault(c, p, function, &fault, &known, err);
	}
	end_compared(c);
	free(c);
	return r;
}

/* A string that was not recorded compares with nothing. */
static bool has_texts(const struct filter_program *program, const uint8_t *record, uint32_t bytes)
{
	for (uint16_t i = 0; i < program->n; i++) {
		uint32_t where = 0, at = program->at[i].offset;

		if (program->at[i].test != FILTER_DYNAMIC)
			continue;
		if (at + sizeof(where) <= bytes)
			memcpy(&where, record + at, sizeof(where));
		if (!(where >> 16))
			return false;
	}
	return true;
}

bool condition_holds_recorded(const struct filter_program *program,
			      const struct condition_call *call)
{
	uint8_t record[8 * (1 + RECORD_PAYLOAD_MAX)] = { 0 };
	char comm[FILTER_COMM_BYTES] = "";
	uint32_t bytes = ARGUMENTS_FIRST + (uint32_t)call->bytes;
	const struct filter_record r = { .bytes = record, .size = bytes, .cpu = call->cpu,
					 .comm = comm };

	if (bytes > sizeof(record))
		return false;
	/* The common fields of an event: the thread alone is one. */
	memcpy(record + 4, &call->tid, sizeof(call->tid));
	memcpy(record + ARGUMENTS_FIRST, call->payload, call->bytes);
	strncpy(comm, call->comm, sizeof(comm) - 1);
	return has_texts(program, record, bytes) && filter_run(program, program->bytes, &r);
}

/* --- by what is returned ---------------------------------------------------------------------- */

/* Where the value is in the record that is compared, and a string behind its place. */
#define RETURNED_AT 8u
#define RETURNED_TEXT_AT (RETURNED_AT + WORD)
#define RETURNED_TEXT_MOST 255u

/* A string is compared with one in quotes, its address with numbers. */
static bool compares_text(const char *condition)
{
	return strpbrk(condition, "\"'") != NULL;
}

/* The value as a field; NULL: it is nothing that can be compared. */
static const char *returned_type(const char *prototype, const char *condition,
				 struct prototype_value *v)
{
	struct prototype p;

	*v = (struct prototype_value){ .type = PROTOTYPE_SIGNED, .size = WORD };
	if (!prototype || !prototype_parse(prototype, &p) || p.returns.type == PROTOTYPE_UNKNOWN ||
	    p.returns.type == PROTOTYPE_UNASKED)
		return "long";
	*v = p.returns;
	if (v->type == PROTOTYPE_STRING_AT && compares_text(condition))
		return "__data_loc char[]";
	if (v->type == PROTOTYPE_STRING_AT && v->form == PROTOTYPE_PLAIN) {
		v->type = PROTOTYPE_POINTER;
		v->size = WORD;
	}
	if (v->type == PROTOTYPE_FLOAT) {
		v->type = PROTOTYPE_SIGNED;
		v->size = WORD;
	}
	return v->type == PROTOTYPE_STRING_AT || v->form != PROTOTYPE_PLAIN ? NULL : field_type(v);
}

/* Whether the function returns a floating-point number. *v is set only if so. */
static bool returns_float(const char *prototype, struct prototype_value *v)
{
	struct prototype p;
	bool yes = prototype && prototype_parse(prototype, &p) && p.returns.type == PROTOTYPE_FLOAT;

	if (yes)
		*v = p.returns;
	return yes;
}

/* Where `&`, which compares bits, stands in a condition; its length: it does not. `&&` is skipped
 * as a whole, or its second half would be taken for one. */
static size_t find_bits(const char *condition)
{
	size_t n = strlen(condition);

	for (size_t i = 0; i < n; i++) {
		if (condition[i] != '&')
			continue;
		if (condition[i + 1] != '&')
			return i;
		i++;
	}
	return n;
}

/* Floating-point numbers are compared as whole ones of the same order
 * (function_condition_ordered()), because filters know no others. */
int condition_compile_returned(const struct function_pattern *p, const char *function,
			       const char *prototype, struct filter_program **out, struct err *err)
{
	const struct filter_context context = { 0 };
	struct prototype_value v;
	const char *type = returned_type(prototype, p->returned, &v);
	const struct event_field field = { type, FUNCTION_RETURNED, RETURNED_AT, v.size,
					   is_signed(&v) };
	const struct event_format format = { "brace", "return", 0, &field, 1, NULL };
	struct filter_fault fault;
	char *text;
	int r;

	if (!type)
		return condition_error(p, strspn(p->returned, " \t"), err,
				       "%s returns nothing that can be compared", function);
	if (returns_float(prototype, &v) && find_bits(p->returned) < strlen(p->returned))
		return condition_error(p, find_bits(p->returned), err,
				       "%s returns a floating-point number, which has no bits to "
				       "compare", function);
	text = returns_float(prototype, &v) ? function_condition_ordered(p->returned)
					    : mem_strdup(p->returned);
	r = filter_compile(&format, text, strlen(text), &context, out, &fault);
	if (r < 0)
		r = condition_error(p, strcmp(text, p->returned) ? strspn(p->returned, " \t")
						: function_condition_column(&fault), err,
				    "condition of %s: %s", function, filter_fault_sentence(&fault));
	free(text);
	return r;
}

/* A string that the function returned has to be there for it. */
static bool reads_text(const struct filter_program *program)
{
	for (uint16_t i = 0; i < program->n; i++)
		if (program->at[i].test == FILTER_DYNAMIC)
			return true;
	return false;
}

/* No allocation, no failure: what cannot be compared does not hold. NaN is neither less nor greater
 * than anything, and has no place in the order of whole numbers. The record is zeroed, so that a
 * text which is cut has its NUL. */
bool condition_holds(const struct filter_program *program, const char *prototype,
		     const struct condition_value *v)
{
	struct prototype_value returns;
	uint8_t record[RETURNED_TEXT_AT + RETURNED_TEXT_MOST + 1] = { 0 };
	const struct filter_record r = { .bytes = record, .size = sizeof(record) };
	bool number = returns_float(prototype, &returns);
	uint64_t value = v->number;
	uint32_t bytes = v->bytes < RETURNED_TEXT_MOST ? v->bytes : RETURNED_TEXT_MOST;

	/* The call goes on in a function of another type, or its string could not be read. */
	if (number != v->is_float || (number && isnan(prototype_real(&returns, value))))
		return false;
	if (number)
		value = (uint64_t)function_condition_order(prototype_real(&returns, value));
	if (reads_text(program)) {
		if (!v->text)
			return false;
		value = (uint64_t)(bytes + 1) << 16 | RETURNED_TEXT_AT;
		memcpy(record + RETURNED_TEXT_AT, v->text, bytes);
	}
	memcpy(record + RETURNED_AT, &value, sizeof(value));
	return filter_run(program, program->bytes, &r);
}

/* Bytes from the beginning of struct call_condition, where condition_write() puts it. */
uint64_t condition_filter_at(const struct condition *c)
{
	return offsetof(struct call_condition, fetch) + c->fetch_bytes;
}

uint64_t condition_bytes(const struct condition *c)
{
	return condition_filter_at(c) + c->filter->bytes;
}

/* The register whose lowest bytes are the number that the filter's instruction tests. Only a value
 * that a FETCH_REG puts straight into the record: what is loaded has to be fetched before it can be
 * tested. */
static uint8_t register_of(const struct fetch_program *fetch, const struct filter_insn *insn)
{
	for (uint32_t k = 0; k + 1 < fetch->n; k++) {
		const struct fetch_insn *from = &fetch->code[k], *to = from + 1;

		if (from->op == FETCH_REG && !from->value && from->reg < FETCH_FLAGS_REG &&
		    to->op == FETCH_STORE && to->at == insn->offset && to->size >= insn->size)
			return from->reg;
	}
	return CONDITION_NO_REGISTER;
}

/* The trampoline's compiler needs to know which register each test of the filter reads.
 * CONDITION_NO_REGISTER: none. */
struct condition_code condition_code_of(const struct condition *c, uint64_t filter_at)
{
	struct condition_code code = { .filter = c->filter, .filter_at = filter_at,
				       .begins = c->begins };

	for (uint32_t i = 0; i < c->filter->n && i < CONDITION_CODE_INSNS; i++)
		code.registers[i] = register_of(c->fetch, &c->filter->at[i]);
	return code;
}

/* to has condition_bytes() bytes, in the code memory's data. */
void condition_write(const struct condition *c, void *to)
{
	struct call_condition *out = to;

	*out = (struct call_condition){ .fetch_bytes = c->fetch_bytes,
					.filter_bytes = c->filter->bytes,
					.begins = c->begins };
	memcpy(&out->fetch, c->fetch, c->fetch_bytes);
	memcpy((uint8_t *)to + condition_filter_at(c), c->filter, c->filter->bytes);
}

void condition_free(struct condition *c)
{
	free(c->fetch);
	free(c->filter);
	*c = (struct condition){ 0 };
}
