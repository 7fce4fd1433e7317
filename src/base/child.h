/* SPDX-License-Identifier: MIT */
/* A child process: its output, and its end. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/stop.h"

/* The bytes that a child wrote. */
struct child_output {
	char *text;  /* free() it; a NUL stands behind the bytes */
	size_t n;    /* more than were asked for if there were more */
	bool stopped; /* stop was asked: the rest has not been read */
};

/* Reads from a pipe to its end, or until there are more than `most` bytes, or until a signal's
 * handler asks stop (NULL: nothing stops it). An error of the pipe is its end. */
struct child_output child_read(int fd, size_t most, const struct stop *stop);
/* Waits for the child's end, whatever signals come. Its status as waitpid()'s; -1: there is no such
 * child. */
int child_wait(pid_t pid);
