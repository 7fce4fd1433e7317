/* SPDX-License-Identifier: MIT */
/* set_ftrace_filter and the other lists of functions. As in ftrace a write(2) takes one word, the
 * words become the list when the file is closed, and a word without a blank behind it continues in
 * the next write or ends with the file.
 *
 * `>` clears the list. A shell closes a descriptor before the first word is written, so that the
 * clearing is kept until there are words, or blanks alone (`echo > FILE`: the shell waits for that
 * close), or until the last close: otherwise a running program would be hooked completely for a
 * moment. If all words were refused the list stays as it was. Readers wait a little meanwhile, and
 * for a last close that is under way (instance_await_cleared).
 *
 * The draft belongs to one open file, whose operations come one at a time; in->lock protects
 * in->clearing. files.c has its rows; any thread of the tree calls it. A word that is refused is
 * -errno, with a sentence in error_log. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/string_set.h"
#include "tree/instance_internal.h"

/* ms that a reader waits for a writer that has cleared the list. */
#define CLEARING_MS 200

/* The words of one open file until they become the list. */
struct draft {
	bool clears;      /* the list's present words are to go */
	bool blank;       /* blanks were written */
	bool refused;     /* a word was refused: refused words alone do not clear the list */
	VEC(char) words;  /* checked words, each with a blank behind it */
	VEC(char) rest;   /* a word that has no end yet */
};

static struct instance *instance_of(const struct tree_file *f)
{
	return (struct instance *)f->owner;
}

/* Readers have no draft: f->state stays NULL for them. */
static int open_list(struct tree_file *f, struct err *err)
{
	if ((f->flags & O_ACCMODE) != O_RDONLY)
		f->state = mem_zalloc(sizeof(struct draft));
	return 0;
}

/* Only counts: commit_draft() clears. */
static int clear_list(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct draft *d = f->state;

	d->clears = true;
	pthread_mutex_lock(&in->lock);
	in->clearing++;
	pthread_mutex_unlock(&in->lock);
	return 0;
}

/* --- words -------------------------------------------------------------------------- */

/* A newline behind each word, as settings_write() takes a list: a condition goes on to it. */
static void add_words(struct draft *d, const char *text, size_t n)
{
	vec_reserve(&d->words, d->words.n + n + 2);
	memcpy(d->words.at + d->words.n, text, n);
	d->words.n += n;
	d->words.at[d->words.n++] = '\n';
	d->words.at[d->words.n] = '\0';
}

/* Returns the function that a number means, as the line of available_filter_functions; NULL: the
 * word is no number. function_graph's own lists take no numbers. */
static char *name_by_line(const struct tree_file *f, struct tree_target t, const char *word)
{
	static const char graph[] = "set_graph_";
	unsigned long line;
	char *end;

	if (!isdigit((unsigned char)*word) || !t.ops->function_at ||
	    !strncmp(f->arg, graph, strlen(graph)))
		return NULL;
	line = strtoul(word, &end, 0);
	return *end ? NULL : t.ops->function_at(t.arg, line);
}

/* Whether the word is valid and matches something. Tried on scratch settings, so that nothing
 * changes. */
static int check_word(const struct tree_file *f, struct tree_target t, const char *word,
		      struct err *err)
{
	struct settings scratch = { .takes_commands = !t.ops->apply || t.ops->commands,
				    .events.catalogue = instance_of(f)->events };
	int e = settings_write(&scratch, f->arg, word, false, err);

	settings_free(&scratch);
	return !e && t.ops->check && !function_command_in(word)
		       ? t.ops->check(t.arg, f->arg, word, err)
		       : e;
}

/* --- commands ----------------------------------------------------------------------- */

/* A command whose glob is being replaced by the functions it matches. */
struct expansion {
	struct draft *draft;
	const char *command; /* with its colon */
	VEC(char) line;
	unsigned n;
};

/* An out.flush function: each line "name" or "name [module]" becomes a word of its own. */
static int expand_lines(void *arg, const char *bytes, size_t n)
{
	struct expansion *x = arg;

	for (size_t i = 0; i < n; i++) {
		char *word, *module;

		if (bytes[i] != '\n') {
			*vec_add(&x->line) = bytes[i];
			continue;
		}
		*vec_add(&x->line) = '\0';
		module = strstr(x->line.at, " [");
		if (module)
			*module = '\0';
		word = mem_printf("%s%s", x->line.at, x->command);
		add_words(x->draft, word, strlen(word));
		free(word);
		x->line.n = 0;
		x->n++;
	}
	return 0;
}

/* Gives each function that the command's glob matches a command of its own, which counts for
 * itself, as in ftrace. */
static int take_command(struct tree_file *f, struct tree_target t, const char *word,
			struct err *err)
{
	const char *at = function_command_in(word);
	char *glob = mem_strndup(word, (size_t)(at - word));
	struct expansion x = { .draft = f->state, .command = at };
	struct function_list list = { 0 };
	struct out lines;
	int e = function_list_write(&list, glob, false, err);

	free(glob);
	if (!e) {
		out_init_raw(&lines, expand_lines, &x);
		t.ops->functions(t.arg, &list, &lines);
		out_flush(&lines);
		out_free(&lines);
	}
	function_list_free(&list);
	vec_free(&x.line);
	return e || x.n ? e : err_at(err, EINVAL, word, 0, "no function matches");
}

/* Number of commands if everything written so far took effect. */
static size_t commands_of(const struct tree_file *f)
{
	const struct draft *d = f->state;
	struct settings s;
	size_t n;

	instance_settings(instance_of(f), &s);
	if (d->words.n)
		settings_write(&s, f->arg, d->words.at, true, NULL);
	n = s.commands.at.n;
	settings_free(&s);
	return n;
}

static int take_name(struct tree_file *f, char *word, struct err *err);

/* Takes a command that changes something. In ftrace a command that all its functions have cannot be
 * given again, and one that none has cannot be removed. Whether a word changes anything is found
 * out by counting. */
static int take_counted(struct tree_file *f, char *word, struct err *err)
{
	struct draft *d = f->state;
	size_t words = d->words.n, before = commands_of(f), after;
	int e = take_name(f, word, err);

	if (e)
		return e;
	after = commands_of(f);
	if (*word == '!' ? after < before : after > before)
		return 0;
	/* Takes the word back. */
	d->words.n = words;
	if (words)
		d->words.at[words] = '\0';
	return *word == '!'
		       ? err_at(err, ENODEV, word, 1, "no function has this command")
		       : err_at(err, EINVAL, word, 0, "the functions have this command already");
}

/* Takes a word that is a name, a number or a command. */
static int take_name(struct tree_file *f, char *word, struct err *err)
{
	char *name;
	size_t n = strlen(word);
	bool removes = *word == '!' && word[1];
	struct tree_target t = instance_lock(instance_of(f));
	struct draft *d = f->state;
	bool commands = t.ops->functions && function_command_in(word);
	int e;

	name = name_by_line(f, t, word + removes);
	e = check_word(f, t, name ? name : function_command_in(word) ? word : word + removes, err);
	if (!e && name) {
		char *both = mem_printf("%s%s", removes ? "!" : "", name);

		add_words(d, both, strlen(both));
		free(both);
	} else if (!e && commands && !removes) {
		e = take_command(f, t, word, err);
	} else if (!e) {
		add_words(d, word, n);
	}
	instance_unlock(instance_of(f));
	free(name);
	return e;
}

/* Without a session no function is known, and globs stay as they are. */
static bool knows_functions(struct instance *in)
{
	struct tree_target t = instance_lock(in);
	bool knows = t.ops->functions;

	instance_unlock(in);
	return knows;
}

/* 0: the word is in the draft, and will be in the list when the file is closed. -errno and *err:
 * the words before it stay. */
static int take_word(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	char *word = mem_strndup(text, n);
	struct draft *d = f->state;
	bool command = !strcmp(f->arg, "set_ftrace_filter") && function_command_in(word);
	int e = command && knows_functions(instance_of(f)) ? take_counted(f, word, err)
							   : take_name(f, word, err);

	d->refused |= e != 0;
	free(word);
	return e;
}

/* The NUL behind it is not counted. */
static void keep_rest(struct draft *d, const char *text, size_t n)
{
	vec_reserve(&d->rest, d->rest.n + n + 1);
	memcpy(d->rest.at + d->rest.n, text, n);
	d->rest.n += n;
	d->rest.at[d->rest.n] = '\0';
}

/* Logs a failed word that came in several writes: the text of the last write alone would say
 * nothing. */
static void tell_refusal(struct tree_file *f, const char *word, const struct err *err)
{
	struct instance *in = instance_of(f);

	in->owner.failed(&in->owner, f->arg, word, strlen(word), err);
	f->told = true;
}

/* Takes as much of the text as belongs to the next word, and the blank behind it. Returns how many
 * bytes that was. */
static ssize_t write_list(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct draft *d = f->state;
	size_t skipped = 0, had = d->rest.n, length;
	int e;

	if (n && !*text)
		return err_set(err, EINVAL, "a name has no byte 0");
	n = strnlen(text, n);
	while (!had && skipped < n && isspace((unsigned char)text[skipped]))
		skipped++;
	d->blank |= skipped == n;
	if (skipped == n)
		return (ssize_t)n;
	keep_rest(d, text + skipped, n - skipped);
	length = function_word_length(d->rest.at);
	if (length == d->rest.n)
		return (ssize_t)n;
	/* A word that ended before this write has only its own bytes. */
	d->rest.at[length < had ? had : length] = '\0';
	e = take_word(f, d->rest.at, strlen(d->rest.at), err);
	d->rest.n = 0;
	if (e && had)
		tell_refusal(f, d->rest.at, err);
	if (e)
		return e;
	/* the new text opened brackets that never close: the word ended with the last write */
	if (length < had)
		return write_list(f, text, n, err);
	return (ssize_t)(skipped + length - had + 1);
}

/* --- closing ------------------------------------------------------------------------ */

/* Readers may go on: the clearing has happened, or will not. */
static void end_clearing(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	struct draft *d = f->state;

	if (!d->clears)
		return;
	d->clears = false;
	pthread_mutex_lock(&in->lock);
	in->clearing--;
	pthread_cond_broadcast(&in->cleared);
	pthread_mutex_unlock(&in->lock);
}

/* An out.flush function: whether any line came is all that is asked. */
static int count_bytes(void *arg, const char *bytes, size_t n)
{
	*(size_t *)arg += n;
	return 0;
}

/* Whether any known function is in the list. */
static bool means_any(struct tree_target t, const struct function_list *list)
{
	size_t bytes = 0;
	struct out out;

	out_init_raw(&out, count_bytes, &bytes);
	t.ops->functions(t.arg, list, &out);
	out_flush(&out);
	out_free(&out);
	return bytes;
}

/* Whether all words that added functions were undone by others, and no word concerns modules to
 * come. */
static bool is_spent(const struct function_list *list, struct tree_target t)
{
	bool taken_out = false;

	for (size_t i = 0; i < list->patterns.n; i++) {
		const struct function_pattern *p = &list->patterns.at[i];

		if (p->module && !p->remove)
			return false;
		taken_out |= p->remove;
	}
	return taken_out && t.ops->functions && !means_any(t, list);
}

/* Empties a list from which everything was removed. As in ftrace an empty list means all
 * functions. */
static int clear_spent(struct tree_file *f, struct err *err)
{
	struct instance *in = instance_of(f);
	struct settings s;
	bool spent;

	instance_settings(in, &s);
	spent = is_spent(settings_list(&s, f->arg), instance_lock(in));
	instance_unlock(in);
	settings_free(&s);
	return spent ? instance_write(in, f->arg, "", false, err) : 0;
}

/* Replaces the list by the words, or appends them. */
static int commit_draft(struct tree_file *f, struct err *err)
{
	struct draft *d = f->state;
	int e = instance_write(instance_of(f), f->arg, d->words.n ? d->words.at : "", !d->clears,
			       err);

	d->words.n = 0;
	end_clearing(f);
	return e ? e : clear_spent(f, err);
}

/* Closing is where a list takes effect: until then the words are only collected, so that a
 * shell's several writes change the program once. */
static int flush_list(struct tree_file *f, struct err *err)
{
	struct draft *d = f->state;
	int e = 0, committed = 0;

	if (d->rest.n)
		e = take_word(f, d->rest.at, d->rest.n, err);
	if (e)
		tell_refusal(f, d->rest.at, err);
	/* The first error is the one to return. */
	d->rest.n = 0;
	if (d->words.n || (d->clears && d->blank && !d->refused))
		committed = commit_draft(f, e ? NULL : err);
	return e ? e : committed;
}

/* The last close: a clearing that nobody followed up takes effect now, unless its words were
 * refused. */
static void release_list(struct tree_file *f)
{
	struct instance *in = instance_of(f);
	struct draft *d = f->state;
	struct err err = { 0 };

	if (!d)
		return;
	if (d->refused)
		end_clearing(f);
	if (d->clears && commit_draft(f, &err))
		in->owner.failed(&in->owner, f->arg, "", 0, &err);
	vec_free(&d->words);
	vec_free(&d->rest);
	free(d);
}

/* --- reading ------------------------------------------------------------------------ */

static bool is_clearing(struct instance *in)
{
	bool is;

	pthread_mutex_lock(&in->lock);
	is = in->clearing;
	pthread_mutex_unlock(&in->lock);
	return is;
}

/* FUSE tells of a closing only after close() has returned: a reader that comes at once would see
 * the list from before. Bounded, since a writer may hold the file open for hours. */
void instance_await_cleared(struct instance *in)
{
	struct timespec until;

	/* closed already, as the reader knows: what it closed has its effect first */
	if (is_clearing(in))
		tree_await_closings(in->tree);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += CLEARING_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&in->lock);
	while (in->clearing && !pthread_cond_timedwait(&in->cleared, &in->lock, &until))
		;
	pthread_mutex_unlock(&in->lock);
}

static void show_commands(const struct settings *s, const char *file, struct out *text)
{
	char *commands = function_commands_read(&s->commands);

	if (!strcmp(file, "set_ftrace_filter"))
		out_str(text, commands);
	free(commands);
}

/* Shows words about modules that are not mapped yet, as ftrace does, and those with conditions:
 * written back behind the functions' names, they decide again. */
static void show_pending(struct tree_target t, const struct function_list *list, struct out *text)
{
	for (size_t i = 0; i < list->patterns.n; i++) {
		const struct function_pattern *p = &list->patterns.at[i];
		struct function_list one = { 0 };

		if (p->remove || (!p->module && !p->condition) ||
		    function_list_write(&one, p->text, false, NULL))
			continue;
		if (p->condition || !means_any(t, &one)) {
			out_str(text, p->text);
			out_char(text, '\n');
		}
		function_list_free(&one);
	}
}

/* Shows the functions in the list or, where none are known, its patterns. */
static int show_list(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	const struct function_list *list;
	struct tree_target t;
	struct settings s;

	instance_await_cleared(in);
	instance_catch_up(in);
	instance_settings(in, &s);
	list = settings_list(&s, f->arg);
	t = instance_lock(in);
	if (t.ops->functions && list->patterns.n) {
		t.ops->functions(t.arg, list, text);
		show_pending(t, list, text);
		show_commands(&s, f->arg, text);
	} else {
		char *patterns = settings_read(&s, f->arg);

		out_str(text, patterns);
		free(patterns);
	}
	instance_unlock(in);
	settings_free(&s);
	return 0;
}

static int show_all(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);

	if (t.ops->functions)
		t.ops->functions(t.arg, NULL, text);
	instance_unlock(in);
	return 0;
}

const struct tree_file_ops function_list_file = {
	.open = open_list, .truncate = clear_list, .show = show_list, .write = write_list,
	.flush = flush_list,
	.release = release_list,
};
const struct tree_file_ops all_functions_file = { .show = show_all };

struct lines { VEC(char) at; };

/* For struct out: it always takes all. */
static int append_text(void *arg, const char *bytes, size_t n)
{
	struct lines *t = arg;

	vec_reserve(&t->at, t->at.n + n + 1);
	memcpy(t->at.at + t->at.n, bytes, n);
	t->at.n += n;
	return 0;
}

/* Returns the text that the target prints of all its functions, or symbols, NUL-terminated; free()
 * it. */
static char *all_of(void (*functions)(void *arg, const struct function_list *list, struct out *out),
		    void (*symbols)(void *arg, struct out *out), void *arg)
{
	struct lines t = { 0 };
	struct out out;

	out_init_raw(&out, append_text, &t);
	if (functions)
		functions(arg, NULL, &out);
	if (symbols)
		symbols(arg, &out);
	out_flush(&out);
	out_free(&out);
	append_text(&t, "", 1);
	return t.at.at;
}

/* Cuts the text into lines; returns the next one, or NULL. */
static char *next_line(char **text)
{
	char *line = strsep(text, "\n");

	return line && *line ? line : NULL;
}

/* Prints the lines of kallsyms for functions that can be traced. A line is 16 digits, " t ", the
 * name and perhaps a tab with the module; available_filter_functions has a blank there. */
static void show_addresses(char *symbols, const struct string_set *traced, struct out *text)
{
	char *line;

	while ((line = next_line(&symbols))) {
		char *name = line + 16 + sizeof(" t ") - 1, *tab = strchr(line, '\t');

		line[16] = '\0';
		if (tab)
			*tab = ' ';
		if (string_set_has(traced, name))
			out_printf(text, "%s %s\n", line + strspn(line, "0"), name);
	}
}

/* The instance's lock is given back before the lists are compared, which takes long with many
 * functions. */
static int show_all_addresses(struct tree_file *f, struct out *text, struct err *err)
{
	struct instance *in = instance_of(f);
	struct tree_target t = instance_lock(in);
	char *functions = all_of(t.ops->functions, NULL, t.arg),
	     *symbols = all_of(NULL, t.ops->symbols, t.arg);
	char *rest = functions, *line;
	struct string_set traced = { 0 };

	instance_unlock(in);
	while ((line = next_line(&rest)))
		string_set_add(&traced, line);
	show_addresses(symbols, &traced, text);
	string_set_free(&traced);
	free(functions);
	free(symbols);
	return 0;
}

const struct tree_file_ops all_addresses_file = { .show = show_all_addresses };
