/* SPDX-License-Identifier: MIT */
/* Files in memory that brace makes for itself. A traced program of the same user finds brace's
 * descriptors under /proc/PID/fd and can open them to write: such a file gets no shorter at any
 * time, since whoever maps it would die by SIGBUS, and does not change once it is whole. */
#pragma once

/* Makes an empty one, with this name in /proc/PID/fd. Returns a descriptor to close, or -errno. Any
 * thread, as memory_file_seal(). */
int memory_file_new(const char *name);
/* The file is whole: nobody can write to it any more. No mapping of it may be writable. 0 or
 * -errno. */
int memory_file_seal(int fd);
