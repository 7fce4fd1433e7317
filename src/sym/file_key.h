/* SPDX-License-Identifier: MIT */
/* What tells one file from another, and a file from what it was: for what is kept of a file after it is closed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Nobody but the kernel sets device, inode and ctime: who writes a file, or puts another in its place, changes one of them. A
 * build-id and mtime anybody can copy. All zeros: there is no file. */
struct file_id {
	uint64_t device, inode, size, owner;
	uint64_t mtime, mtime_ns, ctime, ctime_ns;
};

#define FILE_KEY_DEBUG 5 /* places where its debug file may be (sym/debug_file.h) */

/* Everything that functions, names and code of a program or library depend on. No padding: keys may be compared as bytes. */
struct file_key {
	uint8_t build_id[20];
	uint8_t build_id_len;  /* 0: it has none */
	uint8_t unused[3];
	struct file_id file;
	struct file_id debug[FILE_KEY_DEBUG]; /* whatever stands there: names come from it if the file has none */
};

struct file_id file_id_of(const struct stat *st);

/* The key of an open file, which path names below root (sym_open_fd). False: it is no ELF file that can be read; then sym_open_fd says why. */
bool file_key_read(int fd, const char *path, const char *root, struct file_key *out);
