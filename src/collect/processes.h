/* SPDX-License-Identifier: MIT */
/* Which of the processes that recorded still run. They say in the session memory who they are, in their own
 * pid namespace: here it is found out who that is. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct process {
	uint32_t said;       /* what it calls itself */
	uint32_t pid;        /* what we call it; 0 = not found yet, or over */
	uint64_t start;      /* of that pid: it may be given to another */
	uint32_t over_below; /* thread slots below: none of their processes runs any more */
};
struct named { uint32_t pid, own; }; /* what we call a process, what it calls itself */
struct processes {
	VEC(struct process) at;
	VEC(struct named) all;  /* that run, if `listed` */
	bool listed;
};

/* From here on processes are searched among those that run now. */
void processes_look(struct processes *p);
void processes_free(struct processes *p);
/* Does the process of this thread slot run, of n in all? It maps the file with this inode number, or
 * did when it was seen first. */
bool processes_run(struct processes *p, uint32_t said, uint32_t slot, uint32_t n, ino_t memory);
/* Does it map the file with this inode number? */
bool processes_maps(pid_t pid, ino_t memory);
pid_t processes_parent(pid_t pid); /* 0 if there is none to be seen */
