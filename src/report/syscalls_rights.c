/* SPDX-License-Identifier: MIT */
/* The structures of capget and capset behind system calls' pointers, as strace writes them.
 * syscalls_structs.c calls it. No state; nothing fails. Any thread. */
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>

#include "report/syscalls_structs.h"

/* By their numbers, from 0 on. */
static const char *const capabilities[] = {
	"CHOWN",           "DAC_OVERRIDE",    "DAC_READ_SEARCH", "FOWNER",
	"FSETID",          "KILL",            "SETGID",          "SETUID",
	"SETPCAP",         "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST",
	"NET_ADMIN",       "NET_RAW",         "IPC_LOCK",        "IPC_OWNER",
	"SYS_MODULE",      "SYS_RAWIO",       "SYS_CHROOT",      "SYS_PTRACE",
	"SYS_PACCT",       "SYS_ADMIN",       "SYS_BOOT",        "SYS_NICE",
	"SYS_RESOURCE",    "SYS_TIME",        "SYS_TTY_CONFIG",  "MKNOD",
	"LEASE",           "AUDIT_WRITE",     "AUDIT_CONTROL",   "SETFCAP",
	"MAC_OVERRIDE",    "MAC_ADMIN",       "SYSLOG",          "WAKE_ALARM",
	"BLOCK_SUSPEND",   "AUDIT_READ",      "PERFMON",         "BPF",
	"CHECKPOINT_RESTORE",
};

#define CAPABILITIES (sizeof(capabilities) / sizeof(*capabilities))

/* Whose capabilities, and in which form. The version tells how many structures follow it behind the
 * other pointer. */
bool syscalls_print_rights_header(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name versions[] = {
		NAMED(_LINUX_CAPABILITY_VERSION_1), NAMED(_LINUX_CAPABILITY_VERSION_2),
		NAMED(_LINUX_CAPABILITY_VERSION_3), NAMED_END };
	struct __user_cap_header_struct h;

	if (m->n < sizeof(h))
		return false;
	memcpy(&h, m->at, sizeof(h));
	fputs("{version=", f);
	syscalls_print_name(versions, h.version, f);
	fprintf(f, ", pid=%d}", h.pid);
	return true;
}

/* strace writes the bits as shifts: capabilities are numbers (linux/capability.h), and their masks
 * have no names. A bit of a later kernel has its number. */
static void print_set(const char *name, uint64_t set, FILE *f)
{
	const char *before = "";

	fprintf(f, "%s=%s", name, set ? "" : "0");
	for (unsigned i = 0; i < 64; i++) {
		if (!(set >> i & 1))
			continue;
		if (i < CAPABILITIES)
			fprintf(f, "%s1<<CAP_%s", before, capabilities[i]);
		else
			fprintf(f, "%s1<<%u", before, i);
		before = "|";
	}
}

/* The second structure has the upper halves of the sets. Version 1 has one structure, and versions
 * 2 and 3 have two (capget(2)): as many are read as the copy has. */
bool syscalls_print_rights(const struct syscalls_memory *m, FILE *f)
{
	struct __user_cap_data_struct d[2] = { 0 };

	if (m->n < sizeof(d[0]))
		return false;
	memcpy(d, m->at, m->n < sizeof(d) ? sizeof(d[0]) : sizeof(d));
	fputc('{', f);
	print_set("effective", d[0].effective | (uint64_t)d[1].effective << 32, f);
	print_set(", permitted", d[0].permitted | (uint64_t)d[1].permitted << 32, f);
	print_set(", inheritable", d[0].inheritable | (uint64_t)d[1].inheritable << 32, f);
	fputc('}', f);
	return true;
}
