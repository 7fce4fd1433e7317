/* SPDX-License-Identifier: MIT */
/* Reads /proc and uname, without a lock, on any thread: each plan describes its image. Nothing
 * fails: an unknown text is "" or "unknown". */
#include "image/describe.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/apart.h"

/* The caller frees it. Only x86's /proc/cpuinfo is sure to have "model name"; on others the text is
 * "unknown". */
static char *cpu_model(void)
{
	char line[256], *name = NULL;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && !name && fgets(line, sizeof(line), f))
		/* "model name\t: TEXT" */
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
			name = mem_strndup(strchr(line, ':') + 2,
					   strcspn(strchr(line, ':') + 2, "\n"));
	if (f)
		fclose(f);
	return name ? name : mem_strdup("unknown");
}

struct trace_info *describe(char *cmdline, const char *tracer, uint64_t thresh_ns)
{
	struct trace_info *info = trace_info_new();
	struct utsname u;

	uname(&u);
	info->host = mem_strdup(u.nodename);
	info->kernel = mem_strdup(u.release);
	info->cpu = cpu_model();
	info->cmdline = cmdline;
	info->version = mem_strdup(BRACE_VERSION);
	info->tracer = mem_strdup(tracer);
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	info->thresh_ns = thresh_ns;
	info->run.invocation = describe_cmdline(getpid());
	return info;
}

char *describe_cmdline(int pid)
{
	/* Longer command lines are cut. */
	char text[4096];
	size_t n;
	FILE *f = apart_stream(pid, "cmdline"); /* the kernel reads it from the process's memory */

	if (!f)
		return mem_strdup("");
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	/* Arguments are separated by NULs. Those at the end would become blanks. */
	while (n && !text[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	return mem_strndup(text, n);
}

char *describe_exe(int pid)
{
	char name[64], path[4096];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	/* A path that does not fit is cut, and so matches no module. */
	n = readlink(name, path, sizeof(path));
	return n > 0 ? mem_strndup(path, (size_t)n) : mem_strdup("");
}

/* A server may have a million descriptors, and each costs a system call and room in the trace
 * file. */
#define FILES_MOST 256

/* Appends a line for the link; what is no path of a file is the kernel's "pipe:[NUMBER]". A path
 * with a newline would be read as two entries, and is left out. */
static void describe_file(int folder, const char *number, FILE *to)
{
	char path[4096];
	ssize_t n = readlinkat(folder, number, path, sizeof(path) - 1);

	if (n <= 0 || memchr(path, '\n', (size_t)n))
		return;
	path[n] = '\0';
	fprintf(to, "%s %s\n", number, path);
}

char *describe_files(int pid)
{
	char name[64], *text = NULL;
	size_t size;
	FILE *to = mem_stream(&text, &size);
	struct dirent *entry;
	DIR *folder;

	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	folder = opendir(name);
	for (int n = 0; folder && n < FILES_MOST && (entry = readdir(folder));)
		if (entry->d_name[0] != '.') {
			describe_file(dirfd(folder), entry->d_name, to);
			n++;
		}
	if (folder)
		closedir(folder);
	mem_stream_close(to, &text);
	return text;
}

int describe_oom_score_adj(int pid)
{
	char name[64];
	int value = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/oom_score_adj", pid);
	f = fopen(name, "re");
	if (f && fscanf(f, "%d", &value) != 1)
		value = 0;
	if (f)
		fclose(f);
	return value;
}
