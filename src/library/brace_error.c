/* SPDX-License-Identifier: MIT */
/* libbrace's errors, one a thread, and the wall that keeps a want of memory from ending the host's
 * process. Programs call it on any thread. */
#include <errno.h>
#include <string.h>

#include "library/library.h"

static _Thread_local struct err last;

const char *brace_version(void)
{
	return LIBRARY_VERSION;
}

/* Valid until the thread's next call that fails. */
const char *brace_error(void)
{
	return last.text;
}

/* The text at fault is the library's copy, since the caller's may be gone by the time it asks.
 * column counts bytes from 0. */
const char *brace_error_input(size_t *column)
{
	if (column)
		*column = last.column;
	return last.input;
}

struct err *library_error(void)
{
	return &last;
}

/* For objects whose data a failed allocation has left half changed: every later question of them
 * ends so. */
int library_broken(void)
{
	return err_set(&last, ENOMEM, MEM_NONE);
}

/* A want of memory leaves no sentence behind, while what() that fails has set its own. The want
 * of memory is a jump out of what() (base/mem.h), which may have left anything half done: *broken
 * is set in that case alone. */
int library_try(int (*what)(void *arg), void *arg, bool *broken)
{
	int r;

	last.code = 0;
	r = mem_try(what, arg);
	if (r != -ENOMEM || last.code)
		return r;
	if (broken)
		*broken = true;
	return library_broken();
}

/* Structs of options begin with their size, as the caller's header had it. Members that this
 * library does not know have to be zero: an option that is ignored silently would give wrong
 * answers. */
int library_options(void *to, size_t size, const void *from)
{
	size_t given;

	memset(to, 0, size);
	if (!from)
		return 0;
	memcpy(&given, from, sizeof(given));
	if (given < sizeof(given))
		return err_set(&last, EINVAL, "the member `size` of a struct is not set");
	memcpy(to, from, given < size ? given : size);
	for (size_t i = size; i < given; i++)
		if (((const char *)from)[i])
			return err_set(&last, EINVAL,
				       "a member of a struct is set that libbrace %s does not know",
				       LIBRARY_VERSION);
	return 0;
}
