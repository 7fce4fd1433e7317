/* SPDX-License-Identifier: MIT */
/* Defined events: whether there can be one at an instruction, asked when it is defined. Their
 * places in programs are found with all others (probes.c). Any thread; nothing is kept here. The
 * kernel takes any offset and fails when the event is enabled; here the definition fails, because
 * whoever wrote it is still there. */
#include "image/dynamic_probes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/code.h"
#include "base/file.h"
#include "image/probes.h"
#include "shared/probe.h"

/* How far from a refused instruction the nearest one is looked for, in bytes. */
#define NEAR_BYTES 64u
/* Events that can be defined at one instruction. The agent records PROBE_CHAIN_MAX there, and
 * markers and brace's own probes are among them. */
#define DEFINED_MAX (PROBE_CHAIN_MAX - 4)

const struct event_provider dynamic_provider = { .name = "probe", .can_enable = true };

/* Returns the offset of the nearest place that can be probed; 0: there is none nearby. */
static uint64_t nearest_place(int fd, const char *path, uint64_t offset)
{
	for (uint64_t by = 1; by <= NEAR_BYTES; by++) {
		if (probes_reason(fd, path, offset + by) == REASON_NONE)
			return offset + by;
		if (by < offset && probes_reason(fd, path, offset - by) == REASON_NONE)
			return offset - by;
	}
	return 0;
}

/* Says why the instruction cannot be probed, and which can. */
static int refuse_place(const struct probe_command *command, int fd, enum hook_reason reason,
			const char *line, struct err *err)
{
	const struct probe_definition *d = command->definition;
	uint64_t other = nearest_place(fd, d->path, d->offset);

	if (other)
		return err_at(err, EINVAL, line, command->offset_column,
			      "no probe fits at this offset (%s: %s); the nearest that can be had is 0x%llx",
			      hook_reason_words[reason], hook_reason_texts[reason],
			      (unsigned long long)other);
	return err_at(err, EINVAL, line, command->offset_column,
		      "no probe fits at this offset (%s: %s), and none nearby",
		      hook_reason_words[reason], hook_reason_texts[reason]);
}

/* Says why the function's return cannot be probed. */
static int refuse_returns(const struct probe_command *command, const struct probe_returns *r,
			  const char *line, struct err *err)
{
	char place[32] = "";

	if (r->where)
		snprintf(place, sizeof(place), " (at 0x%llx)", (unsigned long long)r->where);
	if (r->bar == RETURN_BAR_WINDOW)
		return err_at(err, EINVAL, line, command->offset_column,
			      "%s%s: %s (%s); trace the function instead, with funcgraph-retval",
			      return_bar_texts[r->bar], place, hook_reason_texts[r->reason],
			      hook_reason_words[r->reason]);
	return err_at(err, EINVAL, line, command->offset_column,
		      "the return cannot be probed: %s%s%s", return_bar_texts[r->bar], place,
		      r->bar == RETURN_BAR_NO_FUNCTION
			      ? ""
			      : "; trace the function instead, with funcgraph-retval");
}

/* Refuses a place that no probe fits. */
static int check_place(const struct probe_command *command, int fd, const char *line,
		       struct err *err)
{
	const struct probe_definition *d = command->definition;
	struct probe_returns returns;
	enum hook_reason reason;

	if (d->returns) {
		returns = probes_returns(fd, d->path, d->offset);
		return returns.bar ? refuse_returns(command, &returns, line, err) : 0;
	}
	reason = probes_reason(fd, d->path, d->offset);
	return reason ? refuse_place(command, fd, reason, line, err) : 0;
}

/* Opens the regular file, or returns -errno. */
static int open_file(const struct probe_command *command, const char *line, struct err *err)
{
	struct err ignored;
	struct stat is;
	int fd;

	if (!file_look(command->definition->path, &is))
		return err_at(err, ENOENT, line, command->path_column,
			      "Failed to find the given file");
	if (!S_ISREG(is.st_mode))
		return err_at(err, EINVAL, line, command->path_column, "Not a regular file");
	fd = file_open(command->definition->path, &ignored);
	if (fd < 0)
		return err_at(err, -fd, line, command->path_column, "%s", ignored.text);
	return fd;
}

/* Whether both are of one file and at one instruction. What is closer than a landing pad is long
 * counts as one: a probe of either may stand behind it. */
static bool is_same_place(const struct probe_definition *a, const struct probe_definition *b)
{
	uint64_t between = a->offset > b->offset ? a->offset - b->offset : b->offset - a->offset;

	return a->device == b->device && a->inode == b->inode && between <= CODE_LANDING_MAX;
}

/* Refuses what the agent would leave out of the records. */
static int check_room(struct event_catalogue *c, const struct probe_command *command,
		      const char *line, struct err *err)
{
	uint32_t n = events_n(c), here = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(c, i);

		here += e->probe && !events_is_gone(e) &&
			is_same_place(e->probe, command->definition);
	}
	return here < DEFINED_MAX
		       ? 0
		       : err_at(err, ENOSPC, line, command->offset_column,
				"there are %u events at this instruction already; remove one, or fetch more arguments in one",
				here);
}

/* Where word number n, from 0 on, begins in the line. */
static size_t column_of_word(const char *line, size_t n)
{
	static const char blanks[] = " \t";
	size_t at = strspn(line, blanks);

	while (n--) {
		at += strcspn(line + at, blanks);
		at += strspn(line + at, blanks);
	}
	return at;
}

/* The first field in which two events differ; the number of fields: in none. */
static size_t first_difference(const struct event_format *a, const struct event_format *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && !strcmp(a->fields[i].name, b->fields[i].name) &&
	       !strcmp(a->fields[i].type, b->fields[i].type))
		i++;
	return i;
}

/* Refuses a name that another probe has, in the kernel's words; there an event can have several
 * places, if they are alike. */
static int check_other(const struct event_entry *other, const struct probe_command *command,
		       const char *line, struct err *err)
{
	const struct probe_definition *a = other->probe, *b = command->definition;
	size_t heads = b->returns ? 2 : 1, differs;
	struct event_format *f;
	struct err ignored;
	bool alike;

	if (a->returns != b->returns)
		return err_at(err, EEXIST, line, 0,
			      "Probe type is different from existing probe");
	f = event_format_parse(command->format, strlen(command->format), command->group, &ignored);
	differs = f ? first_difference(other->format, f) : 0;
	alike = f && differs == f->n && differs == other->format->n;
	event_format_free(f);
	if (!alike && differs >= heads)
		return err_at(err, EEXIST, line, column_of_word(line, 2 + differs - heads),
			      "Argument type or name is different from existing probe");
	if (!strcmp(a->path, b->path) && a->offset == b->offset &&
	    !strcmp(a->arguments, b->arguments))
		return err_at(err, EEXIST, line, 0,
			      "There is already the exact same probe event");
	return err_at(err, EEXIST, line, 0,
		      "Given group/event name is already used by another event");
}

/* Checks the name of a definition by a symbol: uprobe_events has one sentence for all of these. */
static int check_name(struct event_catalogue *c, const struct probe_command *command,
		      const char *line, struct err *err)
{
	const struct event_entry *other = events_find(c, command->group, command->event);

	return other && other->probe && command->definition->symbol
		       ? check_other(other, command, line, err)
		       : 0;
}

int dynamic_probes_define(struct event_catalogue *c, struct probe_command *command,
			  const char *line, struct err *err)
{
	struct probe_definition *d = command->definition;
	struct stat is;
	struct err why;
	int fd, r;

	r = check_name(c, command, line, err);
	if (r < 0)
		return r;
	fd = open_file(command, line, err);
	if (fd < 0)
		return fd;
	r = check_place(command, fd, line, err);
	if (r == 0 && file_stat(fd, &is) < 0)
		r = err_at(err, EINVAL, line, command->path_column, "Not a regular file");
	close(fd);
	if (r < 0)
		return r;
	d->device = is.st_dev;
	d->inode = is.st_ino;
	r = check_room(c, command, line, err);
	if (r < 0)
		return r;
	command->definition = NULL;
	r = events_add_probe(c, &dynamic_provider, command->group, command->format, d, &why);
	return r < 0 ? err_at(err, -r, line, 0, "%s", why.text) : 0;
}
