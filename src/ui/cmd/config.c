/* SPDX-License-Identifier: MIT */
/* brace config: checks a boot configuration, lists it, explains it as writes, carries it out in a
 * session, or makes one of a session's settings. main() calls it, on brace's only thread. A failure
 * is said, and is EXIT_BRACE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/attached.h"
#include "daemon/ask.h"
#include "ui/commands.h"
#include "ui/config_option.h"
#include "ui/config_save.h"
#include "ui/profiles.h"
#include "ui/say.h"
#include "ui/screen.h"
#include "ui/session_set.h"

/* A word as a shell takes it. In single quotes, where only the quote itself has a meaning: it is
 * written as '\'', which ends the word, adds a quote, and goes on. */
static void put_word(struct out *out, const char *text)
{
	out_char(out, '\'');
	for (; *text; text++)
		out_str(out, *text == '\'' ? "'\\''" : (const char[]){ *text, 0 });
	out_char(out, '\'');
}

/* The writes as a shell's lines, to be typed in the tree's directory. */
static void explain_writes(const struct config_writes *w, struct out *out)
{
	const char *made = "";

	for (size_t i = 0; i < w->all.n; i++) {
		const struct config_write *write = &w->all.at[i];

		/* mkdir once before the writes that follow each other for one instance. */
		if (write->instance && strcmp(made, write->instance))
			out_printf(out, "mkdir -p instances/%s\n", write->instance);
		made = write->instance ? write->instance : made;
		out_str(out, "echo ");
		put_word(out, write->text);
		out_printf(out, " %s %s%s%s%s\n", write->append ? ">>" : ">",
			   write->instance ? "instances/" : "", write->instance ? write->instance : "",
			   write->instance ? "/" : "", write->file);
	}
}

/* --json, --explain or --list. */
static int print_config(const struct invocation *inv, const struct config_use *u)
{
	struct screen o;

	screen_open(&o, inv, SCREEN_PAGED, NULL);
	if (inv->json)
		bootconfig_json(&u->file, &o.text);
	else if (inv->explain)
		explain_writes(&u->writes, &o.text);
	else
		bootconfig_list(&u->file, &o.text);
	return screen_close(&o, 0);
}

/* --save: a session's settings as a configuration. */
static int save_settings(const struct invocation *inv)
{
	struct screen o;
	struct err err;
	int e;

	screen_open(&o, inv, SCREEN_PAGED, NULL);
	e = config_save(inv->session, &o.text, &err);
	return screen_close(&o, e ? say_error(&err) : 0);
}

/* A configuration that cannot be read is not attached. */
static int attach_config(struct invocation *inv)
{
	const char *program = inv->operands[0];
	struct err err;

	inv->config = inv->of_config.attach;
	/* The text is copied to the program (attached_write()), after it was read as a
	 * configuration: a program with one that cannot be read could not be recorded by --config
	 * any more. */
	if (config_option_read(inv, &err) ||
	    attached_write(program, inv->config_use->file.text,
			   strlen(inv->config_use->file.text), &err))
		return say_error(&err);
	say("brace: %s has the configuration of %s; brace record --config %s obeys it\n", program,
	    inv->config_use->file.name, program);
	return 0;
}

/* --detach: the program is as it was before a configuration was attached to it. */
static int detach_config(const struct invocation *inv)
{
	struct err err;

	return attached_write(inv->operands[0], NULL, 0, &err) ? say_error(&err) : 0;
}

/* --profiles: that there are none is no failure. */
static int list_profiles(const struct invocation *inv)
{
	struct screen o;

	screen_open(&o, inv, SCREEN_PAGED, NULL);
	if (!profiles_list(&o.text))
		say("brace: there are no profiles: files NAME.bconf or NAME.json in ~/.config/brace\n");
	return screen_close(&o, 0);
}

/* Without an option: what it stands for, in a sentence. Faults have been told by the reading. */
static int check_config(const struct invocation *inv)
{
	const struct config_use *u = inv->config_use;

	say("brace: %s is a boot configuration; it stands for %zu writes, and %zu of its keys for "
	    "none\n", u->file.name, u->writes.all.n, u->writes.remarks.n);
	return 0;
}

/* At most one of the options that each say what to do may be given. */
int cmd_config(struct invocation *inv)
{
	/* Flags of 0 and 1, and two texts, of which `!!` makes flags. */
	const unsigned asked = inv->of_config.list + inv->json + inv->explain +
			       inv->of_config.apply + inv->of_config.save +
			       inv->of_config.profiles + !!inv->of_config.attach +
			       inv->of_config.detach;
	struct err err;

	if (asked > 1 || ((inv->of_config.save || inv->of_config.profiles) && inv->n_operands)) {
		say(asked > 1
			    ? "brace: one of --list, --json, --explain, --apply, --save, --profiles, --attach and --detach, not several\n"
		    : inv->of_config.profiles
			    ? "brace: --profiles takes no file\n"
			    : "brace: --save prints a session's settings, and takes no file\n");
		return EXIT_BRACE;
	}
	if (inv->of_config.profiles)
		return list_profiles(inv);
	if (inv->of_config.save)
		return save_settings(inv);
	if (!inv->n_operands) {
		say(inv->of_config.attach || inv->of_config.detach
			    ? "brace: which program? `brace config --attach FILE PROGRAM`, --detach PROGRAM\n"
			    : "brace: which configuration? `brace config FILE`; - is standard input\n");
		return EXIT_BRACE;
	}
	if (inv->of_config.attach)
		return attach_config(inv);
	if (inv->of_config.detach)
		return detach_config(inv);
	inv->config = inv->operands[0];
	if (config_option_read(inv, &err))
		return say_error(&err);
	if (inv->of_config.apply)
		return session_set(inv, &err) ? say_error(&err) : 0;
	return asked ? print_config(inv, inv->config_use) : check_config(inv);
}
