/* SPDX-License-Identifier: MIT */
/* Keys and files of the plan cache, for module.c and module_cache.c; any thread. A file is used
 * only if its whole key is stored in it: a hash alone could be fitted by a forger. Directories
 * and files of other users are never entered. If anything fails there is no cache, and the file
 * is planned. */
#include "hook/cache_path.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/write_all.h"
#include "hook/cache_prune.h"
#include "sym/elf_view.h"

#define BLOCK_MOST (1 << 30)
#define HUGE_PAGE ((size_t)2 << 20)

/* --- the key ---------------------------------------------------------------- */

/* Puts brace's own build-id into the key, from its notes in memory. */
static int own_notes(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cache_key *key = arg;
	const uint8_t *id = NULL;
	size_t n = 0;

	for (int i = 0; i < info->dlpi_phnum && !id; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const void *at = (const void *)(info->dlpi_addr + p->p_vaddr);

		if (p->p_type == PT_NOTE)
			id = elf_gnu_note_in(cursor_of(at, p->p_memsz), NT_GNU_BUILD_ID, &n);
	}
	if (id)
		memcpy(key->brace, id, n < sizeof(key->brace) ? n : sizeof(key->brace));
	return 1; /* the program itself comes first; libraries are not looked at */
}

/* A plan made by another build of brace may differ, so brace's own build-id is part of the key. */
bool cache_key_of(int fd, const char *path, const char *root, struct cache_key *out)
{
	memset(out, 0, sizeof(*out));
	out->entry_bytes = sizeof(struct hook_plan_entry);
	dl_iterate_phdr(own_notes, out);
	return file_key_read(fd, path, root, &out->file);
}

/* --- the directory ---------------------------------------------------------------- */

/* True if only the user (and root) can write it. */
static bool only_user_writes(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Opens a directory only if it is the user's own: another user could lead us anywhere. */
static int open_own(int at, const char *name, int flags)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid())) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Opens the directory of XDG_CACHE_HOME or HOME, if it is the user's own: sudo may leave root
 * another user's. */
static int open_base(bool make)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int in, fd;

	if (xdg && xdg[0] == '/') {
		if (make)
			mkdir(xdg, 0700);
		return open_own(AT_FDCWD, xdg, 0);
	}
	in = home && home[0] == '/' ? open_own(AT_FDCWD, home, 0) : -1;
	if (in < 0)
		return -1;
	if (make)
		mkdirat(in, ".cache", 0700);
	fd = open_own(in, ".cache", 0);
	close(in);
	return fd;
}

/* Opens brace's cache directory, made if need be; -1: there can be none. */
static int open_directory(bool make)
{
	int base = open_base(make), fd;

	if (base < 0)
		return -1;
	if (make)
		mkdirat(base, "brace", 0700);
	fd = open_own(base, "brace", O_NOFOLLOW);
	close(base);
	if (fd >= 0 && !only_user_writes(fd, S_IFDIR)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Returns the file's name in the cache: the build-id, for people, and a hash of the whole key.
 * free() it. */
static char *cache_file_name(const struct cache_key *key)
{
	const struct file_key *f = &key->file;
	char id[41] = "file";

	for (unsigned i = 0; i < f->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", f->build_id[i]);
	return mem_printf("%s-%016llx", id, (unsigned long long)cache_hash(0, key, sizeof(*key)));
}

/* Reads a copy: another process may change the file after it was checked. */
static uint8_t *read_block(int fd, size_t *n)
{
	uint8_t *bytes;
	struct stat st;

	if (!only_user_writes(fd, S_IFREG) || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    st.st_size > BLOCK_MOST)
		return NULL;
	*n = (size_t)st.st_size;
	bytes = aligned_alloc(HUGE_PAGE, (*n + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	if (bytes)
		madvise(bytes, *n, MADV_HUGEPAGE); /* page faults would take longer than the copy */
	if (bytes && read(fd, bytes, *n) == (ssize_t)*n)
		return bytes;
	free(bytes);
	return NULL;
}

/* The caller frees the block, and checks it (cache_file_read): only its place is trusted. */
uint8_t *cache_fetch(const struct cache_key *key, size_t *n)
{
	int dir = open_directory(false), fd;
	char *name = cache_file_name(key);
	uint8_t *bytes = NULL;

	/* O_NONBLOCK: a FIFO of that name must not stop us. */
	fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		bytes = read_block(fd, n);
		close(fd);
	}
	if (dir >= 0)
		close(dir);
	free(name);
	return bytes;
}

/* The file is complete before it gets its name, so a reader never sees half of it. */
void cache_store(const struct cache_key *key, const uint8_t *bytes, size_t n)
{
	int dir = open_directory(true), fd;
	char *name = cache_file_name(key), *temporary = mem_printf(".%s.%d", name, (int)getpid());

	fd = dir < 0 ? -1 : openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool ok = write_all(fd, bytes, n) == 0;

		ok = close(fd) == 0 && ok;
		if (!ok || renameat(dir, temporary, dir, name) < 0)
			unlinkat(dir, temporary, 0);
		cache_prune(dir);
	}
	if (dir >= 0)
		close(dir);
	free(name);
	free(temporary);
}
