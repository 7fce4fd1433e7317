/* Filters mean what their text says: random expressions over random records, against an evaluator
 * that walks the tree the text was printed from; strings against glibc's fnmatch; the kernel's
 * habits one by one; and programs that somebody spoiled. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/filter_compile.h"

#define RECORD_BYTES 128u
#define CPUS 20u

/* A field of every width and sign, and strings of every kind. */
static const struct event_field fields[] = {
	{ "u8", "u8", 8, 1, false },   { "s8", "s8", 9, 1, true },    { "u16", "u16", 10, 2, false },
	{ "s16", "s16", 12, 2, true }, { "u32", "u32", 16, 4, false }, { "s32", "s32", 20, 4, true },
	{ "u64", "u64", 24, 8, false }, { "s64", "s64", 32, 8, true },
	{ "char[12]", "fixed", 40, 12, false }, { "__data_loc char[]", "dynamic", 52, 4, false },
	{ "__rel_loc char[]", "relative", 56, 4, false }, { "const char *", "pointer", 64, 8, false },
	{ "__data_loc cpumask_t", "mask", 72, 4, false }, { "u64[4]", "array", 76, 32, false },
	{ "char[]", "tail", 108, 0, false },
};
#define NUMBERS 8u
static const struct event_format event = { "test", "test", 7, fields, sizeof(fields) / sizeof(fields[0]), "\"\"" };

static bool find_function(void *arg, const char *name, uint64_t address, struct filter_function *f)
{
	*f = (struct filter_function){ 0x1000, 0x100 };
	return name ? !strcmp(name, "main") || !strcmp(name, "operator()") : address >= 0x1000 && address < 0x1100;
}

/* Addresses in the records are one page higher than the functions'. */
static uint64_t resolve(void *arg, uint64_t address)
{
	return address - 0x1000;
}

static const struct filter_context context = { .cpus = CPUS, .function = find_function };

/* "Pointers" are places in this text. */
static const char memory[] = "zero\0python3.11\0ab\0";

static int fetch(void *arg, uint64_t address, char *to, uint32_t n)
{
	size_t length;

	if (address >= sizeof(memory))
		return -1;
	length = strlen(memory + address);
	length = length < n ? length : n;
	memcpy(to, memory + address, length);
	return (int)length;
}

static char scratch[64];
static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct filter_program *compiled(const char *text)
{
	struct filter_program *p = NULL;
	struct filter_fault fault;

	if (filter_compile(&event, text, strlen(text), &context, &p, &fault) < 0)
		fail_msg("%s: %s at %zu", text, filter_error_text[fault.error], fault.position);
	if (!filter_verify(p, p->bytes, event_record_bytes(&event)))
		fail_msg("%s: its program is not valid", text);
	return p;
}

static bool passes(const char *text, const struct filter_record *r)
{
	struct filter_program *p = compiled(text);
	bool is = filter_run(p, p->bytes, r);

	free(p);
	return is;
}

/* A record with bytes that are often equal or near each other, and its strings. */
static void random_record(uint8_t *b, struct filter_record *r, char *comm)
{
	static const char *const words[] = { "", "a", "ab", "py", "python3.11", "xpyz", "happy", "[b]", "longer than it" };
	uint32_t item;

	for (uint32_t i = 0; i < RECORD_BYTES; i++)
		b[i] = (uint8_t)(rnd() % 3 ? rnd() % 3 - 1 : rnd());
	memset(b + 40, 0, 12);
	strncpy((char *)b + 40, words[rnd() % 9], 12);
	item = (uint32_t)(10 << 16 | 110);
	memcpy(b + 52, &item, 4);
	item = (uint32_t)(8 << 16 | 60); /* from 60 on: at 120 */
	memcpy(b + 56, &item, 4);
	item = (uint32_t)(3 << 16 | 104);
	memcpy(b + 72, &item, 4);
	memset(b + 104, 0, 3);
	for (unsigned i = rnd() % 3; i < 3; i++)
		b[104 + rnd() % 3] |= (uint8_t)(1u << rnd() % 8);
	b[106] &= 15;
	memset(b + 108, 0, 20);
	strncpy((char *)b + 110, words[rnd() % 9], 10);
	strncpy((char *)b + 120, words[rnd() % 9], 8);
	memset(comm, 0, FILTER_COMM_BYTES);
	strncpy(comm, words[rnd() % 9], FILTER_COMM_BYTES - 1);
	memcpy(b + 64, &(uint64_t){ (uint64_t[]){ 0, 5, 16, 4, 1000 }[rnd() % 5] }, 8);
	*r = (struct filter_record){ .bytes = b, .size = RECORD_BYTES, .cpu = (int32_t)(rnd() % CPUS), .comm = comm,
				     .fetch = fetch, .scratch = scratch, .scratch_bytes = sizeof(scratch) };
}

/* The tree a text is printed from. */
struct tree {
	enum { AND, OR, NOT, NUMBER, TEXT, MASK } kind;
	struct tree *left, *right;
	unsigned field, op;
	int64_t value; /* MASK: the CPUs, a bit each */
	const char *pattern;
};

static const char *const compare_ops[] = { "==", "!=", "<", "<=", ">", ">=", "&" };
static const char *const mask_ops[] = { "==", "!=", "&" };
static const char *const mask_fields[] = { "u8", "s32", "CPU", "mask" };
static const char *const text_ops[] = { "==", "!=", "~" };
static const char *const text_fields[] = { "fixed", "dynamic", "relative", "pointer.ustring", "comm", "COMM" };
static const char *const patterns[] = {
	"", "a", "ab", "py*", "*py", "*py*", "*", "**", "p*n3.11", "?b", "[a-p]*", "[!p]*", "\\[b]", "*.11", "h*p*",
	"longer than*",
};

static struct tree *random_tree(unsigned depth)
{
	struct tree *t = mem_zalloc(sizeof(*t));

	t->kind = depth && rnd() % 2 ? rnd() % NUMBER : NUMBER + rnd() % 3;
	if (t->kind <= NOT)
		t->left = random_tree(depth - 1);
	if (t->kind < NOT)
		t->right = random_tree(depth - 1);
	if (t->kind == NUMBER) {
		t->field = (unsigned)(rnd() % NUMBERS);
		t->op = (unsigned)(rnd() % 7);
		t->value = (int64_t)(rnd() % 3 ? rnd() % 5 - 2 : rnd());
		if (!fields[t->field].is_signed && t->value < 0)
			t->value = -(t->value + 1);
	}
	if (t->kind == TEXT) {
		t->field = (unsigned)(rnd() % 6);
		t->op = (unsigned)(rnd() % 3);
		t->pattern = patterns[rnd() % 16];
	}
	if (t->kind == MASK) {
		t->field = (unsigned)(rnd() % 4);
		t->op = (unsigned)(rnd() % 3);
		t->value = rnd() % 3 ? 1ll << rnd() % CPUS : (int64_t)(rnd() & rnd() & ((1u << CPUS) - 1));
		t->value |= !t->value; /* an empty list has no spelling but "," */
	}
	return t;
}

static void tree_free(struct tree *t)
{
	if (!t)
		return;
	tree_free(t->left);
	tree_free(t->right);
	free(t);
}

static void blank(FILE *to)
{
	if (rnd() % 3)
		fputc(' ', to);
}

/* "0-2,5", at times one by one. */
static void print_cpus(FILE *to, int64_t mask)
{
	const char *comma = "";

	for (unsigned i = 0; i < CPUS; i++) {
		unsigned last = i;

		if (!(mask >> i & 1))
			continue;
		while (rnd() % 4 && mask >> (last + 1) & 1)
			last++;
		fprintf(to, last > i || rnd() % 8 == 0 ? "%s%u-%u" : "%s%u", comma, i, last);
		comma = rnd() % 4 ? "," : ", ";
		i = last;
	}
}

/* In every spelling the grammar has. && binds before ||, and both group to the left or right
 * alike. */
static void print(FILE *to, const struct tree *t, unsigned above)
{
	bool parens = t->kind == OR && above >= 1;
	char quote = rnd() % 2 ? '"' : '\'';

	parens |= (t->kind == OR || t->kind == AND) && above >= 2;
	parens |= rnd() % 6 == 0;
	if (parens)
		fputc('(', to);
	blank(to);
	switch (t->kind) {
	case AND:
	case OR:
		print(to, t->left, t->kind == AND);
		blank(to);
		fputs(t->kind == AND ? "&&" : "||", to);
		print(to, t->right, t->kind == AND);
		break;
	case NOT:
		fputc('!', to);
		print(to, t->left, 2);
		break;
	case NUMBER:
		fprintf(to, "%s ", fields[t->field].name);
		fprintf(to, rnd() % 2 ? "%s " : "%s", compare_ops[t->op]);
		fprintf(to, t->value < 0 || rnd() % 3 == 0 ? "%" PRId64 : rnd() % 2 ? "0x%" PRIx64 : "0%" PRIo64, t->value);
		break;
	case TEXT:
		fprintf(to, "%s %s %c%s%c", text_fields[t->field], text_ops[t->op], quote, t->pattern, quote);
		break;
	case MASK:
		fprintf(to, "%s %s CPUS{", mask_fields[t->field], mask_ops[t->op]);
		print_cpus(to, t->value);
		fputc('}', to);
	}
	blank(to);
	if (parens)
		fputc(')', to);
}

#define COMPARED(type) {                                                        \
	type field, value = (type)t->value;                                     \
	memcpy(&field, r->bytes + fields[t->field].offset, sizeof(field));      \
	return t->op == 0 ? field == value : t->op == 1 ? field != value :      \
	       t->op == 2 ? field < value : t->op == 3 ? field <= value :       \
	       t->op == 4 ? field > value : t->op == 5 ? field >= value :       \
	       (field & value) != 0; }

static bool number_says(const struct tree *t, const struct filter_record *r)
{
	switch (t->field) {
	case 0: COMPARED(uint8_t)
	case 1: COMPARED(int8_t)
	case 2: COMPARED(uint16_t)
	case 3: COMPARED(int16_t)
	case 4: COMPARED(uint32_t)
	case 5: COMPARED(int32_t)
	case 6: COMPARED(uint64_t)
	default: COMPARED(int64_t)
	}
}

static bool text_says(const struct tree *t, const struct filter_record *r)
{
	char s[32] = "";
	uint64_t address;
	bool same;

	switch (t->field) {
	case 0: memcpy(s, r->bytes + 40, 12); break;
	case 1: memcpy(s, r->bytes + 110, 10); break;
	case 2: memcpy(s, r->bytes + 120, 8); break;
	case 3:
		memcpy(&address, r->bytes + 64, 8);
		if (address >= sizeof(memory))
			return false; /* whatever is asked */
		strcpy(s, memory + address);
		break;
	default: strcpy(s, r->comm);
	}
	same = t->op == 2 ? !fnmatch(t->pattern, s, 0) : !strcmp(t->pattern, s);
	return same != (t->op == 1);
}

static bool mask_says(const struct tree *t, const struct filter_record *r)
{
	bool one = !(t->value & (t->value - 1));
	int64_t cpu = r->cpu, set;

	if (t->field == 0)
		cpu = r->bytes[8];
	if (t->field == 1)
		cpu = (uint32_t)(r->bytes[20] | r->bytes[21] << 8 | r->bytes[22] << 16 | (uint32_t)r->bytes[23] << 24);
	if (t->field < 2 && !one && cpu >= CPUS)
		return false; /* no CPU: the kernel does not even say "not equal" */
	set = cpu < CPUS ? 1ll << cpu : 0;
	if (t->field == 3)
		set = r->bytes[104] | r->bytes[105] << 8 | r->bytes[106] << 16;
	return t->op == 0 ? set == t->value : t->op == 1 ? set != t->value : (set & t->value) != 0;
}

static bool tree_says(const struct tree *t, const struct filter_record *r)
{
	switch (t->kind) {
	case AND: return tree_says(t->left, r) && tree_says(t->right, r);
	case OR: return tree_says(t->left, r) || tree_says(t->right, r);
	case NOT: return !tree_says(t->left, r);
	case NUMBER: return number_says(t, r);
	case TEXT: return text_says(t, r);
	default: return mask_says(t, r);
	}
}

static void random_expressions(void **state)
{
	unsigned passed = 0, left_out = 0;

	seed = 0x9e3779b97f4a7c15;
	for (unsigned i = 0; i < 6000; i++) {
		struct tree *t = random_tree((unsigned)(rnd() % 5));
		struct filter_program *p;
		char *text = NULL;
		size_t n;
		FILE *to = open_memstream(&text, &n);

		print(to, t, 0);
		fclose(to);
		p = compiled(text);
		for (unsigned k = 0; k < 50; k++) {
			uint8_t bytes[RECORD_BYTES];
			char comm[FILTER_COMM_BYTES];
			struct filter_record r;
			bool want;

			random_record(bytes, &r, comm);
			want = tree_says(t, &r);
			*(want ? &passed : &left_out) += 1;
			if (filter_run(p, p->bytes, &r) != want)
				fail_msg("%s: should be %d", text, want);
		}
		free(p);
		free(text);
		tree_free(t);
	}
	assert_in_range(passed, 50000, 250000);
	assert_in_range(left_out, 50000, 250000);
}

/* The n-th string over the alphabet, shortest first. */
static void nth(unsigned n, const char *alphabet, char *out)
{
	unsigned base = (unsigned)strlen(alphabet), k = 0;
	char reversed[16];

	for (; n; n = (n - 1) / base)
		reversed[k++] = alphabet[(n - 1) % base];
	for (unsigned i = 0; i < k; i++)
		out[i] = reversed[k - 1 - i];
	out[k] = '\0';
}

static void globs_as_fnmatch(void **state)
{
	static const char *const classes[] = {
		"[a]", "[ab]c", "[!a]", "[!ab]*", "[a-c]x", "[!a-c]", "[]a]", "[!]a]", "[a-]", "*[a-c]*", "[a-cx-z]?",
		"\\*", "\\[a]", "a\\?b", "[-a]", "*[!b]", "a\\\\*b", "*[*]*",
	};
	char pattern[16], s[16];

	for (unsigned p = 0; p < 1365 + 18; p++) {
		if (p < 1365)
			nth(p, "ab*?", pattern);
		else
			strcpy(pattern, classes[p - 1365]);
		for (unsigned i = 0; i < 1500; i++) {
			bool want;

			nth(i, p < 1365 ? "ab" : "ab]x-*[c", s);
			want = !fnmatch(pattern, s, 0);
			if (filter_glob((uint8_t *)pattern, (uint32_t)strlen(pattern), (uint8_t *)s, (uint32_t)strlen(s)) != want)
				fail_msg("%s %s: fnmatch says %d", pattern, s, want);
		}
	}
}

static void set(uint8_t *b, const char *field, uint64_t v)
{
	enum event_field_kind kind;
	const struct event_field *f = event_find_field(&event, field, strlen(field), &kind);

	memcpy(b + f->offset, &v, f->size);
}

/* Filters over one record, and whether it passes. */
static const struct { const char *text; bool pass; } cases[] = {
	{ "u32 == 7", true }, { "u32==7", true }, { " ( u32 == 7 ) ", true }, { "!u32 == 8", true }, { "!!u32 == 7", true },
	{ "! u32 == 7", false }, { "!(u32 == 7 && u8 == 200)", false }, { "!(u32 == 8 || u8 == 1)", true },
	{ "u32 == 7 || u32 == 8 && u8 == 1", true }, { "(u32 == 7 || u32 == 8) && u8 == 1", false },
	{ "u32 == 0x7", true }, { "u32 == 07", true }, { "u64 == 18446744073709551615", true }, { "s64 == -1", true },
	{ "s64 == -0x1", true }, { "s8 == -56", true }, { "s8 < 0", true }, { "u8 > 127", true },
	{ "u8 == 456", true }, /* cut to the field's width, as in the kernel */
	{ "s16 == -32768", true }, { "s16 & 0x8000", true }, { "u32 & 8", false }, { "s32 < -5", true },
	{ "common_type == 7", true }, { "common_pid == 4242", true }, { "common_flags == 0", true },
	{ "array == 0", false }, { "array != 0", false }, { "!array == 0", true }, /* an array compares to nothing */
	{ "stacktrace == 0", false }, { "tail == \"the end\"", true }, { "tail ~ \"*end\"", true },
	{ "fixed == \"twelve chars\"", true }, { "fixed ~ \"*chars\"", true }, { "fixed == \"twelve\"", false },
	{ "dynamic == 'py'", true }, { "dynamic != 'py'", false }, { "dynamic ~ \"!p*\"", false },
	{ "dynamic ~ \"!x*\"", true },
	{ "comm == \"python3.11\"", true }, { "COMM ~ \"py*\"", true }, { "common_comm ~ \"*.11\"", true },
	{ "comm ~ \"p?thon[1-5].11\"", true }, { "comm ~ \"p*n*1\"", true },
	{ "pointer == \"python3.11\"", true }, { "pointer.ustring ~ \"py*\"", true },
	{ "CPU == 3", true }, { "cpu < 3", false }, { "common_cpu >= 3", true }, { "CPU & 3", false }, { "CPU > -1", true },
	{ "CPU & CPUS{3}", true }, { "CPU & CPUS{0-2,4-19}", false }, { "CPU & CPUS{0-2,3}", true },
	{ "CPU != CPUS{3}", false },
	{ "CPU == CPUS{3,4}", false }, { "CPU != CPUS{3,4}", true }, { "u32 & CPUS{7}", true },
	{ "u32 & CPUS{0-19:1/7}", true },
	{ "u32 & CPUS{0-6,8-N}", false }, { "u8 & CPUS{all}", false }, { "u8 != CPUS{1,2}", false }, /* no such CPU: 200 */
	{ "mask & CPUS{2-8}", true }, { "mask & CPUS{3-8}", false }, { "mask == CPUS{2,9}", true },
	{ "mask != CPUS{2,9}", false },
	{ "mask == CPUS{2}", false }, { "mask == CPUS{2,9,11}", false }, { "mask & CPUS{9}", true },
	{ "array == CPUS{1-2}", false },
	{ "s64.function == main", false }, { "u64.function != main", true }, { "pointer.function == 0x1050", false },
};

static void each_case(void **state)
{
	uint8_t b[RECORD_BYTES] = { 7 };
	char comm[FILTER_COMM_BYTES] = "python3.11";
	struct filter_record r = { .bytes = b, .size = RECORD_BYTES, .cpu = 3, .comm = comm, .fetch = fetch, .resolve = resolve,
				   .scratch = scratch, .scratch_bytes = sizeof(scratch) };

	memcpy(b + 4, &(int32_t){ 4242 }, 4);
	set(b, "u8", 200);
	set(b, "s8", 200);
	set(b, "s16", 0x8000);
	set(b, "u32", 7);
	set(b, "s32", (uint64_t)-6);
	set(b, "u64", UINT64_MAX);
	set(b, "s64", UINT64_MAX);
	memcpy(b + 40, "twelve chars", 12);
	set(b, "dynamic", 2u << 16 | 40);
	memcpy(b + 40, "py", 2);
	set(b, "pointer", 5);
	set(b, "mask", 3u << 16 | 120);
	memcpy(b + 108, "the end", 8);
	b[120] = 4;
	b[121] = 2;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(b + 40, strstr(cases[i].text, "fixed") ? "twelve chars" : "py\0\0\0\0\0\0\0\0\0", 12);
		if (passes(cases[i].text, &r) != cases[i].pass)
			fail_msg("%s: should be %d", cases[i].text, cases[i].pass);
	}
}

static void functions(void **state)
{
	uint8_t b[RECORD_BYTES] = { 0 };
	struct filter_record r = { .bytes = b, .size = RECORD_BYTES, .resolve = resolve };
	static const struct { uint64_t at; bool inside; } places[] = {
		{ 0xfff, false }, { 0x1000, true }, { 0x10ff, true }, { 0x1100, false },
	};

	for (size_t i = 0; i < 4; i++) {
		set(b, "u64", places[i].at + 0x1000);
		assert_int_equal(passes("u64.function == main", &r), places[i].inside);
		assert_int_equal(passes("(u64.function == main)", &r), places[i].inside);
		assert_int_equal(passes("((u64.function == operator()) && u8 == 0)", &r), places[i].inside);
		assert_int_equal(passes("u64.function == 0x1080", &r), places[i].inside);
		assert_int_equal(passes("u64.function != main", &r), !places[i].inside);
	}
	r.resolve = NULL; /* whoever cannot tell lets nothing pass */
	assert_false(passes("u64.function == main", &r) || passes("u64.function != main", &r));
}

/* Refused, with the kernel's error, errno and column; those the golden files do not have. */
static const struct { const char *text; enum filter_error error; int code; size_t position; } refused[] = {
	{ "", FILTER_ERROR_OTHER, EINVAL, 0 }, { "()", FILTER_ERROR_OTHER, EINVAL, 0 },
	{ "&&", FILTER_ERROR_OTHER, EPERM, 0 }, { "u8 == 1 && || u8 == 2", FILTER_ERROR_OTHER, EPERM, 0 },
	{ "!", FILTER_NO_FILTER, EINVAL, 1 }, { "!=", FILTER_ERROR_OTHER, EPERM, 0 },
	{ "u8 == 1 || u8 == 2 &&", FILTER_MEANINGLESS, EINVAL, 21 }, { "u8 == 1 ||", FILTER_MEANINGLESS, EINVAL, 10 },
	{ "(u8 == 1 ||)", FILTER_ERROR_OTHER, EPERM, 0 },
	{ "u8", FILTER_INVALID_OP, EINVAL, 3 }, { "u8 =< 1", FILTER_INVALID_OP, EINVAL, 4 },
	{ "u8 == -1", FILTER_ILLEGAL_INTVAL, EINVAL, 7 }, { "s64 == 9223372036854775808", FILTER_ILLEGAL_INTVAL, EINVAL, 8 },
	{ "s64 == -9223372036854775809", FILTER_ILLEGAL_INTVAL, EINVAL, 8 },
	{ "u8 == 08", FILTER_ILLEGAL_INTVAL, EINVAL, 7 },
	{ "u8 == 0x", FILTER_ILLEGAL_INTVAL, EINVAL, 7 }, { "u8 == 12ab", FILTER_ILLEGAL_INTVAL, EINVAL, 7 },
	{ "s8 == -", FILTER_ILLEGAL_INTVAL, EINVAL, 7 },
	{ "u8 == 000000000000000000000001", FILTER_OPERAND_TOO_LONG, EINVAL, 31 },
	{ "u8 ~ 5", FILTER_ILLEGAL_FIELD_OP, EINVAL, 6 }, { "comm < \"a\"", FILTER_ILLEGAL_FIELD_OP, EINVAL, 8 },
	{ "comm == 'a\"", FILTER_MISSING_QUOTE, ESRCH, 8 }, { "((u8 == 1)", FILTER_TOO_MANY_OPEN, ENOENT, 0 },
	{ "u8 == 1 && ((u8 == 1)", FILTER_TOO_MANY_OPEN, ENOENT, 11 },
	{ "comm == '(' && (u8 == ')'", FILTER_TOO_MANY_OPEN, ENOENT, 15 },
	{ "u8 == 1 & u8 == 2", FILTER_TOO_MANY_PREDICATES, EPERM, 8 },
	{ "u8 == 1 (u8 == 2)", FILTER_TOO_MANY_PREDICATES, EPERM, 8 },
	{ "u8 & CPUS", FILTER_MISSING_BRACE_OPEN, EINVAL, 11 }, { "u8 & CPUS{1", FILTER_MISSING_BRACE_CLOSE, EINVAL, 12 },
	{ "u8 & CPUS{}", FILTER_INVALID_CPULIST, EINVAL, 11 }, { "u8 & CPUS{3-1}", FILTER_INVALID_CPULIST, EINVAL, 14 },
	{ "u8 & CPUS{20}", FILTER_INVALID_CPULIST, EINVAL, 13 }, { "u8 & CPUS{1:1/2}", FILTER_INVALID_CPULIST, EINVAL, 16 },
	{ "u8 & CPUS{1-4:3/2}", FILTER_INVALID_CPULIST, EINVAL, 18 }, { "u8 & CPUS{x}", FILTER_INVALID_CPULIST, EINVAL, 12 },
	{ "u8 > CPUS{1}", FILTER_ILLEGAL_FIELD_OP, EINVAL, 6 }, { "comm == CPUS{1}", FILTER_ILLEGAL_FIELD_OP, EINVAL, 9 },
	{ "stacktrace == CPUS{1}", FILTER_ILLEGAL_FIELD_OP, EINVAL, 15 },
	{ "stacktrace == 'x'", FILTER_EXPECT_DIGIT, EINVAL, 15 },
	{ "u64.function < main", FILTER_INVALID_OP, EINVAL, 16 },
	{ "u64.function == nosuch", FILTER_NO_FUNCTION, EINVAL, 23 },
	{ "u64.function == 0xz", FILTER_INVALID_VALUE, EINVAL, 20 },
	{ "u64.function == 0x2000", FILTER_NO_FUNCTION, EINVAL, 23 },
	{ "u64.nosuch == 1", FILTER_INVALID_OP, EINVAL, 4 },
};

static void each_refused(void **state)
{
	char *longest = mem_printf("comm == \"%0255d\"", 0), *longer = mem_printf("comm == \"%0256d\"", 0);
	struct filter_program *p = compiled(longest);
	struct filter_fault f;

	free(p);
	assert_int_equal(filter_compile(&event, longer, strlen(longer), &context, &p, &f), -EINVAL);
	assert_int_equal(f.error, FILTER_OPERAND_TOO_LONG);
	free(longest);
	free(longer);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		int r = filter_compile(&event, refused[i].text, strlen(refused[i].text), &context, &p, &f);

		if (r != -refused[i].code || f.error != refused[i].error || f.position != refused[i].position)
			fail_msg("%s: %d, %s at %zu", refused[i].text, r, r < 0 ? filter_error_text[f.error] : "taken", f.position);
	}
}

/* As large as a page of text can make them. */
static void large(void **state)
{
	uint8_t b[RECORD_BYTES] = { 0 };
	struct filter_record r = { .bytes = b, .size = RECORD_BYTES };
	char *text = mem_zalloc(8192);
	struct filter_program *p;
	struct filter_fault f;

	for (unsigned i = 0; i < 454; i++)
		sprintf(text + strlen(text), "%su8==%u", i ? "||" : "", i % 10 + 5);
	p = compiled(text);
	assert_int_equal(p->n, 454);
	assert_false(filter_run(p, p->bytes, &r));
	b[8] = 14;
	assert_true(filter_run(p, p->bytes, &r));
	free(p);
	memset(text, '(', 2000);
	strcpy(text + 2000, "u8==14");
	memset(text + 2006, ')', 2000);
	text[4006] = '\0';
	assert_true(passes(text, &r));
	memset(text, ' ', 4096);
	memcpy(text, "u8==1", 5);
	assert_int_equal(filter_compile(&event, text, 4096, &context, &p, &f), -EINVAL);
	free(text);
}

/* A record that is shorter than it should be, a place outside of it, an address that is none. */
static void hostile_records(void **state)
{
	static const char *const texts[] = { "s64 == 0", "s64 != 0", "fixed == 'x'", "dynamic != 'x'", "relative != 'x'",
					     "mask != CPUS{1,2}", "pointer != 'x'", "u64.function != main", "u32 & CPUS{1,2}" };
	uint8_t b[RECORD_BYTES];
	struct filter_record r = { .bytes = b, .fetch = fetch, .resolve = resolve, .scratch = scratch, .scratch_bytes = sizeof(scratch) };

	memset(b, 0xff, sizeof(b));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct filter_program *p = compiled(texts[i]);

		for (r.size = 0; r.size <= RECORD_BYTES; r.size++) {
			uint8_t *exact = malloc(r.size + 1u);

			memcpy(exact, b, r.size);
			r.bytes = exact;
			filter_run(p, p->bytes, &r);
			r.size == 8 ? assert_false(filter_run(p, p->bytes, &r)) : (void)0;
			free(exact);
		}
		free(p);
	}
	r.bytes = b;
	r.size = RECORD_BYTES;
	r.fetch = NULL;
	assert_false(passes("dynamic != 'x'", &r)); /* at 65535 */
	assert_false(passes("pointer != 'x'", &r));
	assert_false(passes("comm != 'x'", &r)); /* no name given */
}

/* Every byte of a program overwritten: it ends, touches nothing it must not (ASan watches), and the
 * verifier lets none pass that jumps back or out. */
static void hostile_programs(void **state)
{
	static const char text[] = "u8 == 1 && (fixed ~ \"a*b\" || dynamic ~ \"*x*\") && mask & CPUS{1,9} || comm == \"c\"";
	struct filter_program *good = compiled(text);
	uint8_t b[RECORD_BYTES];
	char comm[FILTER_COMM_BYTES];
	struct filter_record r;

	seed = 88172645463325252;
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t bytes = rnd() % 4 ? good->bytes : (uint32_t)(rnd() % (good->bytes + 1));
		struct filter_program *p = malloc(bytes + !bytes);

		memcpy(p, good, bytes);
		for (unsigned k = 0; bytes && k < 1 + rnd() % 4; k++)
			((uint8_t *)p)[rnd() % bytes] = (uint8_t)rnd();
		random_record(b, &r, comm);
		filter_run(p, bytes, &r);
		if (filter_verify(p, bytes, event_record_bytes(&event)))
			for (unsigned k = 0; k < p->n; k++)
				assert_true(p->at[k].target > k && p->at[k].target <= p->n + 1);
		free(p);
	}
	assert_true(filter_verify(good, good->bytes, event_record_bytes(&event)));
	assert_false(filter_verify(good, good->bytes, 41)); /* records of another event */
	free(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_expressions), cmocka_unit_test(globs_as_fnmatch), cmocka_unit_test(each_case),
		cmocka_unit_test(functions), cmocka_unit_test(each_refused), cmocka_unit_test(large),
		cmocka_unit_test(hostile_records), cmocka_unit_test(hostile_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
