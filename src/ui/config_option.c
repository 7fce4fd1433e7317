/* SPDX-License-Identifier: MIT */
/* Called on the command's thread: when the command line has been parsed, and when its settings are
 * written. The invocation owns what is read, until config_option_free(). */
#include "ui/config_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ui/probe_option.h"
#include "ui/profiles.h"
#include "ui/say.h"

/* "FILE:LINE:COLUMN", for free(). */
char *config_option_position(const struct config_use *u, size_t at)
{
	const struct bootconfig_position position = bootconfig_position(&u->file, at);

	return mem_printf("%s:%zu:%zu", u->file.name, position.line, position.column);
}

/* Warnings; with --strict the first one is an error: -EINVAL. */
int config_option_remarks(const struct config_use *u, bool strict, struct err *err)
{
	for (size_t i = 0; i < u->writes.remarks.n; i++) {
		const struct config_remark *remark = &u->writes.remarks.at[i];
		char *position = config_option_position(u, remark->at);

		if (strict)
			err_set(err, EINVAL, "%s: %s", position, remark->text);
		else
			say_warning("%s: %s", position, remark->text);
		free(position);
		if (strict)
			return -EINVAL;
	}
	return 0;
}

/* A write that settings can take, before any tree is there. */
static bool is_setting(const struct config_write *w)
{
	return !w->instance && (settings_can_write(w->file) || !strcmp(w->file, "set_event"));
}

/* Whether something in it needs a tree: events, triggers, instances. */
bool config_option_needs_tree(const struct invocation *inv)
{
	const struct config_use *u = inv->config_use;

	for (size_t i = 0; u && i < u->writes.all.n; i++)
		if (!is_setting(&u->writes.all.at[i]))
			return true;
	return false;
}

/* Puts the settings before those of the command line's options. Later writes win, and appending
 * ones add: so --config's come first, and -l of the command line replaces the file's list. Texts
 * stay the configuration's, which lives as long as the invocation. */
static void add_settings(struct invocation *inv, const struct config_use *u)
{
	const size_t options = inv->writes.n;
	size_t n = 0;

	for (size_t i = 0; i < u->writes.all.n; i++)
		n += is_setting(&u->writes.all.at[i]);
	/* vec_add() may move the array: the place is taken before the writes of the options are
	 * moved behind it. */
	for (size_t i = 0; i < n; i++)
		vec_add(&inv->writes);
	if (n)
		memmove(inv->writes.at + n, inv->writes.at, options * sizeof(*inv->writes.at));
	n = 0;
	for (size_t i = 0; i < u->writes.all.n; i++) {
		const struct config_write *w = &u->writes.all.at[i];

		if (is_setting(w))
			inv->writes.at[n++] = (struct setting_write){
				.file = w->file, .text = w->text, .append = w->append,
				.config = w };
	}
}

/* Whether the command knows --config. */
static bool takes_config(const struct invocation *inv)
{
	for (const struct option *const *t = inv->command->tables; *t; t++)
		for (const struct option *o = *t; o->set; o++)
			if (o->name && !strcmp(o->name, "config"))
				return true;
	return false;
}

/* The name - means none in the environment, and standard input on the command line. */
static const char *config_name(const struct invocation *inv)
{
	const char *name = inv->config || !takes_config(inv) ? NULL : getenv("BRACE_CONFIG");

	if (inv->config)
		return inv->config;
	return name && *name && strcmp(name, "-") ? name : NULL;
}

/* A write that is refused is a warning, told once, or, with --strict, an error. */
static int write_failed(const struct invocation *inv, const struct config_write *w, struct err *err)
{
	const struct config_use *u = inv->config_use;
	/* w is an element of writes.all: states has one for each, at the same index. */
	enum config_state *state = &u->states[w - u->writes.all.at];
	char *position = config_option_position(u, w->at);

	err_prefix(err, "%s", position);
	free(position);
	if (inv->strict)
		return -err->code;
	if (*state != CONFIG_TOLD)
		say_warning("%s", err->text);
	*state = CONFIG_TOLD;
	return 0;
}

/* Whether a write defines a probe of a program's function. */
static bool is_probe(const struct config_write *w)
{
	return !w->instance &&
	       (!strcmp(w->file, "kprobe_events") || !strcmp(w->file, "uprobe_events"));
}

/* Probes of the program that is run or attached to become definitions as -e has them: its functions
 * are known by name before it runs. Without one the session that runs knows them. */
static int define_probes(struct invocation *inv, struct config_use *u, struct err *err)
{
	const char *name;
	int e = 0;

	if (!inv->pids.n && !(inv->command->stops && inv->n_operands))
		return 0;
	for (size_t i = 0; i < u->writes.all.n && !e; i++) {
		const struct config_write *w = &u->writes.all.at[i];

		if (!is_probe(w))
			continue;
		if (probe_option_line(inv, w->text, &name, err))
			e = write_failed(inv, w, err);
		else
			u->states[i] = CONFIG_DEFINED;
	}
	return e;
}

/* The rest of the command line is parsed already: its options stand behind the file's settings,
 * and win. */
int config_option_read(struct invocation *inv, struct err *err)
{
	const char *name = config_name(inv);
	struct config_use *u;
	char *path;
	int e;

	if (!name)
		return 0;
	path = profile_find(name, err);
	if (!path)
		return -err->code;
	inv->config_use = u = mem_zalloc(sizeof(*u));
	e = bootconfig_read(&u->file, path, err);
	free(path);
	if (e)
		return e;
	config_writes(&u->file, &u->writes);
	u->states = mem_zalloc((u->writes.all.n + 1) * sizeof(*u->states));
	/* Before the writes are made: with --strict nothing has been done when it fails. */
	e = config_option_remarks(u, inv->strict, err);
	if (e)
		return e;
	e = define_probes(inv, u, err);
	if (e)
		return e;
	add_settings(inv, u);
	if (inv->kernel_alone && config_option_needs_tree(inv))
		say_warning("%s: with -K its settings are used, not its events and instances", name);
	return 0;
}

/* NULL, where no --config was given, is nothing. */
void config_option_free(struct invocation *inv)
{
	if (!inv->config_use)
		return;
	config_writes_free(&inv->config_use->writes);
	bootconfig_free(&inv->config_use->file);
	free(inv->config_use->states);
	free(inv->config_use);
	inv->config_use = NULL;
}

/* A write of the command line's own is an error in any case. */
int config_option_failed(const struct invocation *inv, const struct setting_write *w,
			 struct err *err)
{
	return w->config ? write_failed(inv, w->config, err) : -err->code;
}

/* Refuses what this command would do and nobody would read: unread(trigger) is the reason, or
 * NULL. */
int config_option_refuse(const struct invocation *inv, const char *(*unread)(const char *trigger),
			 struct err *err)
{
	const struct config_use *u = inv->config_use;
	const char *told = "";
	int e = 0;

	for (size_t i = 0; u && i < u->writes.all.n && !e; i++) {
		const struct config_write *w = &u->writes.all.at[i];
		const char *slash = strrchr(w->file, '/'),
			   *why = slash && !strcmp(slash, "/trigger") ? unread(w->text) : NULL;

		if (w->instance && strcmp(told, w->instance)) {
			told = w->instance;
			why = "the records of an instance stay in it; brace start keeps them, for "
			      "brace show instances/NAME/trace";
		}
		if (!why)
			continue;
		err_set(err, EINVAL, "%s", why);
		e = write_failed(inv, w, err);
		u->states[i] = CONFIG_WAITS;
	}
	return e;
}

/* Writes one line, in its instance, which is made first. */
static int write_line(const struct config_write *w, const struct event_files *f, struct err *err)
{
	char *path = w->instance ? mem_printf("instances/%s/%s", w->instance, w->file)
				 : mem_strdup(w->file);
	int e = 0;

	if (w->instance && f->mkdir)
		e = f->mkdir(f->arg, "instances", w->instance, err);
	/* An instance that is there is used as it is: a configuration has several writes for it. */
	if (!e || e == -EEXIST)
		e = f->echo(f->arg, path, w->text, w->append, err);
	free(path);
	return e;
}

/* An instance that cannot be made: its other writes need no words of their own. */
static int no_instance(const struct invocation *inv, const struct config_write *w, struct err *err)
{
	const struct config_use *u = inv->config_use;
	int e;

	err_set(err, ENOENT, "there is no instance %s; `brace start --config` makes it, when a session "
		"begins", w->instance);
	e = write_failed(inv, w, err);
	for (size_t i = 0; i < u->writes.all.n; i++) {
		const char *instance = u->writes.all.at[i].instance;

		if (instance && !strcmp(instance, w->instance))
			u->states[i] = CONFIG_TOLD;
	}
	return e;
}

/* Makes the writes that need the tree, in the order of the file. */
int config_option_apply(const struct invocation *inv, const struct event_files *f, struct err *err)
{
	const struct config_use *u = inv->config_use;
	int e = 0;

	for (size_t i = 0; u && i < u->writes.all.n && !e; i++) {
		const struct config_write *w = &u->writes.all.at[i];

		/* Settings were written with the command line's; other states were carried out, or
		 * their refusal was told. */
		if (is_setting(w) || u->states[i] != CONFIG_WAITS)
			continue;
		if (inv->verbose)
			invocation_show_write(&(struct setting_write){
				.file = w->file, .text = w->text, .append = w->append });
		e = write_line(w, f, err);
		if (e == -ENOENT && w->instance && !f->mkdir)
			e = no_instance(inv, w, err);
		else if (e)
			e = write_failed(inv, w, err);
	}
	return e;
}
