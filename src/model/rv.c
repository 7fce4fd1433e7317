/* SPDX-License-Identifier: MIT */
/* The text of the files of rv/. settings.c calls, with its lock; only a write fails, and changes
 * nothing then. A file of a monitor is known by its path, "rv/monitors/NAME/enable". */
#include "model/rv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const names[RV_MONITORS_N] = {
#define X(id, name, about) [RV_##id] = (name),
	RV_MONITORS(X)
#undef X
};
static const char *const abouts[RV_MONITORS_N] = {
#define X(id, name, about) [RV_##id] = (about),
	RV_MONITORS(X)
#undef X
};
static const char *const reactors[RV_REACTORS_N] = {
#define X(id, name) [RV_REACTOR_##id] = (name),
	RV_REACTORS(X)
#undef X
};

void rv_init(struct rv_settings *s)
{
	*s = (struct rv_settings){ .monitoring = true, .reacting = true };
}

const char *rv_name(enum rv_monitor m)
{
	return names[m];
}

bool rv_watches(const struct rv_settings *s, enum rv_monitor m)
{
	return s->monitoring && s->at[m].enabled;
}

bool rv_watches_any(const struct rv_settings *s)
{
	bool any = false;

	for (unsigned m = 0; m < RV_MONITORS_N; m++)
		any |= rv_watches(s, m);
	return any;
}

/* --- names ------------------------------------------------------------------------------------ */

/* RV_MONITORS_N: there is none of that name. */
static enum rv_monitor find_monitor(const char *name)
{
	unsigned m = 0;

	while (m < RV_MONITORS_N && strcmp(names[m], name) != 0)
		m++;
	return m;
}

/* The monitor whose file it is, and the file's own name; RV_MONITORS_N: it is none's. */
static enum rv_monitor monitor_of(const char *file, const char **own)
{
	static const char dir[] = "rv/monitors/";
	size_t n;

	*own = file;
	if (strncmp(file, dir, sizeof(dir) - 1) != 0)
		return RV_MONITORS_N;
	file += sizeof(dir) - 1;
	for (unsigned m = 0; m < RV_MONITORS_N; m++) {
		n = strlen(names[m]);
		if (!strncmp(file, names[m], n) && file[n] == '/') {
			*own = file + n + 1;
			return m;
		}
	}
	return RV_MONITORS_N;
}

bool rv_is_of(const char *file, enum rv_monitor m)
{
	const char *own;

	return monitor_of(file, &own) == m;
}

/* --- writes ----------------------------------------------------------------------------------- */

/* The words of the kernel's kstrtobool(), which looks at no more than they need: "yes", "1x". */
static int write_switch(bool *to, const char *text, struct err *err)
{
	static const char on[] = "1yYtT", off[] = "0nNfF";
	const bool is_o = *text == 'o' || *text == 'O';
	const char at = !is_o ? *text : strchr("nN", text[1]) ? 'y' : strchr("fF", text[1]) ? 'n' : 'o';

	if (!*text || (is_o && !text[1]) || (!strchr(on, at) && !strchr(off, at)))
		return err_at(err, EINVAL, text, 0, "0 or 1 is wanted, or y, n, on, off, t, f");
	*to = strchr(on, at);
	return 0;
}

/* NAME enables, !NAME disables; the file that is opened by `>` disables all first. A `!` alone
 * names none, as nothing does. */
static int write_enabled(struct rv_settings *s, const char *text, bool append, struct err *err)
{
	const bool off = *text == '!';
	const char *name = text + off;
	const enum rv_monitor m = find_monitor(name);

	if (*name && m == RV_MONITORS_N)
		return err_at(err, EINVAL, text, off,
			      "there is no such monitor; rv/available_monitors lists them");
	for (unsigned i = 0; !append && i < RV_MONITORS_N; i++)
		s->at[i].enabled = false;
	if (*name)
		s->at[m].enabled = !off;
	return 0;
}

static int write_reactor(struct rv_settings *s, enum rv_monitor m, const char *text,
			 struct err *err)
{
	unsigned r = 0;

	if (!*text)
		return 0; /* an empty line names none, as in the kernel */
	while (r < RV_REACTORS_N && strcmp(reactors[r], text) != 0)
		r++;
	if (r == RV_REACTORS_N)
		return err_at(err, EINVAL, text, 0,
			      "there is no such reactor; rv/available_reactors lists them");
	s->at[m].reactor = r;
	return 0;
}

/* file is one of those that settings.c has a row for, and can be written. */
int rv_write(struct rv_settings *s, const char *file, const char *text, bool append,
	     struct err *err)
{
	const char *own;
	const enum rv_monitor m = monitor_of(file, &own);

	if (m != RV_MONITORS_N)
		return !strcmp(own, "enable") ? write_switch(&s->at[m].enabled, text, err)
					      : write_reactor(s, m, text, err);
	if (!strcmp(file, "rv/monitoring_on"))
		return write_switch(&s->monitoring, text, err);
	if (!strcmp(file, "rv/reacting_on"))
		return write_switch(&s->reacting, text, err);
	return write_enabled(s, text, append, err);
}

/* --- reads ------------------------------------------------------------------------------------ */

/* A line for each monitor, or for each enabled one. */
static char *list_monitors(const struct rv_settings *s, bool enabled)
{
	char *text = mem_strdup("");

	for (unsigned m = 0; m < RV_MONITORS_N; m++) {
		char *longer;

		if (enabled && !s->at[m].enabled)
			continue;
		longer = mem_printf("%s%s\n", text, names[m]);
		free(text);
		text = longer;
	}
	return text;
}

/* A line for each reactor, the chosen one in brackets, as the kernel shows it. */
static char *list_reactors(unsigned chosen)
{
	char *text = mem_strdup("");

	for (unsigned r = 0; r < RV_REACTORS_N; r++) {
		char *longer = r == chosen ? mem_printf("%s[%s]\n", text, reactors[r])
					   : mem_printf("%s%s\n", text, reactors[r]);

		free(text);
		text = longer;
	}
	return text;
}

char *rv_read(const struct rv_settings *s, const char *file)
{
	const char *own;
	const enum rv_monitor m = monitor_of(file, &own);

	if (m != RV_MONITORS_N)
		return !strcmp(own, "enable") ? mem_printf("%d\n", s->at[m].enabled)
		       : !strcmp(own, "desc") ? mem_printf("%s\n", abouts[m])
					      : list_reactors(s->at[m].reactor);
	if (!strcmp(file, "rv/monitoring_on"))
		return mem_printf("%d\n", s->monitoring);
	if (!strcmp(file, "rv/reacting_on"))
		return mem_printf("%d\n", s->reacting);
	if (!strcmp(file, "rv/available_reactors"))
		return list_reactors(RV_REACTORS_N);
	return list_monitors(s, !strcmp(file, "rv/enabled_monitors"));
}
