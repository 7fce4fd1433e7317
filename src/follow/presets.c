/* SPDX-License-Identifier: MIT */
/* Two tables. Kernels differ: an end that a kernel does not have, or that cannot be traced in it,
 * ends nothing. Called on brace's thread. */
#include "follow/presets.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define DESCRIPTOR_MOST 0x7fffffu

static const char *const none[] = { NULL };

/* Where the memory of an object goes: no function sees it afterwards. */
static const struct { const char *type; const char *ends[12]; } usual_ends[] = {
	{ "sk_buff", { "kfree_skbmem", "napi_skb_cache_put", "kfree_skb_partial" } },
	{ "inode", { "free_inode_nonrcu", "ext4_free_in_core_inode", "shmem_free_in_core_inode",
		     "proc_free_inode", "sock_free_inode", "btrfs_free_inode",
		     "xfs_fs_destroy_inode", "bio_free", "bio_uninit", "__blk_mq_free_request" } },
	{ "file", { "security_file_free" } },
	{ "dentry", { "dentry_free" } },
	{ "task_struct", { "free_task" } },
	{ "sock", { "sk_prot_free", "security_sk_free" } },
	{ "socket", { "__sock_release" } },
	{ "bio", { "bio_free", "bio_uninit", "__blk_mq_free_request" } },
	{ "request", { "__blk_mq_free_request" } },
};

/* The device of the superblock that is mounted there. stat() tells another one where a file system
 * makes devices of its own: for each subvolume (btrfs), for each layer (overlayfs). */
static bool find_superblock(uint64_t mount, unsigned *major, unsigned *minor)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (f && !found && getline(&line, &room, f) > 0)
		found = follow_preset_mount(line, mount, major, minor);
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* "ID PARENT MAJOR:MINOR ROOT ..." */
bool follow_preset_mount(const char *line, uint64_t mount, unsigned *major, unsigned *minor)
{
	unsigned long long id;

	return sscanf(line, "%llu %*u %u:%u", &id, major, minor) == 3 && id == mount;
}

/* The kernel's number of a device has 20 bits for the minor one. */
static char *of_file(const char *path, struct err *err)
{
	struct statx s;
	unsigned major, minor;

	if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_MNT_ID, &s) < 0) {
		err_set(err, errno, "cannot follow the file %s: %s", path, strerror(errno));
		return NULL;
	}
	if (!(s.stx_mask & STATX_MNT_ID) || !find_superblock(s.stx_mnt_id, &major, &minor)) {
		major = s.stx_dev_major;
		minor = s.stx_dev_minor;
	}
	return mem_printf("struct inode.i_ino==%llu && i_sb->s_dev==%llu",
			  (unsigned long long)s.stx_ino, (unsigned long long)major << 20 | minor);
}

/* A mark, which iptables and SO_MARK set, is a number; anything else is an expression of pcap,
 * which follow_preset_read() keeps. */
static char *of_packet(const char *mark, struct err *err)
{
	return isdigit((unsigned char)*mark) ? mem_printf("struct sk_buff.mark==%s", mark)
					     : mem_strdup("struct sk_buff");
}

static char *of_task(const char *pid, struct err *err)
{
	return mem_printf("struct task_struct.pid==%s", pid);
}

/* skc_num is the local port, in the machine's order. */
static char *of_connection(const char *port, struct err *err)
{
	return mem_printf("struct sock.__sk_common.skc_num==%s", port);
}

/* A descriptor's file, or its socket and packets: by the processes' own tables, which the BPF
 * program reads. */
static char *of_descriptor(const char *number, struct err *err)
{
	return mem_strdup("struct file");
}

/* False: it is no number of a descriptor. */
static bool read_descriptor(const char *text, int *out)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)*text))
		return false;
	n = strtoul(text, &end, 10);
	*out = (int)n;
	return !*end && n <= DESCRIPTOR_MOST;
}

/* Only a program's addresses: those of the kernel have the highest bit. */
static bool read_buffer(const char *text, uint64_t *from, uint64_t *bytes)
{
	char *end;

	*bytes = 1;
	if (!isdigit((unsigned char)*text))
		return false;
	*from = strtoull(text, &end, 0);
	if (*end == '+' && isdigit((unsigned char)end[1]))
		*bytes = strtoull(end + 1, &end, 0);
	return !*end && *from && *bytes && *from < 1ull << 63 && *bytes < 1ull << 63;
}

/* The bytes that a program passes to a system call: what copies them is handed on by iterators. */
static char *of_buffer(const char *address, struct err *err)
{
	return mem_strdup("struct iov_iter");
}

static const struct { const char *name; char *(*make)(const char *value, struct err *err); }
names[] = {
	{ "file", of_file }, { "packet", of_packet }, { "task", of_task },
	{ "connection", of_connection }, { "fd", of_descriptor }, { "buffer", of_buffer },
};

/* A text that is no preset is the user's own expression. `packet` alone is all packets. */
int follow_preset_read(const char *text, struct follow_preset *out, struct err *err)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	*out = (struct follow_preset){ .said = text, .ends = none, .descriptor = -1 };
	for (size_t i = 0; colon && i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i].name) != n || memcmp(names[i].name, text, n))
			continue;
		if (names[i].make == of_descriptor && !read_descriptor(colon + 1, &out->descriptor))
			return err_at(err, EINVAL, text, n + 1,
				      "fd: takes the number of a descriptor: fd:17");
		if (names[i].make == of_buffer &&
		    !read_buffer(colon + 1, &out->buffer, &out->buffer_bytes))
			return err_at(err, EINVAL, text, n + 1,
				      "buffer: takes an address of the program, and how many bytes from there on: buffer:0x7f0012345000+64");
		if (names[i].make == of_packet && !isdigit((unsigned char)colon[1]))
			out->filter = colon + 1;
		out->text = names[i].make(colon + 1, err);
		return out->text ? 0 : -err->code;
	}
	out->text = mem_strdup(strcmp(text, "packet") ? text : "struct sk_buff");
	return 0;
}

/* The caret stands at the same byte of the value where the expression ends in it (a mark, a port),
 * else at the value's beginning: the user wrote no more than it. */
void follow_preset_blame(const struct follow_preset *p, struct err *err)
{
	const char *colon = strchr(p->said, ':'), *value = colon ? colon + 1 : p->said;
	size_t made = p->text ? strlen(p->text) : 0, n = strlen(value), into = 0;

	if (!made || !strcmp(p->said, p->text) ||
	    strncmp(err->input, p->text, sizeof(err->input) - 1))
		return;
	if (made >= n && !strcmp(p->text + made - n, value) && err->column > made - n)
		into = err->column - (made - n);
	snprintf(err->input, sizeof(err->input), "%s", p->said);
	err->column = (size_t)(value - p->said) + into;
}

/* Functions that end the objects behind a descriptor. */
static const char *const descriptor_ends[] = {
	"security_file_free", "__sock_release", "sk_prot_free", "security_sk_free", "kfree_skbmem",
	"napi_skb_cache_put", "kfree_skb_partial", NULL,
};

/* Functions that end copies of a buffer: packets, and folios, whose memory goes away or is no
 * longer the file's. Where several folios are freed at once none takes one of them. */
static const char *const copy_ends[] = {
	"kfree_skbmem", "napi_skb_cache_put", "kfree_skb_partial", "__folio_put", "free_unref_page", "filemap_free_folio",
	"__filemap_remove_folio", "truncate_cleanup_folio", NULL,
};

/* Types without a row have no usual end: their objects live to the end of the run. */
void follow_preset_ends(struct follow_preset *p, const char *type)
{
	for (size_t i = 0; i < sizeof(usual_ends) / sizeof(*usual_ends); i++)
		if (!strcmp(usual_ends[i].type, type))
			p->ends = usual_ends[i].ends;
	if (p->descriptor >= 0)
		p->ends = descriptor_ends;
	if (p->buffer_bytes)
		p->ends = copy_ends;
}

/* Whether a function that returns this type made the object from the one that it was given. Some
 * types are exceptions: their functions return another one, the task that runs next or the request
 * beside it. */
bool follow_preset_gives(const char *type)
{
	return strcmp(type, "task_struct") && strcmp(type, "request");
}

const char *follow_kind_name(enum follow_kind kind)
{
	static const char *const names_of[FOLLOW_KINDS_N] = {
		[FOLLOW_FILE] = "file", [FOLLOW_SOCKET] = "socket", [FOLLOW_SOCK] = "sock",
		[FOLLOW_PACKET] = "sk_buff", [FOLLOW_TRANSFER] = "kiocb",
		[FOLLOW_INODE] = "inode",
		[FOLLOW_BYTES] = "bytes", [FOLLOW_ITERATOR] = "iov_iter", [FOLLOW_MESSAGE] = "msghdr",
		[FOLLOW_PAGE] = "page", [FOLLOW_FOLIO] = "folio",
		[FOLLOW_BIO] = "bio", [FOLLOW_REQUEST] = "request",
	};

	return kind < FOLLOW_KINDS_N ? names_of[kind] : NULL;
}

void follow_preset_free(struct follow_preset *p)
{
	free(p->text);
}
