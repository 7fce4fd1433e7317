/* SPDX-License-Identifier: MIT */
/* Decides whether a program that is about to be executed can be traced: the file's format, its
 * loader, set-uid bits and capabilities, scripts' interpreters, and what the agent needs at the
 * start. exec.c asks, on the calling thread, perhaps in a child of vfork: nothing but the stack is
 * written. In doubt the answer is yes, and the kernel decides. */
#include "agent/untraced.h"

#include <asm/stat.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "arch/elf.h"

#define AT_EMPTY_PATH 0x1000
#define SCRIPT_LEVELS 5 /* the kernel's limit */
#define S_ISUID 04000
#define S_ISGID 02000
#define S_IXGRP 00010
#define UNTRACED_DESCRIPTOR (-101) /* the path is one of /proc/self/fd, so no directory is needed */
#define HEAD 1024
#define SCRIPT_PATH 256 /* the kernel reads no more */

union head { Elf64_Ehdr eh; char bytes[HEAD]; };

static const char *agent_file;
static uint64_t network; /* namespace of the tracer's socket; 0 = not known */

uint64_t untraced_namespace_number(const char *path)
{
	struct stat st;

	return inside_stat(path, &st) < 0 ? 0 : st.st_ino;
}

static uint64_t network_namespace(void)
{
	return untraced_namespace_number("/proc/self/ns/net");
}

void untraced_begin(const char *agent_path)
{
	agent_file = agent_path;
	network = agent_forbids(NEED_EXEC) ? 0 : network_namespace();
}

/* --- names ----------------------------------------------------------------------------------- */

/* Takes the path's last component, cut to a message's room; slashes at the path's end do not
 * count. */
static void take_name(char *name, const char *path)
{
	const char *last = path;
	unsigned i = 0;

	for (; *path; path++)
		if (*path == '/' && path[1] && path[1] != '/')
			last = path + 1;
	for (; i < MESSAGE_NAME - 1 && last[i] && last[i] != '/'; i++)
		name[i] = last[i];
	for (; i < MESSAGE_NAME; i++)
		name[i] = 0;
}

/* A descriptor's path says nothing, so its target's name is taken. */
static void take_file_name(char *name, const char *path, int directory)
{
	char target[SCRIPT_PATH];
	long n = directory == UNTRACED_DESCRIPTOR
			 ? inside_readlink(path, target, sizeof(target) - 1)
			 : -1;

	if (n < 0) {
		take_name(name, path);
		return;
	}
	target[n] = 0;
	take_name(name, target);
}

/* Writes the path by hand: the agent has no snprintf(). */
static void descriptor_path(int fd, char *out)
{
	static const char prefix[] = "/proc/self/fd/";
	char digits[12];
	unsigned n = 0, at = sizeof(prefix) - 1;

	for (unsigned i = 0; i < at; i++)
		out[i] = prefix[i];
	do {
		digits[n++] = (char)('0' + fd % 10);
	} while ((fd /= 10) > 0);
	while (n)
		out[at++] = digits[--n];
	out[at] = 0;
}

/* --- one file -------------------------------------------------------------------------------- */

/* True if the kernel will set AT_SECURE, which makes the loader drop the agent: the new effective
 * user is not the old real one. Bits of the file do not count with no_new_privs. */
static bool changes_user(const struct stat *st)
{
	bool bits = sys5(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
	uint32_t uid = (uint32_t)sys0(__NR_geteuid), gid = (uint32_t)sys0(__NR_getegid);

	if (bits && st->st_mode & S_ISUID)
		uid = st->st_uid;
	if (bits && (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		gid = st->st_gid;
	return uid != (uint32_t)sys0(__NR_getuid) || gid != (uint32_t)sys0(__NR_getgid);
}

/* A file's capabilities make the kernel set AT_SECURE, but not for root and not with
 * no_new_privs. */
static bool gains_capabilities(int fd)
{
	return sys0(__NR_getuid) != 0 &&
	       sys4(__NR_fgetxattr, fd, "security.capability", 0, 0) > 0 &&
	       sys5(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

/* Only glibc's loader heeds LD_PRELOAD, by which the agent comes. */
static enum message_kind loader_kind(int fd, const Elf64_Phdr *ph)
{
	char path[SCRIPT_PATH];
	long n = sys4(__NR_pread64, fd, path,
		      ph->p_filesz < sizeof(path) ? ph->p_filesz : sizeof(path) - 1, ph->p_offset);

	if (n <= 0)
		return MESSAGE_NONE; /* not executable: the kernel will say so */
	path[n] = 0;
	return agent_string_contains(path, "ld-linux") ? MESSAGE_NONE : MESSAGE_LOADER;
}

/* A loader that is executed by its name has no loader itself. */
static enum message_kind kind_by_loader(int fd, const Elf64_Ehdr *eh, const char *name)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		if (sys4(__NR_pread64, fd, &ph, sizeof(ph), eh->e_phoff + i * sizeof(ph)) !=
		    sizeof(ph))
			return MESSAGE_NONE;
		if (ph.p_type == PT_INTERP)
			return loader_kind(fd, &ph);
	}
	if (agent_string_contains(name, "ld-musl"))
		return MESSAGE_LOADER;
	return agent_string_contains(name, "ld-linux") || agent_string_contains(name, "ld.so")
		       ? MESSAGE_NONE
		       : MESSAGE_STATIC;
}

static enum message_kind elf_kind(int fd, const Elf64_Ehdr *eh, const char *name)
{
	/* A 32-bit program has other headers: nothing behind e_ident may be read as 64-bit ones. */
	if (eh->e_ident[EI_CLASS] == ELFCLASS32)
		return MESSAGE_32BIT;
	if (eh->e_machine != ELF_MACHINE)
		return MESSAGE_MACHINE;
	return kind_by_loader(fd, eh, name);
}

static bool is_elf(const union head *h, long n)
{
	return n >= (long)sizeof(h->eh) && h->eh.e_ident[0] == ELFMAG0 &&
	       h->eh.e_ident[1] == ELFMAG1 && h->eh.e_ident[2] == ELFMAG2 &&
	       h->eh.e_ident[3] == ELFMAG3;
}

static bool file_kind(int fd, const union head *h, const char *name, enum message_kind *kind)
{
	struct stat st;

	if (sys2(__NR_fstat, fd, &st) < 0)
		return false;
	*kind = elf_kind(fd, &h->eh, name);
	if (!*kind && changes_user(&st))
		*kind = MESSAGE_SETUID;
	if (!*kind && gains_capabilities(fd))
		*kind = MESSAGE_CAPABILITIES;
	return true;
}

/* "#! /path arg" -> the path (SCRIPT_PATH bytes); false if this is no script. */
static bool read_interpreter(const union head *h, long n, char *to)
{
	const char *c = h->bytes, *end = c + n;
	char *begin = to, *last = to + SCRIPT_PATH - 1;

	if (n < 3 || c[0] != '#' || c[1] != '!')
		return false;
	for (c += 2; c < end && (*c == ' ' || *c == '\t');)
		c++;
	while (c < end && to < last && *c && *c != ' ' && *c != '\t' && *c != '\n')
		*to++ = *c++;
	*to = 0;
	return to > begin;
}

/* Follows scripts to the file that the kernel will load in the end, and judges that. */
static enum message_kind look_at_file(int directory, const char *path, char *name)
{
	enum message_kind kind = MESSAGE_NONE;
	union head h;
	char next[SCRIPT_PATH];
	bool script = true;

	for (int level = 0; level < SCRIPT_LEVELS && script; level++) {
		long fd = sys4(__NR_openat, directory, path, 02000000 /* O_CLOEXEC */, 0), n;

		if (fd < 0)
			return MESSAGE_NONE;
		n = sys4(__NR_pread64, fd, &h, HEAD - 1, 0);
		script = false;
		if (is_elf(&h, n)) {
			take_file_name(name, path, directory);
			file_kind((int)fd, &h, name, &kind);
		} else if (read_interpreter(&h, n, next)) {
			script = true;
		}
		sys1(__NR_close, fd);
		path = next;
		/* A script's interpreter is looked up from the current directory, as the kernel
		 * does. */
		directory = UNTRACED_CWD;
	}
	return kind;
}

/* --- the process ------------------------------------------------------------------------------ */

/* Whether the new program will find the agent's file and the tracer's socket, whatever it is
 * itself. */
static enum message_kind place_kind(void)
{
	if (agent_forbids(NEED_START))
		return MESSAGE_FILTERED;
	if (inside_access(agent_file, 4 /* R_OK */) < 0)
		return MESSAGE_ROOT;
	if (network && network_namespace() && network_namespace() != network)
		return MESSAGE_NETWORK;
	return MESSAGE_NONE;
}

enum message_kind untraced_kind(int directory, const char *path, uint32_t flags, char *name)
{
	char descriptor[32];
	enum message_kind kind;

	take_name(name, "");
	/* A process that may not look at the file can at least know that the agent could not
	 * start. */
	if (agent_forbids(NEED_EXEC))
		return agent_forbids(NEED_START) ? MESSAGE_FILTERED : MESSAGE_NONE;
	if (flags & AT_EMPTY_PATH && directory >= 0) {
		descriptor_path(directory, descriptor);
		path = descriptor;
		directory = UNTRACED_DESCRIPTOR;
	}
	if (sys4(__NR_faccessat, directory, path, 1 /* X_OK */, 0) < 0)
		return MESSAGE_NONE;
	kind = look_at_file(directory, path, name);
	return kind ? kind : place_kind();
}
