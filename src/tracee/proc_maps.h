/* SPDX-License-Identifier: MIT */
/* A reader of /proc/PID/maps for callers that look for one mapping and keep none: collect, inject
 * and tracee itself, on any thread. image/maps.h keeps them all. The traced program chooses the
 * file names. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct proc_map {
	uint64_t start, end;
	dev_t device; /* the file's, with `inode`: inode numbers repeat on other file systems */
	ino_t inode;
	bool write, exec;
	char path[64];       /* its beginning; "" if there is none */
};

/* Opens a copy of the maps of a process, or of a thread; fclose() it. NULL: errno says why
 * (ETIMEDOUT: base/apart.h). */
FILE *proc_maps_open(pid_t pid);

/* Reads the next mapping. Returns false at the end. Malformed lines are left out. */
bool proc_maps_next(FILE *f, struct proc_map *out);
