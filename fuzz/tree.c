/* SPDX-License-Identifier: MIT */
/* Any writes, to any files of ftrace's tree, and directories made and removed between them. A write
 * that fails changes nothing and is in the error_log, whose carets stand under its commands; what
 * was accepted reads back, and can be written again. And what /proc/self/mountinfo and /proc/mounts
 * might say. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "tree/instance.h"
#include "tree/mount_point.h"
#include "tree/view.h"

static const struct event_provider programs = { .name = "program", .can_enable = true };

static const char *const paths[] = {
	"current_tracer", "tracing_on", "trace_options", "trace_clock", "buffer_size_kb", "buffer_percent",
	"tracing_cpumask", "tracing_max_latency", "tracing_thresh", "max_graph_depth", "options/overwrite",
	"options/block", "options/sym-addr", "options/sleep-time", "trace", "error_log", "trace_marker",
	"trace_marker_raw", "trace_pipe", "README", "available_tracers", "instances/a/tracing_on",
	"instances/a/error_log", "instances/b/trace_options", "instances/a/options/bin",
	"set_event", "set_event_pid", "events/enable", "events/s/enable", "events/s/filter", "events/s/one/enable",
	"events/s/one/filter", "events/s/one/trigger", "events/t/three/trigger", "instances/a/set_event", "snapshot",
	"instances/a/events/s/two/filter", "instances/a/events/s/one/trigger", "free_buffer", "per_cpu/cpu0/trace",
	"set_ftrace_pid", "saved_cmdlines_size",
	"set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_ftrace_module", "instances/a/set_ftrace_filter",
};

static void check(int ok)
{
	if (!ok)
		abort();
}

/* Three lines each: "[time] place: error: sentence", the command, the caret. */
static void check_log(struct tree *t, const char *path)
{
	char *log = tree_cat(t, path, NULL), *p = log;
	unsigned entries = 0;

	for (; p && *p; entries++) {
		const char *command, *caret;

		check(*p == '[' && strstr(p, ": error: "));
		command = strchr(p, '\n') + 1;
		check(!strncmp(command, "  Command: ", 11));
		caret = strchr(command, '\n') + 1;
		check(caret[strspn(caret, " ")] == '^' && strspn(caret, " ") >= 11);
		p = strchr(caret, '\n') + 1;
	}
	check(entries <= 8);
	free(log);
}

/* `>` clears a list of functions even if what follows is refused; a filter that is refused stands
 * in its file. */
static bool is_setting(const char *path, int flags)
{
	if ((strstr(path, "set_") && (flags & O_TRUNC)) || strstr(path, "/filter"))
		return false;
	return !strstr(path, "trace_pipe") && !strstr(path, "error_log") && !strstr(path, "trace_marker");
}

static void write_once(struct tree *t, const char *path, const char *text, size_t n, int flags)
{
	struct tree_node *node = tree_find(t, path);
	char *before = tree_cat(t, path, NULL), *after;
	struct tree_open *o;
	ssize_t took;

	if (node && !tree_open(node, O_RDWR | flags, 1, 0, &o, NULL)) {
		took = tree_write(o, 1, text, n, NULL);
		check(took <= (ssize_t)n);
		tree_close(o);
		after = tree_cat(t, path, NULL);
		check(took >= 0 || !is_setting(path, flags) || !before || !strcmp(before, after));
		if (took >= 0 && after && strstr(path, "tracing_")) {
			after[strcspn(after, "\n")] = '\0'; /* which comes with the echo, and a number takes only one */
			check(tree_echo(t, path, after, false, NULL) == 0);
		}
		free(after);
	}
	free(before);
	if (node)
		tree_put(node);
}

static void directory(struct tree *t, uint8_t which, const char *name)
{
	struct tree_node *dir = tree_find(t, which & 2 ? "instances" : "options");

	if (which & 1)
		tree_mkdir(dir, name, NULL);
	else
		tree_rmdir(dir, name, 0, NULL);
	tree_put(dir);
}

static void step(struct tree *t, struct cursor *c)
{
	uint8_t what = cursor_u8(c), n = cursor_u8(c);
	size_t left = cursor_left(c);
	const char *bytes = cursor_bytes(c, n < left ? n : left);
	char text[257], path[257];

	n = n < left ? n : (uint8_t)left;
	memcpy(text, bytes ? bytes : "", bytes ? n : 0);
	text[n] = '\0';
	if (what < 128) {
		write_once(t, paths[what % (sizeof(paths) / sizeof(*paths))], text, n, what & 64 ? O_TRUNC : O_APPEND);
	} else if (what < 192) {
		directory(t, what, what & 32 ? text : what & 4 ? "a" : "b");
	} else {
		snprintf(path, sizeof(path), "%s", text);
		free(tree_cat(t, path, NULL));
		write_once(t, path, text, n, 0);
	}
}

static void add_events(struct tree *t)
{
	static const struct event_field fields[] = { { "int", "a", 8, 4, true }, { "char[8]", "s", 12, 8, false } };
	static const char *const names[][2] = { { "s", "one" }, { "s", "two" }, { "t", "three" } };
	const struct event_entry *e;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct event_format f = { names[i][0], names[i][1], 0, fields, 2, "\"%d\", REC->a" };

		check(!events_add_format(instance_events(t), &programs, &f, &e, NULL));
	}
}

/* Writes the text of set_event back to it: the text stays the same. */
static void check_events(struct tree *t)
{
	char *before = tree_cat(t, "set_event", NULL), *after;
	struct settings s;

	instance_settings(instance_top(t), &s);
	for (uint32_t i = 0; i < events_n(instance_events(t)); i++)
		check(!event_set_differ(&s.events, &s.events, i));
	settings_free(&s);
	check(!tree_echo(t, "set_event", before, true, NULL));
	after = tree_cat(t, "set_event", NULL);
	check(!strcmp(before, after));
	free(before);
	free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size);
	char *text = mem_strndup((const char *)data, size), type[64], source[64];
	struct tree *t = instance_tree_new();

	mount_point_find(text, "/a b", type, source);
	free(view_mounts(text));
	add_events(t);
	free(text);
	while (cursor_left(&c) && !c.bad)
		step(t, &c);
	check_events(t);
	check_log(t, "error_log");
	check_log(t, "instances/a/error_log");
	instance_tree_free(t);
	return 0;
}
