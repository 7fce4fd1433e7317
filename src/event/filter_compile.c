/* SPDX-License-Identifier: MIT */
/* The logic of a filter: &&, || and parentheses as jumps.
 *
 * Comparisons become instructions in the order they stand in the text; operators build a tree over them. Then
 * each node is told, from the root down, where control goes when it is true and where when it is false. For
 * every comparison one of the two is the next instruction, so one jump is enough. */
#include "event/filter_compile.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "arch/x86_64/filter_code.h"
#include "event/filter_predicate.h"

struct node {
	bool or_not_and, negated;
	int left, right;      /* nodes; left < 0: the comparison `first` */
	uint16_t first;       /* its first comparison */
	uint16_t if_true, if_false;
};

/* One pair of parentheses that is open, or the whole text. Nodes; -1: none yet. */
struct level {
	int ors, ands;
	bool negated;
};

struct compiler {
	struct filter_build b;
	size_t at;
	VEC(struct node) nodes;
	VEC(struct level) levels;
};

static int fault(struct compiler *c, enum filter_error error, int code, size_t position)
{
	return filter_fault_set(c->b.fault, error, code, position);
}

/* The character that opens what is open at the end: from behind, the first `(` without its `)`. The kernel does
 * not look at the first character; if it is none of the others it is that one. */
static size_t unclosed(const char *text, size_t i)
{
	int level = 0;
	char quote = 0;

	for (; i; i--) {
		char c = text[i];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '\'' || c == '"')
			quote = c;
		else if (c == '(' && !level)
			return i;
		else
			level += c == ')' ? 1 : c == '(' ? -1 : 0;
	}
	return 0;
}

/* Parentheses and quotes over the whole text, before anything else is looked at. *empty: nothing but
 * parentheses. The errnos are what the kernel lets out. */
static int balance(struct compiler *c, bool *empty)
{
	const char *s = c->b.text;
	size_t i, quoted = 0;
	int open = 0;
	char quote = 0;

	*empty = true;
	for (i = 0; s[i]; i++) {
		if (quote) {
			quote = s[i] == quote ? 0 : quote;
		} else if (s[i] == '\'' || s[i] == '"') {
			quote = s[i];
			quoted = i;
			*empty = false;
		} else if (s[i] == '(') {
			open++;
		} else if (s[i] == ')') {
			if (!open--)
				return fault(c, FILTER_TOO_MANY_CLOSE, EPERM, i);
		} else if (!isspace((unsigned char)s[i])) {
			*empty = false;
		}
	}
	if (quote)
		return fault(c, FILTER_MISSING_QUOTE, ESRCH, quoted);
	if (open)
		return fault(c, FILTER_TOO_MANY_OPEN, ENOENT, unclosed(s, i - 1));
	return 0;
}

static int add_node(struct compiler *c, int left, int right, bool or_not_and)
{
	uint16_t first = left < 0 ? (uint16_t)(c->b.insns.n - 1) : c->nodes.at[left].first;

	*vec_add(&c->nodes) = (struct node){ .or_not_and = or_not_and, .left = left, .right = right, .first = first };
	return (int)c->nodes.n - 1;
}

static struct level *top(struct compiler *c)
{
	return &c->levels.at[c->levels.n - 1];
}

static void open_level(struct compiler *c, bool negated)
{
	*vec_add(&c->levels) = (struct level){ -1, -1, negated };
}

/* A comparison or a closed parenthesis is the level's next operand. */
static void put(struct compiler *c, int node, bool negated)
{
	struct level *l = top(c);

	c->nodes.at[node].negated ^= negated;
	l->ands = l->ands < 0 ? node : add_node(c, l->ands, node, false);
}

static void end_of_ands(struct compiler *c)
{
	struct level *l = top(c);

	l->ors = l->ors < 0 ? l->ands : add_node(c, l->ors, l->ands, true);
	l->ands = -1;
}

/* What may stand before an operand, then the comparison. 1: the text has ended before one. */
static int operand(struct compiler *c)
{
	bool negated = false;
	int r;

	for (; c->b.text[c->at]; c->at++) {
		char this = c->b.text[c->at], next = c->b.text[c->at + 1];

		if (isspace((unsigned char)this))
			continue;
		if (this == '(') {
			open_level(c, negated);
			negated = false;
		} else if (this == '!' && next != '=' && next != '~') {
			negated = !negated;
		} else if (c->b.insns.n == FILTER_INSNS_MAX) {
			return fault(c, FILTER_TOO_MANY_PREDICATES, EPERM, c->at);
		} else {
			r = filter_predicate(&c->b, &c->at);
			if (r == 0)
				put(c, add_node(c, -1, -1, false), negated);
			return r;
		}
	}
	return 1;
}

/* Closing parentheses, then `&&` or `||`. 1: the text has ended. */
static int operator(struct compiler *c)
{
	for (;; c->at++) {
		char this = c->b.text[c->at];

		if (isspace((unsigned char)this))
			continue;
		if (!this)
			return 1;
		if (this == ')' && c->levels.n > 1) {
			bool negated = top(c)->negated;
			int node;

			end_of_ands(c);
			node = top(c)->ors;
			c->levels.n--;
			put(c, node, negated);
			continue;
		}
		if ((this != '&' && this != '|') || c->b.text[c->at + 1] != this)
			return fault(c, FILTER_TOO_MANY_PREDICATES, EPERM, c->at);
		if (this == '|')
			end_of_ands(c);
		c->at += 2;
		return 0;
	}
}

/* The whole text; *root is its tree. */
static int parse(struct compiler *c, int *root)
{
	bool dangling;
	int r;

	open_level(c, false);
	do {
		r = operand(c);
		dangling = r > 0;
		if (r == 0)
			r = operator(c);
	} while (r == 0);
	if (r < 0)
		return r;
	if (c->levels.n > 1) /* a name took the `)` for its own */
		return fault(c, FILTER_TOO_MANY_OPEN, EPERM, c->at);
	if (!c->nodes.n)
		return fault(c, FILTER_NO_FILTER, EINVAL, c->at);
	if (dangling) /* an operator, and nothing behind it: some kernels let it pass */
		return fault(c, FILTER_MEANINGLESS, EINVAL, c->at);
	end_of_ands(c);
	*root = top(c)->ors;
	return 0;
}

/* Where a node's value leads, from the root down: children stand before their parents. */
static void lead(struct compiler *c, int root, uint16_t n)
{
	c->nodes.at[root].if_true = n;
	c->nodes.at[root].if_false = n + 1;
	for (int i = root; i >= 0; i--) {
		struct node *this = &c->nodes.at[i], *left, *right;
		uint16_t yes = this->negated ? this->if_false : this->if_true;
		uint16_t no = this->negated ? this->if_true : this->if_false;

		if (this->left < 0) {
			struct filter_insn *insn = &c->b.insns.at[this->first];
			bool on_true = no == this->first + 1;

			insn->target = on_true ? yes : no;
			insn->flags |= on_true ? FILTER_BRANCH : 0;
			continue;
		}
		left = &c->nodes.at[this->left];
		right = &c->nodes.at[this->right];
		right->if_true = yes;
		right->if_false = no;
		left->if_true = this->or_not_and ? yes : right->first;
		left->if_false = this->or_not_and ? right->first : no;
	}
}

/* Behind all else: what runs it may execute this instead. */
static struct filter_program *with_code(struct filter_program *p)
{
	uint8_t code[FILTER_CODE_MAX];
	uint16_t needs;
	uint32_t at = p->bytes, n = filter_code_emit(p, code, &needs);

	if (!n || at + n + 7 > FILTER_BYTES_MAX)
		return p;
	p = mem_realloc(p, at + n + 7, 1);
	memset((char *)p + at, 0, n + 7);
	memcpy((char *)p + at, code, n);
	p->bytes = (at + n + 7) / 8 * 8;
	p->code = (uint16_t)(at / 8);
	p->code_needs = needs;
	return p;
}

static struct filter_program *assemble(const struct filter_build *b)
{
	size_t begin = sizeof(struct filter_program) + b->insns.n * sizeof(b->insns.at[0]);
	size_t bytes = (begin + b->data.n + 7) / 8 * 8;
	struct filter_program *p = mem_zalloc(bytes);

	p->magic = FILTER_MAGIC;
	p->bytes = (uint32_t)bytes;
	p->n = (uint16_t)b->insns.n;
	p->needs = b->needs;
	memcpy(p->at, b->insns.at, b->insns.n * sizeof(b->insns.at[0]));
	if (b->data.n)
		memcpy((char *)p + begin, b->data.at, b->data.n);
	for (uint16_t i = 0; i < p->n; i++)
		if (p->at[i].test >= FILTER_STRING && p->at[i].test != FILTER_CPU)
			p->at[i].data += (uint32_t)begin;
	return p;
}

static int compile(struct compiler *c, struct filter_program **program)
{
	bool empty;
	int root = 0, r = balance(c, &empty);

	if (r < 0)
		return r;
	if (empty)
		return fault(c, FILTER_ERROR_OTHER, EINVAL, 0);
	r = parse(c, &root);
	if (r < 0)
		return r;
	if (sizeof(**program) + c->b.insns.n * sizeof(c->b.insns.at[0]) + c->b.data.n + 7 > FILTER_BYTES_MAX)
		return fault(c, FILTER_TOO_MANY_PREDICATES, EPERM, c->at);
	lead(c, root, (uint16_t)c->b.insns.n);
	*program = with_code(assemble(&c->b));
	return 0;
}

int filter_compile(const struct event_format *e, const char *text, size_t n, const struct filter_context *context,
		   struct filter_program **program, struct filter_fault *fault_at)
{
	char *copy = mem_strndup(text, n);
	struct compiler c = { .b = { .event = e, .context = context, .text = copy, .fault = fault_at } };
	int r;

	n = strlen(copy);
	*fault_at = (struct filter_fault){ .text = text, .length = n };
	if (n >= FILTER_TEXT_MAX)
		r = fault(&c, FILTER_ERROR_OTHER, EINVAL, 0);
	else
		r = compile(&c, program);
	vec_free(&c.b.insns);
	vec_free(&c.b.data);
	vec_free(&c.nodes);
	vec_free(&c.levels);
	free(copy);
	return r;
}
