/* SPDX-License-Identifier: MIT */
/* The option parser: one loop over argv, one look-up in the command's tables. Called by main() on
 * the only thread. An error names the option as the user spelled it; nothing has been done by
 * then. */
#include "ui/invocation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/nearest.h"
#include "collect/ring_file.h"
#include "event/outside.h"
#include "ui/config_option.h"
#include "ui/others.h"
#include "ui/pids.h"
#include "ui/say.h"
#include "ui/probe_option.h"

/* --- setters ------------------------------------------------------------------------ */

/* Setters of options (struct option). 0, or -errno and *err; apply_option() puts the option's name
 * before the sentence. */
int set_flag(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	*(bool *)((char *)inv + o->offset) = true;
	return 0;
}

/* The text is argv's: it lives as long as brace. */
int set_text(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	*(const char **)((char *)inv + o->offset) = value;
	return 0;
}

/* One model: a second one would need other functions of the program, and its own verdict. */
int set_model(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	if (inv->model)
		return err_at(err, EINVAL, value, 0,
			      "one model at a time, and %s is one already: judge a trace file by each",
			      inv->model);
	return set_text(inv, o, value, err);
}

/* Named, even if it is by the usual name: commands tell that from no option at all. */
int set_session(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	inv->session = value;
	inv->session_named = true;
	return 0;
}

/* From here on the sentences go there, also those about later options. */
int set_logger(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	uint64_t fd;
	int e = units_parse_number(value, "a descriptor", 0, INT32_MAX, &fd, err);

	return e ? e : say_to((int)fd, err);
}

/* 0 stays "no limit": it cannot be given. */
int set_limit(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_number(value, "a limit", 1, UINT32_MAX, &inv->limit, err);
}

/* 0 turns would be none: a count that is not given is told apart by it. */
int set_count(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_number(value, "a count", 1, UINT32_MAX, &inv->of_top.count, err);
}

/* One process, for commands that look at one; set_pids() is for those that attach. */
int set_pid(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_number(value, "a process id", 1, INT32_MAX, &inv->pid, err);
}

/* The text is argv's, which outlives the invocation. */
int set_follow_end(struct invocation *inv, const struct option *o, const char *value,
		   struct err *err)
{
	if (!*value)
		return err_set(err, EINVAL, "the name of a function is empty");
	*vec_add(&inv->of_follow.ends) = value;
	return 0;
}

/* Keeps one more than the number, so that 0 tells "not given" from --last 0. */
int set_last(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	int e = units_parse_number(value, "a number of calls", 0, 1000000, &inv->last, err);

	inv->last++;
	return e;
}

/* The first write to a list replaces its content, as `echo >` does; later ones append. */
static int add_write(struct invocation *inv, const struct option *o, const char *file,
		     const char *text)
{
	bool again = false;

	for (size_t i = 0; i < inv->writes.n; i++)
		again |= inv->writes.at[i].file && !strcmp(inv->writes.at[i].file, file);
	*vec_add(&inv->writes) = (struct setting_write){ o, file, text, o->append && again };
	return 0;
}

/* Carried out later (invocation_settings()), when all options are known: an error is told with
 * the option then. */
int set_setting(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return add_write(inv, o, o->file, value);
}

/* An empty scope would be none, and everything be recorded against the user's will. */
int set_scope(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	if (!value[strspn(value, " \t\n")])
		return err_set(err, EINVAL,
			       "a function is wanted, within whose calls events are recorded: --within FUNCTION[:DEPTH]");
	return o->file ? set_setting(inv, o, value, err) : set_text(inv, o, value, err);
}

/* Adds an option that belongs to the event before it, as in trace-cmd. A trigger on the command
 * line allows the commands and descriptors that it names itself (event/outside.h). */
int set_of_event(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	*vec_add(&inv->writes) = (struct setting_write){ o, NULL, value, true };
	return strcmp(o->file, "trigger") ? 0 : outside_allow_line(value, err);
}

/* The allowance is the process's own (event/outside.h), like that of set_names(): a tree that is
 * served asks there. */
int set_allow_exec(struct invocation *inv, const struct option *o, const char *value,
		   struct err *err)
{
	return outside_allow_command(value, err);
}

int set_allow_fd(struct invocation *inv, const struct option *o, const char *value,
		 struct err *err)
{
	return outside_allow_descriptor(value, err);
}

/* A spec of its own for each -a, so that a later -f belongs to the last one. */
int set_probe(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	*vec_add(&inv->of_probe.probes) = (struct probe_spec){ value, NULL };
	return 0;
}

/* Filters belong to the probe named before them, as in perf probe. */
int set_probe_filter(struct invocation *inv, const struct option *o, const char *value,
		     struct err *err)
{
	if (!inv->of_probe.probes.n)
		return err_at(err, EINVAL, value, 0, "a filter stands behind the -a that it is for");
	inv->of_probe.probes.at[inv->of_probe.probes.n - 1].filter = value;
	return 0;
}

/* Finds a word in the list: its index, or -1 and *err with all words. */
static int choose_word(const char *const *words, const char *value, const char *what,
		       struct err *err)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;
	/* Every such list has three words. */
	err_at(err, EINVAL, value, 0, "%s is %s, %s or %s", what, words[0], words[1], words[2]);
	return -1;
}

int set_mode(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	static const char *const words[BUFFER_MODES_N + 1] = { "stream", "overwrite", "block" };
	/* Two trace options express the mode in the tree; both are written, so that a later --mode
	 * replaces an earlier one. */
	static const char *const options[BUFFER_MODES_N] = {
		"nooverwrite noblock", "overwrite noblock", "nooverwrite block",
	};
	int i = choose_word(words, value, "a mode", err);

	return i < 0 ? -EINVAL : add_write(inv, o, "trace_options", options[i]);
}

/* A trace option, so that the tree shows it and a session may turn it off. */
int set_causal_order(struct invocation *inv, const struct option *o, const char *value,
		     struct err *err)
{
	return add_write(inv, o, "trace_options", "causal-order");
}

/* The events are beside the functions, not instead of them. */
int set_counters(struct invocation *inv, const struct option *o, const char *value,
		 struct err *err)
{
	inv->counters = true;
	add_write(inv, o, "set_event", "sched:sched_switch");
	return add_write(inv, o, "set_event", "exceptions:page_fault_user");
}

/* The tracers' own options, and which functions they are for. */
int set_args(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	add_write(inv, o, "trace_options", "funcgraph-args func-args");
	return add_write(inv, o, "set_ftrace_args", value ? value : "*");
}

/* The trace option switches the recording on, the list says of which functions; without a value,
 * of all. */
int set_retval(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	add_write(inv, o, "trace_options", "funcgraph-retval");
	return add_write(inv, o, "set_ftrace_retval", value ? value : "*");
}

/* The option's own name says which part is meant: the spec has the same names (excerpt/spec.c). */
int set_excerpt(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return excerpt_spec_add(&inv->excerpt, o->name, value, err);
}

/* "5%" or "0.5"; kept in hundredths of a percent. units_parse_time_ns() reads the number. */
int set_fail_over(struct invocation *inv, const struct option *o, const char *value,
		  struct err *err)
{
	size_t n = strlen(value) - (*value && value[strlen(value) - 1] == '%');
	char number[32];
	uint64_t hundredths;

	snprintf(number, sizeof(number), "%.*s", (int)n, value);
	if (n >= sizeof(number) || strspn(number, "0123456789.") != n ||
	    units_parse_time_ns(number, 100, &hundredths, NULL))
		return err_at(err, EINVAL, value, 0, "a percentage is a number, or one with %%");
	inv->of_diff.fail_over = hundredths;
	inv->of_diff.fails_over = true;
	return 0;
}

/* A time begins with a digit or a sign, the name of a format with a letter. */
int set_export_to(struct invocation *inv, const struct option *o, const char *value,
		  struct err *err)
{
	if (*value && strchr("+-0123456789", *value))
		return set_excerpt(inv, o, value, err);
	inv->of_export.format = value;
	return 0;
}

/* Takes a server's address, or else the end of the part, which the same word names. */
int set_push_to(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	if (*value && strchr("+-0123456789", *value))
		return set_excerpt(inv, o, value, err);
	inv->of_push.to = value;
	return 0;
}

int set_silence(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_time_ns(value, 1000000000, &inv->of_hosts.silence_ns, err);
}

/* A size in bytes. 0, or -EINVAL and *err. */
static int parse_bytes(const char *value, uint64_t *bytes, struct err *err)
{
	uint64_t kb;
	const int e = units_parse_size_kb(value, &kb, err);

	if (!e)
		*bytes = kb > UINT64_MAX >> 10 ? UINT64_MAX : kb << 10;
	return e;
}

int set_trace_max(struct invocation *inv, const struct option *o, const char *value,
		  struct err *err)
{
	return parse_bytes(value, &inv->of_hosts.trace_most, err);
}

int set_spool_max(struct invocation *inv, const struct option *o, const char *value,
		  struct err *err)
{
	return parse_bytes(value, &inv->of_push.spool_most, err);
}

/* A line's end would make two of one label. */
int set_label(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	const size_t key = strcspn(value, "=");

	if (!key || !value[key])
		return err_at(err, EINVAL, value, key, "a label is KEY=VALUE");
	if (strchr(value, '\n'))
		return err_at(err, EINVAL, value, strcspn(value, "\n"), "a label is one line");
	*vec_add(&inv->of_push.labels) = value;
	return 0;
}

int set_since(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_time_ns(value, 1000000000, &inv->of_push.since_ns, err);
}

int set_older(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_time_ns(value, 1000000000, &inv->of_push.older_ns, err);
}

int set_retry(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	inv->of_push.retries = true;
	return units_parse_time_ns(value, 1000000000, &inv->of_push.retry_ns, err);
}

/* A wrong word leaves `auto`, for the line that tells of it. */
int set_colour(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	static const char *const words[COLOUR_CHOICES_N + 1] = { "auto", "always", "never" };
	int i = choose_word(words, value, "colour", err);

	inv->colour = i < 0 ? COLOUR_AUTO : (enum colour_choice)i;
	return i < 0 ? -EINVAL : 0;
}

/* The choice is the process's, not the invocation's: every name that is printed obeys it. */
int set_names(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	static const char *const words[] = { "short", "full", "mangled", NULL };
	int i = choose_word(words, value, "a style of names", err);

	if (i >= 0)
		demangle_choose((enum demangle_style)i);
	return i < 0 ? -EINVAL : 0;
}

/* `n` bytes of value from `at` on are one number of the list. */
static int add_pid(struct invocation *inv, const char *value, size_t at, size_t n, struct err *err)
{
	char word[16];
	uint64_t pid;

	if (!n || n >= sizeof(word))
		return err_at(err, EINVAL, value, (int)at, "a process id is expected here");
	memcpy(word, value + at, n);
	word[n] = '\0';
	if (units_parse_number(word, "a process id", 1, INT32_MAX, &pid, err))
		return err_at(err, EINVAL, value, (int)at, "a process id is a number from 1 on");
	for (size_t i = 0; i < inv->pids.n; i++)
		if (inv->pids.at[i] == (pid_t)pid)
			return err_at(err, EINVAL, value, (int)at, "process %s is named twice",
				      word);
	*vec_add(&inv->pids) = (pid_t)pid;
	return 0;
}

static const struct option *find_option(const struct command *c, const char *name, size_t n);

/* Whether -p may name a tracer, too, as trace-cmd's does. */
static bool takes_tracer(const struct command *c)
{
	static const char name[] = "tracer";

	return find_option(c, name, strlen(name)) != NULL;
}

/* Frees nothing of the caller's. -ENOENT always: the word was neither a number nor a tracer. */
static int no_such_name(const struct command *c, const char *name, struct err *err)
{
	char *names = takes_tracer(c) ? tracer_names() : NULL;

	if (names)
		err_at(err, ENOENT, name, 0,
		       "no process that you may see has this name, and no tracer (%s)", names);
	else
		err_at(err, ENOENT, name, 0, "no process that you may see has this name");
	free(names);
	return -ENOENT;
}

/* Adds all processes of that name, as if each number had been given. -ENOENT: there is none. */
static int add_named(struct invocation *inv, const char *name, struct err *err)
{
	struct process_ids ids = { 0 };
	size_t n;

	pids_named(name, &ids);
	n = ids.at.n;
	for (size_t i = 0; i < n; i++)
		*vec_add(&inv->pids) = ids.at.at[i];
	vec_free(&ids.at);
	return n ? 0 : no_such_name(inv->command, name, err);
}

/* trace-cmd's -p names a tracer. Other words are names of processes, and numbers are ids. */
int set_pids(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	size_t at = 0;

	if (takes_tracer(inv->command) && tracer_find(value))
		return add_write(inv, o, "current_tracer", value);
	if (*value && !strchr("0123456789,-", *value))
		return add_named(inv, value, err);
	for (;;) {
		size_t n = strcspn(value + at, ",");
		int e = add_pid(inv, value, at, n, err);

		at += n;
		if (e || !value[at])
			return e;
		at++;
	}
}

/* A duration of 0 would end before anything began; the member's 0 means that none was given. */
int set_duration(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	int e = units_parse_time_ns(value, 1000000000, &inv->duration_ns, err);

	return !e && !inv->duration_ns
		       ? err_at(err, EINVAL, value, 0, "a duration is longer than 0")
		       : e;
}

/* The least length is the command's to check: it depends on how often the monitor looks. */
int set_delay(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_time_ns(value, 1000000000, &inv->of_top.delay_ns, err);
}

/* Less than this has no room for the names that every trace has. */
#define MAX_SIZE_LEAST_KB 64
#define ROTATE_LEAST_NS 100000000u

/* A size beyond 64 bits is as good as no limit. */
int set_max_size(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	uint64_t kb;
	int e = units_parse_size_kb(value, &kb, err);

	if (!e && kb < MAX_SIZE_LEAST_KB)
		return err_at(err, EINVAL, value, 0, "a trace file has %uK or more", MAX_SIZE_LEAST_KB);
	if (!e)
		inv->max_bytes = kb > UINT64_MAX >> 10 ? UINT64_MAX : kb << 10;
	return e;
}

int set_ring_size(struct invocation *inv, const struct option *o, const char *value,
		  struct err *err)
{
	uint64_t kb;
	int e = units_parse_size_kb(value, &kb, err);

	if (!e && (kb < RING_LEAST_KB || kb > RING_MOST_KB))
		return err_at(err, EINVAL, value, 0, "a ring has %uM to %uG", RING_LEAST_KB >> 10,
			      (unsigned)(RING_MOST_KB >> 20));
	if (!e)
		inv->ring_kb = kb;
	return e;
}

/* Zstd's own levels. Those beyond 19 need more memory to read, and save nothing in packets. */
int set_compress(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	uint64_t level;
	int e = units_parse_number(value, "a level", 1, 19, &level, err);

	if (!e)
		inv->compress = (unsigned)level;
	return e;
}

/* A size or a time; a bare number could be either. */
int set_rotate(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	size_t digits = strspn(value, "0123456789.");
	uint64_t kb = 0, ns = 0;
	int e;

	if (!digits || !value[digits] || !strcmp(value + digits, "m"))
		return err_at(err, EINVAL, value, (unsigned)digits,
			      "say whether a size (100M) or a time (10s, 5min) is meant");
	if (strchr("kKmMgGtT", value[digits]) && value[digits + 1] != 's' && value[digits + 1] != 'i') {
		e = units_parse_size_kb(value, &kb, err);
		if (!e && kb < MAX_SIZE_LEAST_KB)
			return err_at(err, EINVAL, value, 0, "a trace file has %uK or more",
				      MAX_SIZE_LEAST_KB);
	} else {
		e = units_parse_time_ns(value, 1000000000, &ns, err);
		if (!e && ns < ROTATE_LEAST_NS)
			return err_at(err, EINVAL, value, 0, "a file is written for 100ms or more");
	}
	if (e)
		return e;
	inv->rotate_bytes = kb > UINT64_MAX >> 10 ? UINT64_MAX : kb << 10;
	inv->rotate_ns = ns;
	return 0;
}

/* 0 stays "not given": how many are kept then differs between --rotate and --snapshot-on. */
int set_keep(struct invocation *inv, const struct option *o, const char *value, struct err *err)
{
	return units_parse_number(value, "a number of files", 1, UINT32_MAX, &inv->keep_files, err);
}

/* The number of a signal that brace may get, and 0: it is none of them. */
static int snapshot_signal(const char *name)
{
	const char *word = strncmp(name, "SIG", 3) ? name : name + 3;

	return !strcmp(word, "USR1") ? SIGUSR1 : !strcmp(word, "USR2") ? SIGUSR2 : 0;
}

/* "FUNCTION > TIME", or a signal. A function's name may have a `>`, a time none. */
int set_snapshot_on(struct invocation *inv, const struct option *o, const char *value,
		    struct err *err)
{
	const char *limit = strrchr(value, '>'), *end = limit;
	struct slow_limit slow = { 0 };
	struct err why = { 0 };
	char *pattern;
	int e;

	if (snapshot_signal(value)) {
		inv->snapshot_signals |= 1u << snapshot_signal(value);
		return 0;
	}
	while (end && end > value && end[-1] == ' ')
		end--;
	if (!limit || end == value)
		return err_at(err, EINVAL, value, 0,
			      "a snapshot is taken on 'FUNCTION > TIME' (handle > 10ms), SIGUSR1 or SIGUSR2");
	limit += 1 + strspn(limit + 1, " ");
	e = units_parse_time_ns(limit, 1000000000, &slow.ns, &why);
	if (!e && !slow.ns)
		e = err_set(&why, EINVAL, "a limit is longer than 0");
	if (e)
		return err_at(err, EINVAL, value, (unsigned)(limit - value), "%s", why.text);
	pattern = mem_printf("%.*s", (int)(end - value), value);
	e = function_list_write(&slow.functions, pattern, false, err);
	if (!e)
		e = function_list_refuse_conditions(pattern, err);
	free(pattern);
	if (e)
		function_list_free(&slow.functions);
	else
		*vec_add(&inv->slow) = slow;
	return e;
}

/* --- the parser --------------------------------------------------------------------- */

/* n bytes of name, without the dashes. NULL: the command has no such option. */
static const struct option *find_option(const struct command *c, const char *name, size_t n)
{
	for (const struct option *const *t = c->tables; *t; t++)
		for (const struct option *o = *t; o->set; o++)
			if (o->name && strlen(o->name) == n && !memcmp(o->name, name, n))
				return o;
	return NULL;
}

/* A letter may mean different things in two commands. The first of the command's tables that has
 * it decides. */
static const struct option *find_letter(const struct command *c, char letter)
{
	for (const struct option *const *t = c->tables; *t; t++)
		for (const struct option *o = *t; o->set; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

/* Another tracer's option is told first, then the option that was probably meant, then where they
 * are listed. */
static int unknown_option(const struct command *c, const char *name, size_t n, struct err *err)
{
	char word[64];
	struct nearest near = { word, NULL, 0 };

	snprintf(word, sizeof(word), "--%.*s", (int)n, name);
	if (others_option(c->name, word))
		return err_set(err, EINVAL, "%s has no option %s: %s", c->name, word,
			       others_option(c->name, word));
	snprintf(word, sizeof(word), "%.*s", (int)n, name);
	for (const struct option *const *t = c->tables; *t; t++)
		for (const struct option *o = *t; o->set; o++)
			if (o->name)
				nearest_offer(&near, o->name);
	if (near.best)
		return err_set(err, EINVAL, "%s has no option --%s; did you mean --%s?", c->name,
			       word, near.best);
	return err_set(err, EINVAL, "%s has no option --%s; `brace %s --help` lists them", c->name,
		       word, c->name);
}

/* A letter has no nearest one: only other tracers' letters are known. */
static int unknown_letter(const struct command *c, char letter, struct err *err)
{
	const char *instead = others_option(c->name, (char[]){ '-', letter, '\0' });

	if (instead)
		return err_set(err, EINVAL, "%s has no option -%c: %s", c->name, letter, instead);
	return err_set(err, EINVAL, "%s has no option -%c; `brace %s --help` lists them", c->name,
		       letter, c->name);
}

/* The option as the user spelled it, for an error's first words. */
static const char *option_spelling(const struct option *o, bool by_letter, char *buf, size_t n)
{
	if (by_letter)
		snprintf(buf, n, "-%c", o->letter);
	else
		snprintf(buf, n, "--%s", o->name);
	return buf;
}

/* The parser's place in argv. */
struct option_scan {
	struct invocation *inv;
	char **at; /* the next argument */
	struct err *err;
};

/* Sets an option; `value` is glued to it, or NULL. */
static int apply_option(struct option_scan *s, const struct option *o, const char *value,
			bool by_letter)
{
	char as[32];
	int e;

	option_spelling(o, by_letter, as, sizeof(as));
	if (o->argument && !value && !o->optional) {
		if (!*s->at)
			return err_set(s->err, EINVAL, "%s needs an argument: %s", as, o->argument);
		value = *s->at++;
	}
	e = o->set(s->inv, o, value, s->err);
	return e ? err_prefix(s->err, "%s", as) : 0;
}

/* "--NAME", "--NAME=VALUE", or "--NAME VALUE" if the option takes an argument. */
static int long_option(struct option_scan *s, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);
	const struct option *o = find_option(s->inv->command, text, n);

	if (!o)
		return unknown_option(s->inv->command, text, n, s->err);
	if (equals && !o->argument)
		return err_set(s->err, EINVAL, "--%s takes no argument", o->name);
	return apply_option(s, o, equals ? equals + 1 : NULL, false);
}

/* "-vlGLOB": letters until one takes an argument, which is the rest or the next word. */
static int short_options(struct option_scan *s, const char *text)
{
	for (; *text; text++) {
		const struct option *o = find_letter(s->inv->command, *text);
		int e;

		if (!o)
			return unknown_letter(s->inv->command, *text, s->err);
		e = apply_option(s, o, o->argument && text[1] ? text + 1 : NULL, true);
		if (e || o->argument)
			return e;
	}
	return 0;
}

/* The number of operands has to fit; with -p there are none. */
static int check_operands(const struct invocation *inv, struct err *err)
{
	const struct command *c = inv->command;
	/* Commands that ask take a question and, behind `--`, a program: their bounds are about the
	 * questions. */
	int n = c->asks ? inv->n_questions : inv->n_operands;
	char *const *operands = c->asks ? inv->questions : inv->operands;

	if (c->asks && inv->is_program && !inv->n_operands)
		return err_set(err, EINVAL, "no program stands behind --");
	if (c->asks && inv->n_operands && inv->pids.n)
		return err_set(err, EINVAL, "%s either runs a program or attaches with -p, not both",
			       c->name);
	if (inv->kernel_alone && !n && !inv->pids.n)
		return 0;
	if (!c->asks && c->attaches && c->max_operands && inv->pids.n)
		return inv->n_operands
			       ? err_set(err, EINVAL,
					 "%s either runs a program or attaches with -p, not both",
					 c->name)
			       : 0;
	if (n < c->min_operands)
		return err_set(err, EINVAL, "%s needs %s; `brace %s --help` says more", c->name,
			       c->operands, c->name);
	if (c->max_operands >= 0 && n > c->max_operands)
		return err_set(err, EINVAL, "%s: unexpected argument: %s", c->name,
			       operands[c->max_operands]);
	return 0;
}

/* Parts questions from the program: all operands are questions if there is no `--`. */
static void split_operands(struct invocation *inv)
{
	if (!inv->command->asks)
		return;
	if (!inv->is_program)
		inv->n_questions = inv->n_operands;
	inv->questions = inv->operands;
	inv->operands += inv->n_questions;
	inv->n_operands -= inv->n_questions;
}

/* The begin of a value that is for the kernel. C++ has names that begin with "k::". */
#define KERNEL_PREFIX "k:"

/* k:, but not k::, which begins a C++ name. */
static bool is_for_kernel(const char *text)
{
	return !strncmp(text, KERNEL_PREFIX, 2) && text[2] != ':';
}

/* The first write to a list replaces its content on each side. */
static void put_write(setting_writes *to, struct setting_write w, const char *text)
{
	bool again = false;

	for (size_t i = 0; i < to->n && w.file; i++)
		again |= to->at[i].file && !strcmp(to->at[i].file, w.file);
	/* A write without a file belongs to the event before it (-f, -R), and appends always. */
	w.append &= again || !w.file;
	w.text = text;
	*vec_add(to) = w;
}

/* With -k, parts the program's writes from the kernel's. -f and -R go where the -e before them
 * went. */
static int split_writes(struct invocation *inv, struct err *err)
{
	setting_writes all = inv->writes;
	bool event = false, kernel;
	int e = 0;

	if (inv->kernel && inv->kernel_alone)
		return err_set(err, EINVAL,
			       "-k is for the program and the kernel, -K for the kernel alone: give one of them");
	memset(&inv->writes, 0, sizeof(inv->writes));
	for (size_t i = 0; i < all.n && !e; i++) {
		const struct setting_write w = all.at[i];

		kernel = w.file ? is_for_kernel(w.text) : event;
		/* Remembered for the -f and -R behind it, which have no k: of their own. */
		if (w.file && !strcmp(w.file, "set_event"))
			event = kernel;
		if (kernel && !inv->kernel && !inv->of_follow.into)
			e = err_at(err, EINVAL, w.text, 0,
				   "what begins with k: is for the kernel, and -k is not given");
		put_write(kernel ? &inv->kernel_writes : &inv->writes, w,
			  kernel && w.file ? w.text + strlen(KERNEL_PREFIX) : w.text);
	}
	vec_free(&all);
	return e;
}

/* The name of `names` that the option has; NULL: none. */
static const char *name_among(const struct option *o, const char *const *names)
{
	for (; o && o->name && *names; names++)
		if (!strcmp(o->name, *names))
			return *names;
	return NULL;
}

/* Looks at the options of a word, "--NAME" or letters, up to one of `names`, which is the result,
 * or one that takes an argument. *next: the argument is the next word. */
static const char *look_at_word(const struct command *c, const char *word,
				const char *const *names, bool *next)
{
	const struct option *o;
	const char *found = NULL;

	*next = false;
	if (word[1] == '-') {
		o = find_option(c, word + 2, strcspn(word + 2, "="));
		*next = o && o->argument && !o->optional && !strchr(word, '=');
		return name_among(o, names);
	}
	for (const char *letter = word + 1; *letter && !found; letter++) {
		o = find_letter(c, *letter);
		found = name_among(o, names);
		if (!o || !o->argument)
			continue;
		*next = !o->optional && !letter[1];
		break;
	}
	return found;
}

const char *invocation_option_of(const struct command *c, char *const *words,
				 const char *const *names)
{
	const char *found = NULL;
	bool next;

	for (; !found && *words && words[0][0] == '-' && words[0][1] && strcmp(*words, "--");
	     words++) {
		found = look_at_word(c, *words, names, &next);
		if (next && words[1])
			words++;
	}
	return found;
}

/* Operands move to the front of argv as they are met. */
int invocation_parse(struct invocation *inv, char **argv, struct err *err)
{
	struct option_scan s = { inv, argv, err };
	bool ended = false;
	int e = 0;

	inv->operands = argv;
	/* `--` ends the options, and so does the first operand of a command that runs a program. */
	while (*s.at && !e) {
		char *word = *s.at++;

		if (!ended && !strcmp(word, "--")) {
			inv->is_program = ended = true;
			inv->n_questions = inv->n_operands;
		} else if (!ended && !strncmp(word, "--", 2)) {
			e = long_option(&s, word + 2);
		} else if (!ended && word[0] == '-' && word[1]) {
			e = short_options(&s, word + 1);
		} else {
			/* The place is free: it is the word's own, or that of an option before
			 * it. */
			inv->operands[inv->n_operands++] = word;
			ended |= inv->command->stops ||
				 (inv->command->stops_at && !strcmp(word, inv->command->stops_at));
		}
	}
	inv->operands[inv->n_operands] = NULL;
	split_operands(inv);
	if (e || inv->help)
		return e;
	e = check_operands(inv, err);
	if (!e)
		e = config_option_read(inv, err);
	if (!e && (inv->of_follow.into || find_option(inv->command, "kernel-alone", strlen("kernel-alone"))))
		e = split_writes(inv, err);
	/* The definitions of -e name places in programs; the kernel alone has none. */
	return e || inv->kernel_alone ? e : probe_options_resolve(inv, err);
}

/* --- the writes --------------------------------------------------------------------- */

/* In the form of a shell's line: it can be pasted where the tree is mounted. */
void invocation_show_write(const struct setting_write *w)
{
	/* A shell would take such a text without quotes. */
	bool plain = *w->text && !w->text[strspn(w->text, "abcdefghijklmnopqrstuvwxyz"
						 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:@/+-")];

	say("brace: echo %s%s%s %s %s\n", plain ? "" : "'", w->text, plain ? "" : "'",
	    w->append ? ">>" : ">", w->file);
}

/* -f and -R belong to the pattern that was written last. */
static int add_pending(struct invocation *inv, const struct setting_write *w, struct err *err)
{
	if (!strcmp(w->option->file, "filter"))
		return event_set_pending_filter(&inv->settings.events, w->text, err);
	return event_set_pending_trigger(&inv->settings.events, w->text, err);
}

/* Carries one write out. An error names its option. */
static int carry_out(struct invocation *inv, const struct setting_write *w, struct err *err)
{
	char as[32];
	int e;

	if (!w->file) {
		e = add_pending(inv, w, err);
		return e ? err_prefix(err, "-%c", w->option->letter) : 0;
	}
	if (inv->verbose)
		invocation_show_write(w);
	if (!settings_write(&inv->settings, w->file, w->text, w->append, err))
		return 0;
	/* A usual setting, or a configuration's: no option to be named. */
	if (!w->option)
		return config_option_failed(inv, w, err);
	return err_prefix(err, "%s", option_spelling(w->option, w->option->letter, as, sizeof(as)));
}

/* Whether an option writes the file. */
static bool is_written(const struct invocation *inv, const char *file)
{
	for (size_t i = 0; i < inv->writes.n; i++)
		if (inv->writes.at[i].file && !strcmp(inv->writes.at[i].file, file))
			return true;
	return false;
}

/* With events alone no function is recorded, unless another option asks for functions. */
const char *invocation_usual_tracer(const struct invocation *inv)
{
	bool events = false, functions = inv->counters;

	for (size_t i = 0; i < inv->writes.n; i++) {
		const char *file = inv->writes.at[i].file;

		events |= file && !strcmp(file, "set_event");
		functions |= file && (settings_reach(file) & REACH_SELECTS);
	}
	return (events || inv->lines.n || config_option_needs_tree(inv)) && !functions
		       ? "nop" : "function_graph";
}

/* Adds the usual settings that the command line does not give: a tracer and, in overwrite mode,
 * where every thread keeps its buffer to the end of the session, a buffer of a size that many
 * threads can have. */
int invocation_settings(struct invocation *inv, struct err *err)
{
	const struct setting_write tracer = { NULL, "current_tracer", invocation_usual_tracer(inv),
					      false };
	static const struct setting_write kept = { NULL, "buffer_size_kb", "4096", false };
	int e = 0;

	if (!is_written(inv, tracer.file))
		e = carry_out(inv, &tracer, err);
	/* After the usual tracer, which is written only if the user names none. */
	for (size_t i = 0; i < inv->writes.n && !e; i++)
		e = carry_out(inv, &inv->writes.at[i], err);
	if (!e && (inv->settings.events.pending.n || inv->definitions.n) && !inv->events)
		inv->settings.events.catalogue = inv->events = events_new();
	if (!e)
		e = probe_options_define(inv, err);
	if (!e && inv->settings.mode == BUFFER_OVERWRITE && !is_written(inv, kept.file))
		e = carry_out(inv, &kept, err);
	return e;
}

void invocation_add_line(struct invocation *inv, char *file, char *text)
{
	*vec_add(&inv->lines) = (struct tree_line){ file, text };
}

/* The texts of argv are not owned; what options have built is. */
void invocation_free(struct invocation *inv)
{
	for (size_t i = 0; i < inv->slow.n; i++)
		function_list_free(&inv->slow.at[i].functions);
	vec_free(&inv->slow);
	for (size_t i = 0; i < inv->lines.n; i++) {
		free(inv->lines.at[i].file);
		free(inv->lines.at[i].text);
	}
	vec_free(&inv->lines);
	vec_free(&inv->writes);
	vec_free(&inv->kernel_writes);
	vec_free(&inv->pids);
	vec_free(&inv->of_probe.probes);
	vec_free(&inv->of_follow.ends);
	vec_free(&inv->of_push.labels);
	probe_options_free(inv);
	config_option_free(inv);
	excerpt_spec_free(&inv->excerpt);
	settings_free(&inv->settings);
	if (inv->events)
		events_free(inv->events);
}
