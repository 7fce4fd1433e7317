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

/* The distance from a refused instruction up to which the nearest one is looked for, in bytes. */
#define NEAR_BYTES 64u
/* Events that can be defined at one instruction. The agent records PROBE_CHAIN_MAX there, and
 * markers and brace's own probes are among them. */
#define DEFINED_MAX (PROBE_CHAIN_MAX - 4)

const struct event_provider dynamic_provider = { .name = "probe", .can_enable = true };

/* Whether a probe of the function that the offset is in can stand at `other`, too: in another
 * function it would tell something else. */
static bool can_be_instead(int fd, const char *path, uint64_t offset, uint64_t other)
{
	return probes_reason(fd, path, other) == REASON_NONE &&
	       probes_together(fd, path, offset, other);
}

/* Returns the offset of the function's nearest place that can be probed; 0: there is none
 * nearby. */
static uint64_t nearest_place(int fd, const char *path, uint64_t offset)
{
	for (uint64_t by = 1; by <= NEAR_BYTES; by++) {
		if (can_be_instead(fd, path, offset, offset + by))
			return offset + by;
		if (by < offset && can_be_instead(fd, path, offset, offset - by))
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
		      "no probe fits at this offset (%s: %s), and none nearby in its function",
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

/* Refuses a function whose entry cannot keep what its return is to tell. */
static int check_entry(const struct probe_command *command, int fd, const char *line,
		       struct err *err)
{
	const struct probe_definition *d = command->definition;
	enum hook_reason reason =
		d->entry ? probes_entry_reason(fd, d->path, d->offset) : REASON_NONE;

	if (!reason)
		return 0;
	return err_at(err, EINVAL, line, command->offset_column,
		      "no probe fits at the function's first instruction, which would keep its arguments for the return (%s: %s); leave $argN out, or trace the function with funcgraph-args and funcgraph-retval",
		      hook_reason_words[reason], hook_reason_texts[reason]);
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
		return returns.bar ? refuse_returns(command, &returns, line, err)
				   : check_entry(command, fd, line, err);
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

	return a->device == b->device && a->inode == b->inode && between <= CODE_LANDING_BYTES;
}

/* Refuses what the agent would leave out of the records. */
static int check_room(struct event_catalogue *c, const struct probe_command *command,
		      const char *line, struct err *err)
{
	uint32_t n = events_n(c), here = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(c, i);

		const struct probe_definition *d =
			events_is_gone(e) ? NULL : probe_definition_first(e->probe);

		for (; d; d = probe_definition_next(d))
			here += is_same_place(d, command->definition);
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

/* Number of the first argument that is printed otherwise, u8 and x8; n: none is. */
static size_t printed_otherwise(const char *a, const char *b, size_t n)
{
	size_t named = 0;

	if (!strcmp(a, b))
		return n;
	for (; *a == *b; a++, b++)
		named += *a == '=';
	return named ? named - 1 : 0;
}

/* The first field in which two events differ; the number of fields: in none. heads: fields that are
 * no arguments. */
static size_t first_difference(const struct event_format *a, const struct event_format *b,
			       size_t heads)
{
	size_t i = 0, printed;

	while (i < a->n && i < b->n && !strcmp(a->fields[i].name, b->fields[i].name) &&
	       !strcmp(a->fields[i].type, b->fields[i].type) &&
	       a->fields[i].size == b->fields[i].size)
		i++;
	printed = heads + printed_otherwise(a->print, b->print, a->n);
	return printed < i ? printed : i;
}

int dynamic_probes_alike(const struct event_entry *other, const char *format, size_t heads,
			 const char *line, struct err *err)
{
	struct err ignored;
	struct event_format *f =
		event_format_parse(format, strlen(format), other->format->system, &ignored);
	size_t differs = f ? first_difference(other->format, f, heads) : 0;
	bool alike = f && differs == f->n && differs == other->format->n;

	event_format_free(f);
	return alike ? 0
		     : err_at(err, EEXIST, line,
			      column_of_word(line, differs < heads ? 2 : 2 + differs - heads),
			      "Argument type or name is different from existing probe");
}

/* Whether the event has this place with these arguments. */
static bool has_place(const struct event_entry *e, const struct probe_definition *other)
{
	const struct probe_definition *d = probe_definition_first(e->probe);

	while (d && (strcmp(d->path, other->path) != 0 || d->offset != other->offset ||
		     strcmp(d->arguments, other->arguments) != 0))
		d = probe_definition_next(d);
	return d;
}

/* Refuses a place that the event cannot have besides its own, in the kernel's words: its records
 * would have other fields, or it has it. */
static int check_other(const struct event_entry *other, const struct probe_command *command,
		       const char *line, struct err *err)
{
	const struct probe_definition *a = other->probe, *b = command->definition;
	int r;

	if (a->returns != b->returns)
		return err_at(err, EEXIST, line, 0,
			      "Probe type is different from existing probe");
	r = dynamic_probes_alike(other, command->format, b->returns ? 2 : 1, line, err);
	if (r < 0)
		return r;
	return has_place(other, b) ? err_at(err, EEXIST, line, 0,
					    "There is already the exact same probe event")
				   : 0;
}

/* Returns the event that the place is to be added to: one of that name that is a probe, too, given
 * alike. NULL: none; another event of that name is refused when it is added. */
static const struct event_entry *event_of(struct event_catalogue *c,
					  const struct probe_command *command)
{
	const struct event_entry *e = events_find(c, command->group, command->event);

	return e && e->probe && !e->probe->symbol == !command->definition->symbol &&
			       e->probe->fprobe == command->definition->fprobe
		       ? e
		       : NULL;
}

int dynamic_probes_define(struct event_catalogue *c, struct probe_command *command,
			  const char *line, const struct event_entry **append, struct err *err)
{
	struct probe_definition *d = command->definition;
	const struct event_entry *other = event_of(c, command);
	struct stat is;
	struct err why;
	int fd, r;

	if (append)
		*append = other;
	r = other ? check_other(other, command, line, err) : 0;
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
	if (r < 0 || (append && other))
		return r;
	if (other) {
		events_add_place(c, other, d);
		command->definition = NULL;
		return 0;
	}
	command->definition = NULL;
	r = events_add_probe(c, &dynamic_provider, command->group, command->format, d, &why);
	return r < 0 ? err_at(err, -r, line, 0, "%s", why.text) : 0;
}
