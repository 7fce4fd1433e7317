#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "golden.h"
#include "tree/error_log.h"

const char *const golden_kernels[3] = { "k6.12-debian", "k6.12-own", "k7.2-own" };

static char *read_file(const char *name)
{
	char *path = mem_printf("%s/%s", GOLDEN, name);
	FILE *f = fopen(path, "r");
	VEC(char) text = { 0 };
	int c;

	if (!f)
		fail_msg("%s is not there", path);
	while ((c = getc(f)) != EOF)
		*vec_add(&text) = (char)c;
	fclose(f);
	free(path);
	*vec_add(&text) = '\0';
	return text.at;
}

char *golden_read(const char *kernel, const char *name)
{
	char *file = mem_printf("%s.%s.txt", kernel, name), *text = read_file(file);

	free(file);
	return text;
}

unsigned golden_each(const char *part, void (*f)(const char *name, const char *text))
{
	DIR *d = opendir(GOLDEN);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char *text;

		if (!strstr(e->d_name, part))
			continue;
		text = read_file(e->d_name);
		f(e->d_name, text);
		free(text);
		n++;
	}
	closedir(d);
	return n;
}

void golden_same(const char *what, const char *got, const char *want)
{
	size_t line = 0, i = 0;

	if (!strcmp(want, got))
		return;
	for (; want[i] && want[i] == got[i]; i++)
		if (want[i] == '\n')
			line = i + 1;
	fail_msg("%s\n  want: %.*s\n  got:  %.*s", what, (int)strcspn(want + line, "\n"), want + line,
		 (int)strcspn(got + line, "\n"), got + line);
}

struct event_format *golden_event(const char *kernel, const char *system, const char *name)
{
	char *file = mem_printf("init.events.%s.%s.format", system, name), *text = golden_read(kernel, file);
	struct err err = { 0 };
	struct event_format *e = event_format_parse(text, strlen(text), system, &err);

	if (!e)
		fail_msg("%s: %s", file, err.text);
	free(file);
	free(text);
	return e;
}

static int append(void *arg, const char *bytes, size_t n)
{
	char **text = arg, *longer = mem_printf("%s%.*s", *text, (int)n, bytes);

	free(*text);
	*text = longer;
	return 0;
}

char *golden_log(const struct filter_fault *f, uint64_t ns)
{
	char *text = mem_strdup("");
	struct error_log log;
	struct out out;

	error_log_init(&log);
	out_init(&out, append, &text);
	error_log_add(&log, ns, FILTER_FAULT_LOCATION, filter_error_text[f->error], f->text, f->length, f->position);
	error_log_show(&log, &out);
	out_flush(&out);
	out_free(&out);
	error_log_free(&log);
	return text;
}
