/* SPDX-License-Identifier: MIT */
/* Parses and lists function commands. settings.c calls it for writes and reads of
 * set_ftrace_filter, with the instance's settings locked. Commands are shared between copies of the
 * settings, and instance/triggers.c counts them down on another thread; hence the atomics. */
#include "model/function_command.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "model/function_condition.h"

/* By enum function_action: how a command is written, and when a hit counts. */
static const struct kind {
	const char *name;
	bool switches; /* an event */
	bool sets_state; /* its effect is a state: if it holds already the hit is not counted */
} kinds[FUNCTION_ACTIONS_N] = {
	[FUNCTION_TRACEON] = { "traceon", false, true },
	[FUNCTION_TRACEOFF] = { "traceoff", false, true },
	[FUNCTION_SNAPSHOT] = { "snapshot", false, false },
	[FUNCTION_STACKTRACE] = { "stacktrace", false, false },
	[FUNCTION_DUMP] = { "dump", false, false },
	[FUNCTION_CPUDUMP] = { "cpudump", false, false },
	[FUNCTION_ENABLE] = { "enable_event", true, true },
	[FUNCTION_DISABLE] = { "disable_event", true, true },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* --- parsing ------------------------------------------------------------------------ */

/* Index in kinds; -1: no such command. */
static int kind_of(const char *name, size_t n)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, name, n))
			return (int)i;
	return -1;
}

/* Two colons are C++'s, not a command's. NULL: a word of the filter. */
const char *function_command_in(const char *word)
{
	/* a condition may have such a text in a string */
	if (function_condition_at(word))
		return NULL;
	for (const char *p = strchr(word, ':'); p; p = strchr(p, ':')) {
		size_t colons = strspn(p, ":");

		p += colons;
		if (colons == 1 && kind_of(p, strcspn(p, ":")) >= 0)
			return p - 1;
	}
	return NULL;
}

/* Drops a reference; the last one frees. Release and acquire: each pairs with the other calls, so
 * that the thread that frees has seen all uses. */
static void free_command(struct function_command *c)
{
	if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) != 1)
		return;
	free(c->function);
	free(c->system);
	free(c->event);
	free(c);
}

/* Takes the next parameter off the front of *at; NULL: there is none. free() it. */
static char *next_parameter(const char **at)
{
	size_t n;
	char *p;

	if (!**at)
		return NULL;
	++*at; /* the colon */
	n = strcspn(*at, ":");
	p = mem_strndup(*at, n);
	*at += n;
	return p;
}

/* Parses a count. Removing a command needs to know whether it has one, not which: the list shows
 * what is left of it, as "count=N". */
static int parse_count(struct function_command *c, const char *word, const char *at,
		       struct err *err)
{
	const char *begin = at + 1;
	char *number, *end = NULL;
	int e = 0;

	c->counted = *at;
	number = *word == '!' ? NULL : next_parameter(&at);
	if (!number)
		return 0;
	errno = 0;
	/* An empty count is unlimited, as in the kernel. */
	atomic_init(&c->count, *number ? strtoul(number, &end, 0) : COMMAND_UNLIMITED);
	if (*number && (!isdigit((unsigned char)*number) || *end || errno))
		e = err_at(err, EINVAL, word, (size_t)(begin - word), "how often must be a number");
	free(number);
	return e;
}

/* dump and cpudump have counts of their own, as in ftrace: once, and every time. */
static void set_own_count(struct function_command *c)
{
	if (c->action != FUNCTION_DUMP && c->action != FUNCTION_CPUDUMP)
		return;
	c->counted = false;
	atomic_init(&c->count, c->action == FUNCTION_DUMP ? 1 : COMMAND_UNLIMITED);
}

/* Parses the parameters behind the command's name. */
static int parse_parameters(struct function_command *c, const char *word, const char *at,
			    struct err *err)
{
	const char *begin = at;

	if (kinds[c->action].switches) {
		c->system = next_parameter(&at);
		c->event = c->system ? next_parameter(&at) : NULL;
		if (!c->event)
			return err_at(err, EINVAL, word, (size_t)(begin - word),
				      "%s needs SYSTEM:EVENT", kinds[c->action].name);
	}
	if (parse_count(c, word, at, err))
		return -EINVAL;
	set_own_count(c);
	return 0;
}

static struct function_command *parse_command(const char *word, struct err *err)
{
	struct function_command *c = mem_zalloc(sizeof(*c));
	const char *function = word + (*word == '!'), *at = function_command_in(word);
	size_t n = strcspn(at + 1, ":");

	/* parse_command() is only called for words that function_command_in() found a command
	 * in. */
	*c = (struct function_command){ .action = (enum function_action)kind_of(at + 1, n),
					.count = COMMAND_UNLIMITED,
					.users = 1,
					.function =
						mem_strndup(function, (size_t)(at - function)) };
	if (parse_parameters(c, word, at + 1 + n, err)) {
		free_command(c);
		return NULL;
	}
	return c;
}

/* --- the list ----------------------------------------------------------------------- */

static bool same_event(const struct function_command *a, const struct function_command *b)
{
	return !a->event || (!strcmp(a->event, b->event) && !strcmp(a->system, b->system));
}

/* Two commands that differ in the number of their count alone are one; with and without a count
 * they are two. */
static bool same_kind(const struct function_command *a, const struct function_command *b)
{
	return a->action == b->action && a->counted == b->counted && same_event(a, b);
}

/* Removes the commands that `removal` matches, by name or glob. */
static void remove_commands(struct function_commands *l, const struct function_command *removal)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->at.n; i++) {
		struct function_command *c = l->at.at[i];

		if (same_kind(removal, c) && (!strcmp(removal->function, c->function) ||
					      glob_match(removal->function, c->function)))
			free_command(c);
		else
			l->at.at[kept++] = c;
	}
	l->at.n = kept;
}

/* By the glob as written: `f*:traceoff` and `foo:traceoff` are two commands. */
static bool is_there(const struct function_commands *l, const struct function_command *c)
{
	for (size_t i = 0; i < l->at.n; i++)
		if (same_kind(c, l->at.at[i]) && !strcmp(c->function, l->at.at[i]->function))
			return true;
	return false;
}

/* A removal need not name an event that there is: the event may be gone, and the command not. */
int function_commands_write(struct function_commands *l, const char *word,
			    bool (*exists)(void *arg, const char *system, const char *event),
			    void *arg, struct err *err)
{
	struct function_command *c = parse_command(word, err);
	bool remove = *word == '!';
	int e = 0;

	if (!c)
		return -EINVAL;
	if (!*c->function)
		e = err_at(err, EINVAL, word, remove, "the name of a function is missing");
	else if (!remove && c->event && !exists(arg, c->system, c->event))
		e = err_at(err, EINVAL, word, (size_t)(strstr(word, c->event) - word),
			   "there is no event %s:%s", c->system, c->event);
	if (!e && remove)
		remove_commands(l, c);
	if (e || remove || is_there(l, c))
		free_command(c);
	else
		*vec_add(&l->at) = c;
	return e;
}

/* The kernel's own format: count=-1 never appears, because unlimited has a word. */
static void show_command(FILE *to, const struct function_command *c)
{
	/* Relaxed: a number that the pump counts down, and nothing is read by it. */
	const unsigned long count = atomic_load_explicit(&c->count, memory_order_relaxed);

	fprintf(to, "%s:%s", c->function, kinds[c->action].name);
	if (c->event)
		fprintf(to, ":%s:%s", c->system, c->event);
	if (count == COMMAND_UNLIMITED)
		fputs(":unlimited\n", to);
	else
		fprintf(to, ":count=%ld\n", (long)count);
}

/* The newest first, as the kernel lists them. */
char *function_commands_read(const struct function_commands *l)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	for (size_t i = l->at.n; i-- > 0;)
		show_command(to, l->at.at[i]);
	mem_stream_close(to, &text);
	return text;
}

/* Commands are shared by the copies, because their counts go on through changes of the settings. */
void function_commands_copy(struct function_commands *to, const struct function_commands *from)
{
	*to = (struct function_commands){ 0 };
	for (size_t i = 0; i < from->at.n; i++) {
		/* Relaxed: `from` has a reference, so the command stays. */
		atomic_fetch_add_explicit(&from->at.at[i]->users, 1, memory_order_relaxed);
		*vec_add(&to->at) = from->at.at[i];
	}
}

void function_commands_free(struct function_commands *l)
{
	for (size_t i = 0; i < l->at.n; i++)
		free_command(l->at.at[i]);
	vec_free(&l->at);
}

/* already: the state that the command would set is set. Its count is not used up then. */
bool function_command_due(struct function_command *c, bool already)
{
	/* Relaxed, and not one step: only the triggers of one instance run a command, on one
	 * thread, and readers want nothing but the number. */
	const unsigned long count = atomic_load_explicit(&c->count, memory_order_relaxed);

	if (!count || (kinds[c->action].sets_state && already))
		return false;
	if (count != COMMAND_UNLIMITED)
		atomic_store_explicit(&c->count, count - 1, memory_order_relaxed);
	return true;
}
