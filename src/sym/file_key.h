/* SPDX-License-Identifier: MIT */
/* Identity of a file's contents, for data that is kept after the file is closed: tells one file
 * from another, and from its own earlier state. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Only the kernel sets device, inode and ctime: writing a file, or putting another in its place,
 * changes one of them. A build-id and mtime can be copied by anybody. All zeros: there is no
 * file. */
struct file_id {
	uint64_t device, inode, size, owner;
	uint64_t mtime, mtime_ns, ctime, ctime_ns;
};

#define FILE_KEY_DEBUG 5 /* places where its debug file may be (sym/debug_file.h) */

/* Everything on which functions, names and code of a program or library depend. No padding: keys
 * may be compared as bytes. */
struct file_key {
	uint8_t build_id[20];
	uint8_t build_id_len;  /* 0: it has none */
	uint8_t unused[3];
	struct file_id file;
	/* Files at these places: names come from one of them if the file has none. */
	struct file_id debug[FILE_KEY_DEBUG];
};

/* Returns the identity from a stat() of the file. */
struct file_id file_id_of(const struct stat *st);

/* Makes the key of an open file, which path names below root (sym_open_fd). False: it is no ELF
 * file that can be read; sym_open_fd() then says why. */
bool file_key_read(int fd, const char *path, const char *root, struct file_key *out);
