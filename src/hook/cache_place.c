/* Keys and files of the cache. A key holds the build-id and a hash of what else must be the
 * same: the file's size and first page (tools that edit a program keep its build-id, but change its
 * headers), the separate debug file that names come from, and brace itself. A file without
 * build-id is known by its inode and times instead. */
#include "hook/cache_place.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "hook/cache_prune.h"

#define HEAD 4096
#define NOTES_MAX 65536
#define BLOCK_MOST (1 << 30)
#define TRUSTED_ID 8   /* bytes: shorter ones were not made by hashing */

/* --- notes ---------------------------------------------------------------- */

static void find_build_id(struct cursor c, uint8_t *id, uint8_t *len)
{
	while (cursor_left(&c) >= sizeof(Elf64_Nhdr) && !c.bad) {
		uint32_t name_n = cursor_u32(&c), desc_n = cursor_u32(&c), type = cursor_u32(&c);
		const char *name = cursor_bytes(&c, ((uint64_t)name_n + 3) & ~UINT64_C(3));
		const uint8_t *desc = cursor_bytes(&c, desc_n);

		if (name && desc && type == NT_GNU_BUILD_ID && name_n == 4 &&
		    memcmp(name, "GNU", 4) == 0) {
			*len = desc_n < 20 ? (uint8_t)desc_n : 20;
			memcpy(id, desc, *len);
			return;
		}
		cursor_bytes(&c, -desc_n & 3);
	}
}

static int own_notes(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cache_key *own = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_NOTE && !own->build_id_len)
			find_build_id(cursor_of((void *)(info->dlpi_addr + p->p_vaddr), p->p_memsz),
				      own->build_id, &own->build_id_len);
	}
	return 1; /* the program itself comes first */
}

/* A plan made by another build of brace may be another plan. */
static uint64_t own_identity(void)
{
	struct cache_key own = { 0 };

	dl_iterate_phdr(own_notes, &own);
	return cache_hash(sizeof(struct hook_plan_entry), own.build_id, sizeof(own.build_id));
}

/* --- the key ---------------------------------------------------------------- */

static void read_notes(int fd, const uint8_t *head, size_t n, struct cache_key *out)
{
	Elf64_Ehdr eh;

	memcpy(&eh, head, sizeof(eh));
	for (unsigned i = 0;
	     i < eh.e_phnum && eh.e_phentsize == sizeof(Elf64_Phdr) && !out->build_id_len; i++) {
		uint64_t at = eh.e_phoff + i * sizeof(Elf64_Phdr);
		uint8_t *notes;
		Elf64_Phdr p;
		ssize_t got;

		if (at > n || n - at < sizeof(p))
			return;
		memcpy(&p, head + at, sizeof(p));
		if (p.p_type != PT_NOTE || p.p_filesz > NOTES_MAX)
			continue;
		notes = mem_zalloc(p.p_filesz + 1);
		got = pread(fd, notes, p.p_filesz, (off_t)p.p_offset);
		find_build_id(cursor_of(notes, got > 0 ? (size_t)got : 0), out->build_id,
			      &out->build_id_len);
		free(notes);
	}
}

static uint64_t hash_stat(uint64_t h, const struct stat *st)
{
	const uint64_t words[] = { (uint64_t)st->st_dev, (uint64_t)st->st_ino,
				   (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
				   (uint64_t)st->st_mtim.tv_nsec };

	return cache_hash(h, words, sizeof(words));
}

/* Names come from a debug file, which may be installed later. */
static uint64_t hash_debug_file(uint64_t h, const struct cache_key *key)
{
	char name[128];
	struct stat st;
	int n = snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%02x/", key->build_id[0]);

	for (unsigned i = 1; i < key->build_id_len; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", key->build_id[i]);
	snprintf(name + n, sizeof(name) - (size_t)n, ".debug");
	return stat(name, &st) == 0 ? hash_stat(h, &st) : h;
}

bool cache_key_of(int fd, struct cache_key *out)
{
	uint8_t head[HEAD] = { 0 };
	struct stat st;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	n = pread(fd, head, sizeof(head), 0);
	if (n < (ssize_t)sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0 ||
	    head[EI_CLASS] != ELFCLASS64)
		return false;
	read_notes(fd, head, (size_t)n, out);
	out->identity = cache_hash(own_identity() + (uint64_t)st.st_size, head, (size_t)n);
	out->identity = hash_debug_file(out->identity, out);
	if (out->build_id_len < TRUSTED_ID)
		out->identity = hash_stat(out->identity, &st);
	return true;
}

/* --- the directory ---------------------------------------------------------------- */

static bool is_ours(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The directory, made if need be; -1: there can be none. */
static int open_directory(bool make)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *base, *dir;
	int fd;

	if (xdg && xdg[0] == '/')
		base = mem_strdup(xdg);
	else if (home && home[0] == '/')
		base = mem_printf("%s/.cache", home);
	else
		return -1;
	dir = mem_printf("%s/brace", base);
	if (make) {
		mkdir(base, 0700);
		mkdir(dir, 0700);
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !is_ours(fd, S_IFDIR)) {
		close(fd);
		fd = -1;
	}
	free(base);
	free(dir);
	return fd;
}

static char *name_of(const struct cache_key *key)
{
	char id[41] = "file";

	for (unsigned i = 0; i < key->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", key->build_id[i]);
	return mem_printf("%s-%016llx", id, (unsigned long long)key->identity);
}

/* A copy: what another brace does to the file does not reach what was checked. */
static uint8_t *read_block(int fd, size_t *n)
{
	uint8_t *bytes;
	struct stat st;

	if (!is_ours(fd, S_IFREG) || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > BLOCK_MOST)
		return NULL;
	*n = (size_t)st.st_size;
	bytes = malloc(*n);
	if (bytes && read(fd, bytes, *n) == (ssize_t)*n)
		return bytes;
	free(bytes);
	return NULL;
}

uint8_t *cache_fetch(const struct cache_key *key, size_t *n)
{
	int dir = open_directory(false), fd;
	char *name = name_of(key);
	uint8_t *bytes = NULL;

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

static bool write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t w = write(fd, bytes, n);

		if (w <= 0)
			return false;
		bytes += w;
		n -= (size_t)w;
	}
	return true;
}

/* Complete before it has its name: a reader never sees half of it. */
void cache_store(const struct cache_key *key, const uint8_t *bytes, size_t n)
{
	int dir = open_directory(true), fd;
	char *name = name_of(key), *temporary = mem_printf(".%s.%d", name, (int)getpid());

	fd = dir < 0 ? -1 : openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool ok = write_all(fd, bytes, n);

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
