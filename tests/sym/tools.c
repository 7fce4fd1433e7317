/* See tools.h. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

static char directory[] = "/tmp/brace-sym-XXXXXX";

int tools_setup(void **state)
{
	return mkdtemp(directory) ? 0 : -1;
}

int tools_teardown(void **state)
{
	run("rm -rf %s", directory);
	return 0;
}

static char *in_directory(const char *fmt, va_list ap)
{
	char *command, *whole;

	assert_true(vasprintf(&command, fmt, ap) > 0);
	whole = mem_printf("cd %s && export LC_ALL=C && %s", directory, command);
	free(command);
	return whole;
}

void run(const char *fmt, ...)
{
	va_list ap;
	char *command;
	int status;

	va_start(ap, fmt);
	command = in_directory(fmt, ap);
	va_end(ap);
	status = system(command);
	if (status)
		fail_msg("status %d: %s", status, command);
	free(command);
}

struct output output_of(const char *fmt, ...)
{
	struct output o = { 0 };
	va_list ap;
	char *command;

	va_start(ap, fmt);
	command = in_directory(fmt, ap);
	va_end(ap);
	o.pipe = popen(command, "r");
	assert_non_null(o.pipe);
	free(command);
	return o;
}

bool next_line(struct output *o)
{
	if (fgets(o->line, sizeof(o->line), o->pipe)) {
		o->line[strcspn(o->line, "\n")] = 0;
		return true;
	}
	assert_int_equal(pclose(o->pipe), 0);
	return false;
}

const char *path_of(const char *file)
{
	static char path[4096];

	snprintf(path, sizeof(path), file[0] == '/' ? "%.0s%s" : "%s/%s", directory, file);
	return path;
}

void write_file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

void copy_fixture(const char *name)
{
	run("cp " FIXTURES "/%s .", name);
}

uint8_t *read_whole(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	uint8_t *bytes;

	if (!f)
		fail_msg("%s is not there", path);
	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	rewind(f);
	bytes = mem_zalloc(*n + 1);
	assert_int_equal(fread(bytes, 1, *n, f), *n);
	fclose(f);
	return bytes;
}

struct sym_module *open_module(const char *file)
{
	struct sym_module *m;
	struct err err = { 0 };

	if (sym_open(path_of(file), &m, &err))
		fail_msg("%s", err.text);
	return m;
}

struct sym_module *open_alone(const char *file)
{
	struct sym_module *m;
	struct err err = { 0 };
	size_t n;
	uint8_t *bytes = read_whole(path_of(file), &n);

	if (sym_open_bytes(bytes, n, file, &m, &err))
		fail_msg("%s", err.text);
	return m;
}

void close_alone(struct sym_module *m)
{
	free((void *)m->bytes);
	sym_close(m);
}

void set_add(struct set *s, uint64_t vaddr)
{
	*vec_add(&s->v) = vaddr;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void set_sort(struct set *s)
{
	size_t kept = 0;

	if (s->v.n)
		qsort(s->v.at, s->v.n, sizeof(*s->v.at), by_value);
	for (size_t i = 0; i < s->v.n; i++)
		if (!kept || s->v.at[kept - 1] != s->v.at[i])
			s->v.at[kept++] = s->v.at[i];
	s->v.n = kept;
}

bool set_has(const struct set *s, uint64_t vaddr)
{
	return s->v.n && bsearch(&vaddr, s->v.at, s->v.n, sizeof(vaddr), by_value);
}

size_t set_common(const struct set *a, const struct set *b, const char *what)
{
	size_t common = 0, shown = 0;

	for (size_t i = 0; i < a->v.n; i++) {
		bool in = set_has(b, a->v.at[i]);

		common += in;
		if (!in && what && shown++ < 8)
			print_message("%s: %#lx\n", what, a->v.at[i]);
	}
	return common;
}

struct set functions_of(const struct sym_module *m)
{
	struct set s = { 0 };

	for (size_t i = 0; i < m->functions.n; i++)
		if (!m->functions.at[i].plt && !m->functions.at[i].cold)
			set_add(&s, m->functions.at[i].vaddr);
	set_sort(&s);
	return s;
}
