/* SPDX-License-Identifier: MIT */
/* Makes the keys of files. The plan cache (src/hook) calls it on any thread; a file that cannot be
 * read has none. */
#include "sym/file_key.h"

#include <string.h>

#include "base/file.h"
#include "sym/debug_file.h"
#include "sym/elf_view.h"

_Static_assert(sizeof(struct file_key) == 24 + (1 + FILE_KEY_DEBUG) * sizeof(struct file_id),
	       "keys are compared as bytes");

/* ctime is in it because a program can set mtime back. */
struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){
		.device = (uint64_t)st->st_dev, .inode = (uint64_t)st->st_ino,
		.size = (uint64_t)st->st_size,
		.owner = st->st_uid, .mtime = (uint64_t)st->st_mtim.tv_sec,
		.mtime_ns = (uint64_t)st->st_mtim.tv_nsec,
		.ctime = (uint64_t)st->st_ctim.tv_sec, .ctime_ns = (uint64_t)st->st_ctim.tv_nsec,
	};
}

/* Where debug information might stand: the key changes when it is installed or removed. */
struct key_debug_files { struct file_key *key; unsigned n; };

/* False asks for the next place: all of them are wanted. A place without a file stays zeros. */
static bool stat_debug_file(void *context, const char *path, const uint32_t *crc)
{
	struct key_debug_files *p = context;
	struct stat st;

	/* More places than the key has room for are not watched; there are five. */
	(void)crc;
	if (p->n < FILE_KEY_DEBUG && file_look(path, &st))
		p->key->debug[p->n] = file_id_of(&st);
	p->n++;
	return false;
}

/* Zeros first, since keys are compared as bytes. */
bool file_key_read(int fd, const char *path, const char *root, struct file_key *out)
{
	struct key_debug_files places = { .key = out };
	struct elf_view v = { 0 };
	struct elf_file f;
	bool is;

	memset(out, 0, sizeof(*out));
	if (elf_file_read(fd, path, ELF_NOTES, &f, NULL))
		return false;
	is = elf_view_segments(&v, f.bytes, f.n, path, NULL) == 0;
	if (is) {
		/* Without one the file's id alone tells it from others. */
		out->build_id_len = elf_build_id(&v, out->build_id, sizeof(out->build_id));
		out->file = file_id_of(&f.is);
		debug_file_paths(&v, path, root, stat_debug_file, &places);
	}
	elf_view_free(&v);
	elf_file_free(&f);
	return is;
}
