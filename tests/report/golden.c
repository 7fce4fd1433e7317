#include "golden.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/option.h"

static const struct { const char *name, *why; } refused[] = {
	{ "event-comment", "lines cut out by grep -n, with numbers, and events of the kernel" },
	{ "option-funcgraph-args", "arguments: an option of Linux 6.13 and later" },
	{ "option-funcgraph-retaddr", "return addresses: tests/run/retaddr.sh has them" },
	{ "option-func-args", "arguments: an option of Linux 6.13 and later" },
	{ "option-func_stack_trace", "stack traces: stacks_test.c has them" },
};

const char *golden_refused(const char *name)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strncmp(name, refused[i].name, strlen(refused[i].name)))
			return refused[i].why;
	return NULL;
}

char *golden_file(const char *path)
{
	FILE *f = fopen(path, "r");
	VEC(char) text = { 0 };
	int c;

	if (!f)
		abort();
	while ((c = getc(f)) != EOF)
		*vec_add(&text) = (char)c;
	fclose(f);
	if (!text.n)
		abort();
	*vec_add(&text) = '\0';
	return text.at;
}

/* "option-A=1,B=0" */
static uint64_t options_of(const char *name)
{
	uint64_t set = options_default();
	const char *at = name + strlen("option-");

	if (!strncmp(name, "marker-comment", 14)) /* read with the task column on */
		return set | OPTION_BIT(OPTION_GRAPH_PROC);
	if (strncmp(name, "option-", 7))
		return set;
	while (*at) {
		size_t n = strcspn(at, "=");
		enum trace_option o = option_find(at, n);

		if (o == TRACE_OPTIONS_N)
			abort();
		set = (set & ~OPTION_BIT(o)) | (uint64_t)(at[n + 1] == '1') << o;
		at += n + 2;
		at += *at == ',';
	}
	return set;
}

static void cut(char *from, char *to)
{
	memmove(from, to, strlen(to) + 1);
}

/* Linux 6.13 and later say "ret=0x1" where 6.12 says "= 0x1". */
static void write_retval_as_before(char *line)
{
	char *ret = strstr(line, " ret="), *end = strchr(line, '\n');

	if (ret && ret < end) {
		cut(ret + 2, ret + 4);
		ret[1] = '=';
		ret[2] = ' ';
	}
}

/* The five characters of interrupt state, in front of " | " or the time: "....." in user space. */
static void dot_flags(char *line, const struct golden *g, bool graph)
{
	char *bar = strchr(line, '|'), *end = strchr(line, '\n');

	if (*line == '#' || strncmp(line, " ---", 4) == 0 || strstr(line, " => ") == line + 18)
		return;
	if (graph && option_is_set(g->options, OPTION_GRAPH_ABSTIME) && bar)
		bar = strchr(bar + 1, '|');
	if (graph && option_is_set(g->options, OPTION_GRAPH_PROC) && bar)
		bar = strchr(bar + 1, '|');
	if (graph && bar && bar < end && bar - line >= 6)
		memcpy(bar - 6, ".....", 5);
}

static void normalise(struct golden *g, bool graph)
{
	bool latency = option_is_set(g->options, OPTION_LATENCY_FORMAT);

	for (char *line = g->text, *next; *line; line = next) {
		if (option_is_set(g->options, OPTION_GRAPH_RETVAL))
			write_retval_as_before(line);
		if (graph && latency)
			dot_flags(line, g, graph);
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (strstr(line, "/* hello marker */") && strstr(line, "/* hello marker */") < next) {
			cut(line, next);
			next = line;
		}
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct golden *)a)->path, ((const struct golden *)b)->path);
}

void golden_load(golden_list *list, const char *folder, const char *tracer)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	if (!d)
		abort();
	while ((e = readdir(d))) {
		char *dot = strstr(e->d_name, "-own."), *name;
		struct golden g = { 0 };

		if (!dot || strncmp(dot + 5, tracer, strlen(tracer)) || dot[5 + strlen(tracer)] != '.')
			continue;
		name = dot + 5 + strlen(tracer) + 1;
		g.name = mem_strndup(name, strlen(name) > 4 ? strlen(name) - 4 : 0);
		g.path = mem_printf("%s/%s", folder, e->d_name);
		if (!golden_refused(g.name)) {
			g.options = options_of(g.name);
			g.text = golden_file(g.path);
			normalise(&g, !strcmp(tracer, "function_graph"));
		}
		*vec_add(list) = g;
	}
	closedir(d);
	qsort(list->at, list->n, sizeof(*list->at), by_path);
}

void golden_free(golden_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->at[i].path);
		free(list->at[i].name);
		free(list->at[i].text);
	}
	vec_free(list);
}

bool golden_same(const struct golden *g, const char *got, bool prefix)
{
	const char *want = g->text;
	size_t line = 0, i = 0;

	if (prefix ? !strncmp(want, got, strlen(want)) : !strcmp(want, got))
		return true;
	for (; want[i] && want[i] == got[i]; i++)
		if (want[i] == '\n')
			line = i + 1;
	printf("%s\n  want: %.*s\n  got:  %.*s\n", g->path, (int)strcspn(want + line, "\n"), want + line,
	       (int)strcspn(got + line, "\n"), got + line);
	return false;
}
