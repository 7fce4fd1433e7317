/* SPDX-License-Identifier: MIT */
/* Compiles the arguments of probes, in the kernel's words (Documentation/trace/uprobetracer.rst):
 * each becomes a field and a few instructions. Text is nested from the outside, +8(+0(%di)); memory
 * is fetched from the inside. usdt.c builds the programs of markers with the same parts. A
 * malformed argument is an error with its column, in the kernel's words. No state, any thread. */
#include "event/fetch.h"

#include "arch/reg_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_MAX 128u       /* as in the kernel */
/* Steps of one argument, the innermost included: of @ADDRESS the load is one. As in the kernel. */
#define DEPTH_MAX 15u
#define NAME_MAX_BYTES 32u    /* of an argument */
#define STACK_WORDS_MAX (INT64_C(1) << 50) /* 8 times it is an offset */
#define TEXT_MAX_BYTES 63u    /* of an argument behind its name */
/* Words of the kernel's stack, beyond which kprobes take no $stackN. */
#define KERNEL_STACK_WORDS 2048
#define REGISTER_ARGUMENTS 6u /* of a function: further ones are on the stack */

/* The type of __probe_ip, __probe_func and __probe_ret_ip, the first fields of probes' records. */
static const struct fetch_type ip_type = { "ip", "unsigned long", "(%lx)", 8, false, false };

static bool is_text(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* By the kernel's names; -1: there is none. */
int fetch_register(const char *name, size_t n)
{
	return reg_names_kernel(name, n);
}

/* --- fields --------------------------------------------------------------------------------- */

/* Without a bound: fetch_finish() refuses what is too long. */
void fetch_insn(struct fetch_build *b, struct fetch_insn i)
{
	*vec_add(&b->code) = i;
}

/* Adds one of the fields that are there without an argument. */
static void add_head(struct fetch_build *b, const char *name, uint8_t op)
{
	*vec_add(&b->fields) =
		(struct fetch_field){ mem_strdup(name), &ip_type, (uint16_t)b->fixed, 0 };
	fetch_insn(b, (struct fetch_insn){ .op = op });
	fetch_insn(b,
		   (struct fetch_insn){ .op = FETCH_STORE, .size = 8, .at = (uint16_t)b->fixed });
	b->fixed += 8;
}

void fetch_begin(struct fetch_build *b)
{
	*b = (struct fetch_build){ .fixed = EVENT_COMMON_BYTES };
	add_head(b, "__probe_ip", FETCH_IP);
}

/* The kernel's return probes have these two fields, in this order. */
void fetch_begin_return(struct fetch_build *b)
{
	*b = (struct fetch_build){ .fixed = EVENT_COMMON_BYTES, .at_return = true };
	add_head(b, "__probe_func", FETCH_IP);
	add_head(b, "__probe_ret_ip", FETCH_CALLER);
}

/* field is called for each $NAME, with field_arg in the build. */
void fetch_begin_event(struct fetch_build *b, bool (*field)(struct fetch_build *b, const char *name,
							    size_t n),
		       void *arg)
{
	*b = (struct fetch_build){ .fixed = EVENT_COMMON_BYTES, .by_symbol = true, .field = field,
				   .field_arg = arg };
}

void fetch_begin_tracepoint(struct fetch_build *b,
			    bool (*argument)(struct fetch_build *b, unsigned n), void *arg,
			    uint64_t at)
{
	*b = (struct fetch_build){ .fixed = EVENT_COMMON_BYTES, .by_symbol = true,
				   .at_entry = true, .no_registers = true, .argument = argument,
				   .field_arg = arg };
	add_head(b, "__probe_ip", FETCH_IMM);
	if (!at)
		return;
	/* The other event has an address of its own: it is read in place of the 0. */
	b->code.n = 0;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = (int64_t)at });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 8 });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_STORE, .size = 8,
					   .at = EVENT_COMMON_BYTES });
}

/* Number of the fields that are no arguments. */
static size_t heads_of(const struct fetch_build *b)
{
	size_t n = 0;

	while (n < b->fields.n && b->fields.at[n].type == &ip_type)
		n++;
	return n;
}

/* A program that fetch_finish() has made stays its caller's. */
void fetch_free(struct fetch_build *b)
{
	for (size_t i = 0; i < b->fields.n; i++)
		free(b->fields.at[i].name);
	vec_free(&b->fields);
	vec_free(&b->code);
}

/* The print format uses a field's name in REC->NAME, so it has to be a C identifier. */
static bool is_name(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return n && !isdigit((unsigned char)*name);
}

/* Returns why the field cannot have the name, in the kernel's words; NULL: it can. */
static const char *refused_name(const struct fetch_build *b, const char *name, size_t n)
{
	static const char used[] = "This argument name is already used";
	static const char *const reserved[] = { "common_type", "common_flags", "common_pid",
						"common_preempt_count", "common_tgid",
						"__probe_ip", "__probe_func",
						"__probe_ret_ip" };

	if (!n)
		return "Argument name is not specified";
	if (n > NAME_MAX_BYTES)
		return "Argument name is too long";
	if (!is_name(name, n))
		return "Argument name must follow the same rules as C identifiers";
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (is_text(name, n, reserved[i]))
			return used;
	for (size_t i = 0; i < b->fields.n; i++)
		if (is_text(name, n, b->fields.at[i].name))
			return used;
	return NULL;
}

/* count: elements of an array; 0: it is none. As fetch_add_field(). */
static int add_fields(struct fetch_build *b, const char *name, size_t n,
		      const struct fetch_type *type, uint16_t count, struct err *err)
{
	uint32_t bytes = type->size * (count ? count : 1u);
	const char *why = refused_name(b, name, n);

	if (why)
		return err_set(err, EINVAL, "%s", why);
	/* 128 fields at most, each of a few hundred bytes: the sum stays far below 32 bits. */
	if (b->fields.n - heads_of(b) >= FIELDS_MAX || b->fixed + bytes > FETCH_RECORD_MAX)
		return err_set(err, E2BIG, "there are too many arguments: a record has %u bytes",
			       FETCH_RECORD_MAX);
	*vec_add(&b->fields) = (struct fetch_field){ mem_printf("%.*s", (int)n, name), type,
						     (uint16_t)b->fixed, count };
	b->fixed += bytes;
	return (int)(b->fixed - bytes);
}

int fetch_add_field(struct fetch_build *b, const char *name, size_t n,
		    const struct fetch_type *type, struct err *err)
{
	return add_fields(b, name, n, type, 0, err);
}

/* --- arguments ------------------------------------------------------------------------------ */

/* `begin` to `stop` is the whole argument, for error messages; `at` to `end` is the part that is
 * still to be compiled. */
struct fetch_text {
	const char *begin, *stop, *at, *end;
	const char *type;         /* after the colon; where none is, the argument */
	bool variable;            /* it is $NAME: no memory in the kernel, even on the stack */
	bool any_type;            /* $comm and texts may be numbers */
	struct err *err;
};

/* Sets *err, with the column of the part at fault. */
static int set_fault_at(const struct fetch_text *t, const char *at, const char *what)
{
	char input[256];

	snprintf(input, sizeof(input), "%.*s", (int)(t->stop - t->begin), t->begin);
	return err_at(t->err, EINVAL, input, (size_t)(at - t->begin), "%s", what);
}

/* The part that is still to be compiled is at fault. */
static int set_fault(const struct fetch_text *t, const char *what)
{
	return set_fault_at(t, t->at, what);
}

static bool begins(const char *name, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(name, with, strlen(with));
}

/* Reads a number up to `end`: decimal, octal or hexadecimal. strtoull() would also take blanks and
 * a plus sign, so the first character is checked. */
static bool parse_number(const char *from, const char *end, int64_t *out)
{
	char digits[32];
	size_t n = (size_t)(end - from);
	char *rest;

	if (!n || n >= sizeof(digits) ||
	    !isdigit((unsigned char)(from[0] == '-' && n > 1 ? from[1] : from[0])))
		return false;
	memcpy(digits, from, n);
	digits[n] = '\0';
	errno = 0;
	*out = *digits == '-' ? strtoll(digits, &rest, 0) : (int64_t)strtoull(digits, &rest, 0);
	return !*rest && !errno;
}

/* $arg1 and $retval are the kernel's too, but not at any instruction. */
static const char *refused_variable(const struct fetch_build *b, const char *name, size_t n)
{
	int64_t number;

	if (begins(name, n, "arg") && parse_number(name + 3, name + n, &number))
		return number <= 0    ? "Invalid argument number"
		       : b->at_entry  ? "This variable is not found at this probe point"
		       : b->at_return
			       ? "too many arguments of the function: 7 are kept from its entry"
				      : "$arg* can be used only on function entry or exit";
	if (b->by_symbol && begins(name, n, "stack"))
		return "Invalid stack number";
	return begins(name, n, "retval") && !b->at_return ? "$retval is not available on probe"
							  : "Invalid $-variable specified";
}

/* Numbers of registers: the stack pointer, and where a function's value is when it returns. */
#define REG_STACK 4u
#define REG_VALUE 0u

/* Whether the argument is a field of another event's record, $FIELD or $argN. */
static bool is_of_record(const struct fetch_build *b, const struct fetch_text *t)
{
	return t->variable && (b->field || b->argument);
}

/* Compiles the stack pointer, which at a return is the caller's: past the return address. */
static void emit_stack(struct fetch_build *b)
{
	fetch_insn(b, (struct fetch_insn){
			      .op = FETCH_REG, .reg = REG_STACK, .value = b->at_return ? 8 : 0 });
}

/* The argument is in a register or, of the seventh on, on the stack behind the return address. */
static struct fetch_insn argument_insn(unsigned number, bool *on_stack)
{
	const char *reg = number > REGISTER_ARGUMENTS ? NULL : reg_names_argument(number);

	*on_stack = !reg;
	return reg ? (struct fetch_insn){ .op = FETCH_REG,
					  .reg = (uint8_t)fetch_register(reg, strlen(reg)) }
		   : (struct fetch_insn){ .op = FETCH_LOAD, .size = 8,
					  .value = 8 * ((int64_t)number - REGISTER_ARGUMENTS) };
}

/* Compiles an argument that the function's entry keeps. False: too many are. */
static bool emit_kept(struct fetch_build *b, unsigned number)
{
	unsigned i = 0;

	while (i < b->n_kept && b->kept[i] != number)
		i++;
	if (i == FETCH_ENTRY_WORDS)
		return false;
	b->n_kept += i == b->n_kept;
	b->kept[i] = (uint8_t)number;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_ENTRY, .at = (uint16_t)i });
	return true;
}

/* Compiles $argN of a function's entry or return. False: it is none, or it is too far. */
static bool emit_argument(struct fetch_build *b, const char *name, size_t n)
{
	struct fetch_insn insn;
	int64_t number;
	bool on_stack;

	b->field_is_string = false;
	if ((!b->at_entry && !b->at_return) || !begins(name, n, "arg") || !parse_number(name + 3, name + n, &number) ||
	    number < 1 || number > FIELDS_MAX)
		return false;
	if (b->argument)
		return b->argument(b, (unsigned)number);
	if (b->at_return)
		return emit_kept(b, (unsigned)number);
	insn = argument_insn((unsigned)number, &on_stack);
	if (on_stack)
		emit_stack(b);
	fetch_insn(b, insn);
	return true;
}

static bool is_comm(const char *name, size_t n)
{
	return is_text(name, n, "comm") || is_text(name, n, "COMM");
}

/* Compiles a field of the other event, or the thread's name. */
static int parse_field(struct fetch_build *b, const struct fetch_text *t)
{
	size_t n = (size_t)(t->end - t->at - 1);

	b->field_is_string = false;
	if (b->field(b, t->at + 1, n))
		return 0;
	if (!is_comm(t->at + 1, n))
		return set_fault(t, "Invalid $-variable specified");
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_COMM });
	return 0;
}

/* Compiles $comm, $retval, $stack (the stack pointer), or $stackN, the word number N from there
 * on. */
static int parse_variable(struct fetch_build *b, struct fetch_text *t)
{
	size_t n = (size_t)(t->end - t->at - 1);
	const char *name = t->at + 1;
	int64_t slot, slots = b->by_symbol ? KERNEL_STACK_WORDS : STACK_WORDS_MAX;

	if (b->field)
		return parse_field(b, t);
	if (emit_argument(b, name, n))
		return 0;
	if (is_comm(name, n)) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_COMM });
	} else if (b->at_return && is_text(name, n, "retval")) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_REG, .reg = REG_VALUE });
	} else if (is_text(name, n, "stack")) {
		emit_stack(b);
	} else if (n > 5 && !memcmp(name, "stack", 5) && parse_number(name + 5, t->end, &slot) &&
		   slot >= 0 && slot < slots) {
		emit_stack(b);
		fetch_insn(b,
			   (struct fetch_insn){ .op = FETCH_LOAD, .size = 8, .value = 8 * slot });
	} else {
		return set_fault(t, refused_variable(b, name, n));
	}
	return 0;
}

/* Compiles %REG. At a return the instruction pointer is the place that the function returns to, and
 * the stack pointer the caller's. */
static int parse_register(struct fetch_build *b, struct fetch_text *t)
{
	int r = fetch_register(t->at + 1, (size_t)(t->end - t->at - 1));

	if (b->field || b->no_registers)
		return set_fault(t, "Invalid $-variable specified");
	if (r < 0)
		return set_fault(t, "Invalid register name");
	/* The instruction pointer is not among the saved registers of a probe's context. */
	if (r == (int)FETCH_REGS)
		fetch_insn(b, (struct fetch_insn){ .op = b->at_return ? FETCH_CALLER : FETCH_IP });
	else if (r == (int)REG_STACK)
		emit_stack(b);
	else
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_REG, .reg = (uint8_t)r });
	return 0;
}

/* Returns why @... is refused. */
static const char *refused_address(const struct fetch_build *b, const struct fetch_text *t)
{
	const char *at = t->at + 1;

	if (at < t->end && *at == '+')
		return b->by_symbol ? "File offset is not available with kprobe"
				    : "Invalid file offset value";
	if (at < t->end && isdigit((unsigned char)*at))
		return "Invalid memory address";
	return b->by_symbol ? "the probed file has no such symbol"
			    : "Symbol is not available with uprobe";
}

/* Compiles @SYMBOL[+|-OFFSET], which loads 8 bytes from there. False: it is none. */
static bool emit_symbol(struct fetch_build *b, const struct fetch_text *t)
{
	const char *name = t->at + 1, *end = name;
	int64_t distance, more = 0;

	while (end < t->end && *end != '+' && *end != '-')
		end++;
	if (!b->symbol || end == name || isdigit((unsigned char)*name) ||
	    (end < t->end && !parse_number(end + 1, t->end, &more)) ||
	    !b->symbol(b->symbol_arg, name, (size_t)(end - name), &distance))
		return false;
	if (end < t->end && *end == '-')
		more = (int64_t)-(uint64_t)more;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IP, .value = (int64_t)((uint64_t)distance +
									     (uint64_t)more) });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 8 });
	return true;
}

/* Compiles @ADDRESS and @+OFFSET, which load 8 bytes from there. An offset counts from the module's
 * begin; of a probe whose place in its file is known, in that file. */
static int parse_address(struct fetch_build *b, struct fetch_text *t)
{
	bool moves = t->at + 1 < t->end && t->at[1] == '+';
	int64_t value;

	if (emit_symbol(b, t))
		return 0;
	if ((moves && b->by_symbol) || !parse_number(t->at + 1 + moves, t->end, &value))
		return set_fault(t, refused_address(b, t));
	if (moves && b->of_file)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_IP,
						   .value = (int64_t)((uint64_t)value -
								      b->offset) });
	else
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = value });
	if (moves && !b->of_file)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_BASE });
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_LOAD, .size = 8 });
	return 0;
}

/* Compiles \"TEXT": pieces of 8 bytes; emit_store() tells them their field. */
static int parse_text(struct fetch_build *b, struct fetch_text *t)
{
	const char *at = t->at + 2, *end = t->end - 1;

	if (end < at || *end != '"')
		return set_fault_at(t, t->end, "String is not closed with '\"'");
	do {
		uint64_t value = 0;
		uint8_t n = 0;

		for (; n < 8 && at < end; n++)
			value |= (uint64_t)(uint8_t)*at++ << 8 * n;
		fetch_insn(b, (struct fetch_insn){
				      .op = FETCH_TEXT, .size = n, .value = (int64_t)value });
	} while (at < end);
	return 0;
}

/* Compiles \NUMBER: the number itself; or \"TEXT". */
static int parse_immediate(struct fetch_build *b, struct fetch_text *t)
{
	int64_t value;

	if (t->at + 1 < t->end && t->at[1] == '"')
		return parse_text(b, t);
	if (!parse_number(t->at + 1, t->end, &value))
		return set_fault_at(t, t->at + 1, "Invalid immediate value");
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM, .value = value });
	return 0;
}

/* Compiles an argument that fetches no memory, or the innermost one. */
static int parse_plain(struct fetch_build *b, struct fetch_text *t)
{
	switch (t->at < t->end ? *t->at : '\0') {
	case '%': return parse_register(b, t);
	case '$': return parse_variable(b, t);
	case '@': return parse_address(b, t);
	case '\\': return parse_immediate(b, t);
	default:
		return set_fault(t, t->at < t->end && (isalpha((unsigned char)*t->at) ||
						       *t->at == '_')
					    ? "BTF is not available or not supported"
					    : "Invalid fetch argument");
	}
}

/* Whether what was compiled last is a text, and no address of one. */
static bool is_constant_text(const struct fetch_build *b)
{
	uint8_t op = b->code.at[b->code.n - 1].op;

	return op == FETCH_COMM || op == FETCH_TEXT;
}

/* Compiles &ARGUMENT: the last load is left out. */
static int parse_fetchargs(struct fetch_build *b, struct fetch_text *t);
/* The load that reads what the expression leads to becomes one that keeps its address. */
static int parse_address_of(struct fetch_build *b, struct fetch_text *t)
{
	struct fetch_insn *last;

	t->at++;
	if (parse_fetchargs(b, t) < 0)
		return -EINVAL;
	last = &b->code.at[b->code.n - 1];
	if (last->op != FETCH_LOAD)
		return set_fault(t, "& takes what is fetched from memory: &+8(%di), &@+0x4010");
	last->op = FETCH_KEEP;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_RECALL });
	return 0;
}

/* Compiles [+|-]OFFSET(ARGUMENT), to any depth. The loop takes the parentheses off from the
 * outside; the loads are made from the inside. */
static int parse_fetchargs(struct fetch_build *b, struct fetch_text *t)
{
	static const char nested[] = "Dereference is too much nested";
	int64_t offsets[DEPTH_MAX];
	const char *inner = NULL; /* in the outermost parentheses, where the kernel's caret is */
	unsigned n = 0;

	for (; t->at < t->end && (*t->at == '+' || *t->at == '-'); n++) {
		const char *open = memchr(t->at, '(', (size_t)(t->end - t->at));
		/* A `u` after the sign means user memory in the kernel; there is no other here. */
		const char *digits = t->at + 1 + (t->at + 1 < t->end && t->at[1] == 'u');

		if (n == DEPTH_MAX)
			return set_fault_at(t, inner, nested);
		if (!open)
			return set_fault(t, "Dereference needs a brace");
		if (!parse_number(digits, open, &offsets[n]))
			return set_fault(t, "Invalid dereference offset");
		if (t->end[-1] != ')')
			return set_fault_at(t, t->end, "Dereference brace is not closed");
		/* Unsigned negation: INT64_MIN has no positive counterpart. */
		offsets[n] = *t->at == '-' ? (int64_t)-(uint64_t)offsets[n] : offsets[n];
		t->at = open + 1;
		t->end--;
		inner = n ? inner : t->at;
	}
	if (n + (t->at < t->end && *t->at == '@') >= DEPTH_MAX)
		return set_fault_at(t, inner, nested);
	if (parse_plain(b, t) < 0)
		return -EINVAL;
	if (n && is_constant_text(b))
		return set_fault(t, "$comm can not be dereferenced");
	while (n--)
		fetch_insn(b,
			   (struct fetch_insn){ .op = FETCH_LOAD, .size = 8, .value = offsets[n] });
	return 0;
}

/* Compiles the elements of a string array: a pointer to each stands in memory. */
static void emit_strings(struct fetch_build *b, unsigned count, uint16_t at)
{
	b->code.at[b->code.n - 1].op = FETCH_KEEP;
	for (unsigned i = 0; i < count; i++) {
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_RECALL });
		fetch_insn(b, (struct fetch_insn){
				      .op = FETCH_LOAD, .size = 8, .value = 8 * (int64_t)i });
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_STRING,
						   .at = (uint16_t)(at + 4 * i) });
	}
}

/* Tells the pieces of a text, which are the last instructions, their field. */
static void place_text(struct fetch_build *b, uint16_t at)
{
	for (size_t i = b->code.n; i > 0; i--) {
		struct fetch_insn *piece = &b->code.at[i - 1];

		if (piece->op != FETCH_TEXT || piece->at)
			break;
		piece->at = at;
	}
}

/* Ends the code of $FIELD:string: the string that the field is, or where it points. */
static void emit_field_string(struct fetch_build *b, uint16_t at)
{
	struct fetch_insn i = { .op = FETCH_STRING, .at = at };

	if (b->field_is_string && b->field_bytes) {
		/* One byte more: a string that fills its field has no NUL there. */
		i.flags = FETCH_BOUNDED;
		i.count = (uint16_t)(b->field_bytes + 1);
	}
	fetch_insn(b, i);
}

/* Ends the code of an argument of type string. */
static int emit_string(struct fetch_build *b, const struct fetch_text *t,
		       const struct fetch_shape *shape, uint16_t at)
{
	struct fetch_insn *last = &b->code.at[b->code.n - 1];

	if (last->op == FETCH_TEXT)
		place_text(b, at);
	else if (is_of_record(b, t) && !shape->count && (b->field || b->field_is_string))
		emit_field_string(b, at);
	else if (last->op == FETCH_LOAD && shape->count && !t->variable)
		emit_strings(b, shape->count, at);
	else if (last->op == FETCH_LOAD && !t->variable)
		*last = (struct fetch_insn){ .op = FETCH_STRING, .at = at, .value = last->value };
	else if (shape->count || (last->op != FETCH_COMM && last->op != FETCH_IMM))
		return set_fault_at(t, t->type, "String accepts only memory argument");
	else
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_STRING, .at = at });
	return 0;
}

/* Compiles 0 in place of a text that was not asked for as a string: an address in the kernel's
 * memory, there. Returns the last instruction. */
static struct fetch_insn *replace_text(struct fetch_build *b)
{
	while (b->code.n && b->code.at[b->code.n - 1].op == FETCH_TEXT &&
	       !b->code.at[b->code.n - 1].at)
		b->code.n--;
	fetch_insn(b, (struct fetch_insn){ .op = FETCH_IMM });
	return &b->code.at[b->code.n - 1];
}

/* Ends an argument's code with a store to `at`. A load that is the last instruction becomes as wide
 * as the type, or, for a string, the load of the string. */
static int emit_store(struct fetch_build *b, const struct fetch_text *t,
		      const struct fetch_shape *shape, uint16_t at)
{
	struct fetch_insn *last = &b->code.at[b->code.n - 1];
	uint8_t size = shape->type->size;
	uint16_t count = shape->count ? shape->count : 1;

	if (shape->type->is_string)
		return emit_string(b, t, shape, at);
	if (last->op == FETCH_TEXT || (is_of_record(b, t) && b->field_is_string))
		last = replace_text(b);
	if (shape->bad_bits)
		return set_fault_at(t, t->type, "Invalid bitfield");
	if (shape->count && (last->op != FETCH_LOAD || t->variable))
		return set_fault_at(t, t->type, "String accepts only memory argument");
	/* A program's addresses have no symbols, in the kernel neither. */
	if (!b->by_symbol && !strcmp(shape->type->name, "symstr"))
		return set_fault_at(t, t->type, "Unknown type is specified");
	if (last->op == FETCH_IMM && !strcmp(shape->type->name, "symstr"))
		return set_fault_at(t, t->type, "Symbol String doesn't accept data/userdata");
	if (last->op == FETCH_LOAD && !is_of_record(b, t))
		last->size = size;
	if (shape->count)
		*last = (struct fetch_insn){ .op = FETCH_ARRAY, .size = size, .at = at,
					     .count = count, .value = last->value };
	else
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_STORE, .size = size, .at = at });
	if (shape->bits)
		fetch_insn(b, (struct fetch_insn){ .op = FETCH_BITS, .size = size, .at = at,
						   .count = count,
						   .value = shape->bits << 8 | shape->shift });
	return 0;
}

/* Whether the argument can be nothing but a string: $comm, \"TEXT". */
static bool is_text_only(const char *at, size_t n)
{
	return is_text(at, n, "$comm") || is_text(at, n, "$COMM") || begins(at, n, "\\\"");
}

/* Parses the type behind the colon; without one a 64-bit number, or a text's string. */
static int parse_type(struct fetch_text *t, struct fetch_shape *out)
{
	const char *colon = memchr(t->at, ':', (size_t)(t->end - t->at)), *where, *why;
	/* The kernel looks for these texts, but not in events on events. */
	bool text = !t->any_type &&
		    is_text_only(t->at, (size_t)((colon ? colon : t->end) - t->at));
	char *type = colon ? mem_strndup(colon + 1, (size_t)(t->end - colon - 1))
			   : mem_strdup(text ? "string" : "x64");

	t->type = colon ? colon + 1 : t->at;
	why = fetch_shape_parse(type, out, &where);
	if (text && (!why || where == type) && (out->count || strcmp(type, "string") != 0)) {
		why = "$comm and immediate-string only accepts string type";
		where = type;
	}
	if (why)
		set_fault_at(t, t->type + (where - type), why);
	if (colon)
		t->end = colon;
	free(type);
	return why ? -EINVAL : 0;
}

/* Whether the code from number `from` on wants the thread's registers. */
static bool reads_registers(const struct fetch_build *b, size_t from)
{
	for (size_t i = from; i < b->code.n; i++)
		if (b->code.at[i].op == FETCH_REG)
			return true;
	return false;
}

/* One argument of a definition, n bytes. 0, or -errno and *err with the column in text; what was
 * added before stays. */
int fetch_add(struct fetch_build *b, const char *text, size_t n, struct err *err)
{
	/* Arguments without a name are arg1, arg2, ... by their place, as in the kernel. */
	char own[16];
	const char *equals = memchr(text, '=', n), *name = text;
	size_t n_name = equals ? (size_t)(equals - text)
			       : (size_t)snprintf(own, sizeof(own), "arg%zu",
						  b->fields.n + 1 - heads_of(b));
	struct fetch_text t = { .begin = text, .stop = text + n, .at = equals ? equals + 1 : text,
				.end = text + n, .err = err, .any_type = b->field };
	bool is_address;
	struct fetch_shape shape;
	size_t before = b->code.n;
	const char *why;
	int at;

	if (!equals)
		name = own;
	why = refused_name(b, name, n_name);
	if (why)
		return set_fault_at(&t, text, why);
	if (t.at == t.end || t.end - t.at > TEXT_MAX_BYTES)
		return set_fault(&t, t.at == t.end ? "No argument expression"
						   : "Argument expression is too long");
	if (parse_type(&t, &shape) < 0)
		return -EINVAL;
	t.variable = t.at < t.end && *t.at == '$';
	at = add_fields(b, name, n_name, shape.type, shape.count, err);
	if (at < 0)
		return at;
	/* All else that begins so is refused as by the kernel. */
	is_address = *t.at == '&' && t.end - t.at > 1 && memchr("+-@", t.at[1], 3);
	if ((is_address ? parse_address_of : parse_fetchargs)(b, &t) < 0)
		return -EINVAL;
	if (emit_store(b, &t, &shape, (uint16_t)at) < 0)
		return -EINVAL;
	if (b->argument && reads_registers(b, before))
		return set_fault_at(&t, text, "a tracepoint's record keeps no stack: probe the function instead");
	return 0;
}

/* --- results -------------------------------------------------------------------------------- */

/* For free(), *bytes long; NULL: too long. */
struct fetch_program *fetch_finish(const struct fetch_build *b, uint32_t *bytes)
{
	struct fetch_program *p;

	*bytes = (uint32_t)(sizeof(*p) + b->code.n * sizeof(p->code[0]));
	/* The program's length is a number of 16 bits, and each record pays for it. */
	if (b->code.n > FETCH_INSNS_MAX)
		return NULL;
	p = mem_zalloc(*bytes);
	p->n = (uint16_t)b->code.n;
	p->fixed = (uint16_t)b->fixed;
	/* An event without fields has no code. */
	if (b->code.n)
		memcpy(p->code, b->code.at, b->code.n * sizeof(p->code[0]));
	return p;
}

/* The program that keeps a call's arguments for its return; NULL: none are asked for. */
struct fetch_program *fetch_finish_entry(const struct fetch_build *b, uint32_t *bytes)
{
	struct fetch_build entry = { .fixed = EVENT_COMMON_BYTES };
	struct fetch_program *p;
	bool on_stack;

	*bytes = 0;
	for (unsigned i = 0; i < b->n_kept; i++) {
		struct fetch_insn insn = argument_insn(b->kept[i], &on_stack);

		if (on_stack)
			emit_stack(&entry);
		fetch_insn(&entry, insn);
		fetch_insn(&entry, (struct fetch_insn){ .op = FETCH_STORE, .size = 8,
							.at = (uint16_t)entry.fixed });
		entry.fixed += 8;
	}
	p = b->n_kept ? fetch_finish(&entry, bytes) : NULL;
	fetch_free(&entry);
	return p;
}

/* Number of elements of the field; 1 if it is no array. */
static unsigned elements_of(const struct fetch_field *f)
{
	return f->count ? f->count : 1;
}

/* Writes " a=%u", " b={%u,%u}". */
static void print_shape(FILE *to, const struct fetch_field *f)
{
	fprintf(to, " %s=%s", f->name, f->count ? "{" : "");
	for (unsigned i = 0; i < elements_of(f); i++)
		fprintf(to, "%s%s", i ? "," : "", f->type->print);
	fputs(f->count ? "}" : "", to);
}

/* Writes ", REC->a", ", REC->b[0], REC->b[1]", ", __get_str(s)". */
static void print_values(FILE *to, const struct fetch_field *f)
{
	for (unsigned i = 0; i < elements_of(f); i++) {
		fprintf(to, f->type->is_string ? ", __get_str(%s" : ", REC->%s", f->name);
		if (f->count)
			fprintf(to, "[%u]", i);
		fputs(f->type->is_string ? ")" : "", to);
	}
}

/* Returns the print format: "(%lx) a=%u b=\"%s\"", REC->__probe_ip, REC->a, __get_str(b). The
 * kernel writes %lx also of a kprobe, and prints a function: here the format says so. */
static char *print_of(const struct fetch_build *b)
{
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	if (!heads_of(b))
		fputs("\"", to);
	else if (b->by_symbol)
		fputs(b->at_return ? "\"(%ps <- %pS)" : "\"(%pS)", to);
	else
		fputs(b->at_return ? "\"(%lx <- %lx)" : "\"(%lx)", to);
	for (size_t i = heads_of(b); i < b->fields.n; i++)
		print_shape(to, &b->fields.at[i]);
	fputs("\"", to);
	for (size_t i = 0; i < b->fields.n; i++)
		print_values(to, &b->fields.at[i]);
	mem_stream_close(to, &text);
	return text;
}

/* The type as the kernel shows it: "u8", "u8[]", "__data_loc char[][3]"; free() it. */
static char *type_text(const struct fetch_field *f)
{
	if (f->count && f->type->is_string)
		return mem_printf("%s[%u]", f->type->field, f->count);
	return mem_printf("%s%s", f->type->field, f->count ? "[]" : "");
}

/* The event's format as its file shows it, for free(). name: the event's. */
char *fetch_format(const struct fetch_build *b, const char *name)
{
	struct event_field *fields = mem_zalloc(b->fields.n * sizeof(*fields));
	char *print = print_of(b), *text;
	const struct event_format e = { "", name, 0, fields, b->fields.n, print };

	for (size_t i = 0; i < b->fields.n; i++) {
		const struct fetch_field *f = &b->fields.at[i];

		fields[i] = (struct event_field){ type_text(f), f->name, f->at,
						  (uint16_t)(f->type->size * elements_of(f)),
						  f->type->is_signed };
	}
	text = event_format_read(&e);
	free(print);
	for (size_t i = 0; i < b->fields.n; i++)
		free((char *)fields[i].type);
	free(fields);
	return text;
}
