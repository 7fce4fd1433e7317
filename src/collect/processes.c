/* SPDX-License-Identifier: MIT */
/* Answers from /proc. session/ and collect/ ask on the session's threads and that of `brace
 * recover`; image/thread_stacks.c and instance/made_names.c ask for one process, on their own. No
 * state but the caller's, no lock. Pids are reused, so a process is its pid with its start time,
 * and has to map the session memory. A file of /proc that cannot be read means that the process is
 * gone, unless the permissions say otherwise. */
#include "collect/processes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracee/proc_maps.h"
#include "tracee/proc_status.h"

pid_t processes_parent(pid_t pid)
{
	struct proc_stat s;

	return proc_stat_read(pid, pid, &s) == 0 ? s.ppid : 0;
}

/* The pid that a process has for itself, by its status. A kernel without namespaces tells none, nor
 * does a list of groups that is too long leave room for it: then it is taken to be ours. */
static uint32_t inner_pid(const struct proc_status *s, pid_t pid)
{
	return (uint32_t)(s->inner ? s->inner : pid);
}

/* The pid that a process has for itself; 0: the process is not to be seen. */
static uint32_t own_pid(pid_t pid)
{
	struct proc_status s;

	return proc_status_read(pid, &s) < 0 ? 0 : inner_pid(&s, pid);
}

bool processes_info(pid_t pid, struct process_info *out)
{
	struct timespec real, boot;
	struct proc_status status;
	struct proc_stat s;

	if (proc_stat_read(pid, pid, &s) < 0 || proc_status_read(pid, &status) < 0)
		return false;
	out->own = inner_pid(&status, pid);
	out->uid = status.uid[1];
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	out->began_s = (uint64_t)(real.tv_sec - boot.tv_sec - (real.tv_nsec < boot.tv_nsec)) +
		       s.start_time / (uint64_t)sysconf(_SC_CLK_TCK);
	return true;
}

/* Maps of an undumpable process may not be read, except by root: a process of our own user is then
 * taken to map the file. So is one whose maps somebody keeps from being read. */
bool processes_maps(pid_t pid, const struct stat *memory)
{
	struct proc_map map;
	struct proc_status s;
	bool found = false;
	FILE *f = proc_maps_open(pid);

	while (f && !found && proc_maps_next(f, &map))
		found = map.inode == memory->st_ino && map.device == memory->st_dev;
	if (f)
		fclose(f);
	else if (errno == ETIMEDOUT)
		return true;
	else if (errno == EACCES && getuid() != 0)
		return proc_status_read(pid, &s) == 0 && s.uid[0] == getuid();
	return found;
}

static bool is_alive(const struct process *p)
{
	struct proc_stat s;

	return p->pid && proc_stat_read((pid_t)p->pid, (pid_t)p->pid, &s) == 0 &&
	       s.start_time == p->start && s.state != 'Z' && s.state != 'X';
}

/* Takes pid for the process, if it calls itself so, runs, and maps the file. */
static bool take_process(struct process *p, pid_t pid, const struct stat *memory)
{
	struct proc_stat s;

	if (own_pid(pid) != p->said || proc_stat_read(pid, pid, &s) < 0 || s.state == 'Z' ||
	    s.state == 'X' || !processes_maps(pid, memory))
		return false;
	p->pid = (uint32_t)pid;
	p->start = s.start_time;
	return true;
}

/* Reads every process' own pid, once for all searches of a look: a session may have executed
 * thousands of programs. */
static void list_all(struct processes *p)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	p->listed = true;
	p->all.n = 0;
	while (d && (e = readdir(d))) {
		struct named n = { .pid = (uint32_t)strtoul(e->d_name, NULL, 10) };

		n.own = n.pid ? own_pid((pid_t)n.pid) : 0;
		if (n.own)
			*vec_add(&p->all) = n;
	}
	if (d)
		closedir(d);
}

/* By the list only where the pid itself failed: a process of another pid namespace. */
static bool search_process(struct processes *all, struct process *p, const struct stat *memory)
{
	bool found = false;

	if (!all->listed)
		list_all(all);
	for (size_t i = 0; i < all->all.n && !found; i++)
		found = all->all.at[i].own == p->said &&
			take_process(p, (pid_t)all->all.at[i].pid, memory);
	return found;
}

void processes_look(struct processes *p)
{
	p->listed = false;
}

void processes_free(struct processes *p)
{
	vec_free(&p->at);
	vec_free(&p->all);
}

/* Sorted by the pid that they say: new processes mostly have the highest. */
static struct process *process_of(struct processes *p, uint32_t said)
{
	size_t at = vec_bisect(&p->at, process, process->said < said);

	if (at == p->at.n || p->at.at[at].said != said) {
		(void)vec_add(&p->at);
		memmove(p->at.at + at + 1, p->at.at + at, (p->at.n - 1 - at) * sizeof(*p->at.at));
		p->at.at[at] = (struct process){ .said = said };
	}
	return &p->at.at[at];
}

bool processes_run(struct processes *p, uint32_t said, uint32_t slot, uint32_t n,
		   const struct stat *memory)
{
	struct process *process = process_of(p, said);

	/* No thread slot below was found running before: a new process with this pid takes a later
	 * slot. */
	if (slot < process->over_below)
		return false;
	if (is_alive(process) || take_process(process, (pid_t)said, memory) ||
	    search_process(p, process, memory))
		return true;
	process->pid = 0;
	process->over_below = n;
	return false;
}

pid_t processes_namesake(struct processes *p, uint32_t said, const struct stat *memory)
{
	struct process *process = process_of(p, said);

	return is_alive(process) || take_process(process, (pid_t)said, memory) ? (pid_t)process->pid
									       : 0;
}
