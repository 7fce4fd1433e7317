/* SPDX-License-Identifier: MIT */
/* Compiles a filter's logic: &&, || and parentheses become jumps. filter.c and trigger.c call it;
 * no state but a compiler's own. Errors are ftrace's, at ftrace's positions.
 *
 * Comparisons become instructions in their order in the text; operators build a tree over them.
 * Then each node gets, from the root down, the targets for true and for false. For every comparison
 * one of the two is the next instruction, so one jump is enough. Any thread. */
#include "event/filter_compile.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "arch/filter_code.h"
#include "event/filter_predicate.h"

struct node {
	bool or_not_and, negated;
	int left, right;      /* nodes; left < 0: the node is the comparison `first` */
	uint16_t first;       /* number of its first comparison */
	uint16_t if_true, if_false;
};

/* One open pair of parentheses, or the whole text. Nodes; -1: none yet. */
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

static int set_fault(struct compiler *c, enum filter_error error, int code, size_t position)
{
	return filter_fault_set(c->b.fault, error, code, position);
}

/* Returns the position of the character that opens the pair which is open at the end: read
 * backwards, the first `(` without its `)`. The kernel does not look at the first character; if it
 * is none of the others it is that one. */
static size_t unclosed_quote(const char *text, size_t i)
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

/* Checks parentheses and quotes of the whole text before anything else. *empty: nothing but
 * parentheses. The errnos are those that the kernel returns. */
static int check_balance(struct compiler *c, bool *empty)
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
				return set_fault(c, FILTER_TOO_MANY_CLOSE, EPERM, i);
		} else if (!isspace((unsigned char)s[i])) {
			*empty = false;
		}
	}
	if (quote)
		return set_fault(c, FILTER_MISSING_QUOTE, ESRCH, quoted);
	if (open)
		return set_fault(c, FILTER_TOO_MANY_OPEN, ENOENT, unclosed_quote(s, i - 1));
	return 0;
}

/* Returns the new node's number. left < 0: a leaf, for the comparison that was added last. */
static int add_node(struct compiler *c, int left, int right, bool or_not_and)
{
	uint16_t first = left < 0 ? (uint16_t)(c->b.insns.n - 1) : c->nodes.at[left].first;

	*vec_add(&c->nodes) = (struct node){
		.or_not_and = or_not_and, .left = left, .right = right, .first = first
	};
	return (int)c->nodes.n - 1;
}

/* The level of the innermost parentheses that are open. */
static struct level *top_level(struct compiler *c)
{
	return &c->levels.at[c->levels.n - 1];
}

static void open_level(struct compiler *c, bool negated)
{
	*vec_add(&c->levels) = (struct level){ -1, -1, negated };
}

/* Makes a comparison or a closed parenthesis the level's next operand. */
static void put_node(struct compiler *c, int node, bool negated)
{
	struct level *l = top_level(c);

	c->nodes.at[node].negated ^= negated;
	l->ands = l->ands < 0 ? node : add_node(c, l->ands, node, false);
}

/* && binds more tightly than ||: an operand of || is all that the && before it have joined. */
static void end_of_ands(struct compiler *c)
{
	struct level *l = top_level(c);

	l->ors = l->ors < 0 ? l->ands : add_node(c, l->ors, l->ands, true);
	l->ands = -1;
}

/* Reads what may stand before an operand, then the comparison. Returns 1: the text ended before
 * one. */
static int parse_operand(struct compiler *c)
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
			return set_fault(c, FILTER_TOO_MANY_PREDICATES, EPERM, c->at);
		} else {
			r = filter_predicate(&c->b, &c->at);
			if (r == 0)
				put_node(c, add_node(c, -1, -1, false), negated);
			return r;
		}
	}
	return 1;
}

/* Reads closing parentheses, then `&&` or `||`. Returns 1: the text has ended. */
static int parse_operator(struct compiler *c)
{
	for (;; c->at++) {
		char this = c->b.text[c->at];

		if (isspace((unsigned char)this))
			continue;
		if (!this)
			return 1;
		if (this == ')' && c->levels.n > 1) {
			bool negated = top_level(c)->negated;
			int node;

			end_of_ands(c);
			node = top_level(c)->ors;
			c->levels.n--;
			put_node(c, node, negated);
			continue;
		}
		if ((this != '&' && this != '|') || c->b.text[c->at + 1] != this)
			return set_fault(c, FILTER_TOO_MANY_PREDICATES, EPERM, c->at);
		if (this == '|')
			end_of_ands(c);
		c->at += 2;
		return 0;
	}
}

/* Parses the whole text; *root is its tree. */
static int parse_expression(struct compiler *c, int *root)
{
	bool dangling;
	int r;

	open_level(c, false);
	do {
		r = parse_operand(c);
		dangling = r > 0;
		if (r == 0)
			r = parse_operator(c);
	} while (r == 0);
	if (r < 0)
		return r;
	if (c->levels.n > 1) /* a name took the `)` for its own */
		return set_fault(c, FILTER_TOO_MANY_OPEN, EPERM, c->at);
	if (!c->nodes.n)
		return set_fault(c, FILTER_NO_FILTER, EINVAL, c->at);
	if (dangling) /* an operator without an operand after it: some kernels let it pass */
		return set_fault(c, FILTER_MEANINGLESS, EINVAL, c->at);
	end_of_ands(c);
	*root = top_level(c)->ors;
	return 0;
}

/* Sets the targets of each node, from the root down: children come before their parents in the
 * list. */
static void lead_branches(struct compiler *c, int root, uint16_t n)
{
	c->nodes.at[root].if_true = n;
	c->nodes.at[root].if_false = n + 1;
	for (int i = root; i >= 0; i--) {
		struct node *this = &c->nodes.at[i], *left, *right;
		uint16_t yes = this->negated ? this->if_false : this->if_true;
		uint16_t no = this->negated ? this->if_true : this->if_false;

		if (this->left < 0) {
			struct filter_insn *insn = &c->b.insns.at[this->first];
			/* If false is the next instruction, the jump is taken on true; else on
			 * false. */
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

/* Appends machine code, if there can be any, for who executes the program. */
static struct filter_program *with_code(struct filter_program *p)
{
	uint8_t code[FILTER_CODE_MAX];
	uint16_t needs;
	uint32_t at = p->bytes, n = filter_code_emit(p, code, &needs);

	/* 7 more bytes: the size is rounded up to 8, the unit in which p->code counts. */
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

/* Lays out the program: its header, the instructions, then patterns and masks, padded to 8
 * bytes. */
static struct filter_program *assemble_program(const struct filter_build *b)
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
		/* Offsets of data were counted from the begin of the data. */
		if (p->at[i].test >= FILTER_STRING && p->at[i].test != FILTER_CPU)
			p->at[i].data += (uint32_t)begin;
	return p;
}

/* Compiles the text. Nothing is read before quotes and parentheses are balanced, as in the
 * kernel. */
static int compile_program(struct compiler *c, struct filter_program **program)
{
	bool empty;
	int root = 0, r = check_balance(c, &empty);

	if (r < 0)
		return r;
	if (empty)
		return set_fault(c, FILTER_ERROR_OTHER, EINVAL, 0);
	r = parse_expression(c, &root);
	if (r < 0)
		return r;
	if (sizeof(**program) + c->b.insns.n * sizeof(c->b.insns.at[0]) + c->b.data.n + 7 >
	    FILTER_BYTES_MAX)
		return set_fault(c, FILTER_TOO_MANY_PREDICATES, EPERM, c->at);
	lead_branches(c, root, (uint16_t)c->b.insns.n);
	*program = with_code(assemble_program(&c->b));
	return 0;
}

/* *program is for free(), if 0 is returned. fault_at points into text, which has to live as long
 * as it is asked. */
int filter_compile(const struct event_format *e, const char *text, size_t n,
		   const struct filter_context *context, struct filter_program **program,
		   struct filter_fault *fault_at)
{
	char *copy = mem_strndup(text, n);
	/* The text of the caller need not end in a NUL; a NUL within it ends the filter. A fault
	 * points into the caller's text. */
	struct compiler c = {
		.b = { .event = e, .context = context, .text = copy, .fault = fault_at }
	};
	int r;

	n = strlen(copy);
	*fault_at = (struct filter_fault){ .text = text, .length = n };
	if (n >= FILTER_TEXT_MAX)
		r = set_fault(&c, FILTER_ERROR_OTHER, EINVAL, 0);
	else
		r = compile_program(&c, program);
	vec_free(&c.b.insns);
	vec_free(&c.b.data);
	vec_free(&c.nodes);
	vec_free(&c.levels);
	free(copy);
	return r;
}
