/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/maps a line at a time (see the header); any thread, no state but the FILE. The
 * kernel's fields are strict, the path behind them is the traced program's choice. Malformed lines
 * are left out; that a process is gone looks like the end of the file. */
#include "tracee/proc_maps.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/apart.h"

#define LINE_BYTES 512

FILE *proc_maps_open(pid_t pid)
{
	return apart_stream(pid, "maps");
}

/* Reads a line and keeps its beginning. The rest is a file's name, which the traced program chose:
 * it must not be taken for another line. (The kernel writes a newline in a name as \012.) */
static bool next_line(FILE *f, char line[LINE_BYTES])
{
	int c = 0;

	if (!fgets(line, LINE_BYTES, f))
		return false;
	while (!strchr(line, '\n') && c != EOF && c != '\n')
		c = getc(f);
	return true;
}

bool proc_maps_next(FILE *f, struct proc_map *out)
{
	unsigned long long start, end, inode;
	char line[LINE_BYTES], perms[5];
	unsigned major, minor;

	while (next_line(f, line)) {
		int path = 0;

		/* %n is not counted, and is set only if all before it fits: `path` stays 0 when the
		 * line is cut. */
		if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu %n", &start, &end, perms, &major,
			   &minor, &inode, &path) < 6 ||
		    !path)
			continue;
		line[strcspn(line, "\n")] = '\0';
		*out = (struct proc_map){ .start = start,
					  .end = end,
					  .device = makedev(major, minor),
					  .inode = inode,
					  .write = perms[1] == 'w',
					  .exec = perms[2] == 'x' };
		snprintf(out->path, sizeof(out->path), "%s", line + path);
		return true;
	}
	return false;
}
