#include "ui/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

int say_error(const struct err *err)
{
	say("brace: %s\n", err->text);
	if (err->input[0])
		say("  %s\n  %*s^\n", err->input, (int)err->column, "");
	return EXIT_BRACE;
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	fputs("brace: warning: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int say_start_error(const struct err *err)
{
	static const struct { int code, status; } table[] = {
		{ ENOENT, EXIT_NOT_FOUND },	 { ENOTDIR, EXIT_NOT_FOUND },
		{ EACCES, EXIT_NOT_EXECUTABLE }, { ENOEXEC, EXIT_NOT_EXECUTABLE },
	};

	say_error(err);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].code == err->code)
			return table[i].status;
	return EXIT_BRACE;
}
