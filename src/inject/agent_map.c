/* SPDX-License-Identifier: MIT */
/* Called by attach.c, in a holder, while every thread of the process stands still. All steps are
 * system calls in the process' name (remote.h). A step that fails takes the mapping back;
 * stale_agent.c removes what a death of brace leaves. */
#include "inject/agent_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/page.h"
#include "inject/stale_agent.h"
#include "inject/remote.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

static uint64_t pages(uint64_t n)
{
	return (n + ARCH_PAGE - 1) & ~(ARCH_PAGE - 1);
}

/* A memory file of the process itself holds the agent, so that the mappings' names in
 * /proc/PID/maps tell what they are. It has no seals: it is the process's own, which can write to
 * the mappings as well, and brace reads none of it. */
static int make_file(struct tracee *t, const struct agent_file *f, int64_t *fd, struct err *err)
{
	static const char name[] = AGENT_NAME;
	uint64_t args[6] = { 0, MFD_CLOEXEC | MFD_EXEC };
	int r = tracee_scratch(t, &args[0], err), own;
	ssize_t n;

	if (r == 0)
		r = tracee_write(t, args[0], name, sizeof(name), err);
	if (r == 0)
		r = tracee_syscall(t, SYS_memfd_create, args, fd, err);
	args[1] = MFD_CLOEXEC;
	if (r == 0 && *fd == -EINVAL) /* kernels before 6.3 */
		r = tracee_syscall(t, SYS_memfd_create, args, fd, err);
	if (r == 0 && *fd < 0)
		r = remote_refused(*fd, "make a memory file", err);
	if (r < 0)
		return r;
	own = tracee_take_fd(t, (int)*fd, err);
	if (own < 0) {
		remote_close(t, *fd);
		return own;
	}
	/* Written by us, through a descriptor of our own: no copy into the process' memory is
	 * needed. */
	n = write(own, f->bytes, f->n);
	close(own);
	return n == (ssize_t)f->n
		       ? 0
		       : err_set(err, ENOSPC, "no memory for the agent's file in the process");
}

/* Maps one segment: its file pages, then zero pages behind them. Relocates a writable one. */
static int map_segment(struct tracee *t, const struct agent_file *f, const struct agent_segment *s,
		       uint64_t base, int64_t tls, int64_t fd, struct err *err)
{
	uint64_t in_file = pages(s->file_bytes), at = base + s->vaddr;
	uint8_t *bytes;
	int r = 0;

	if (in_file)
		r = remote_map(t, at, in_file, s->prot, MAP_PRIVATE | MAP_FIXED, (int)fd, s->offset,
			       NULL, err);
	if (r == 0 && s->memory_bytes > in_file)
		r = remote_map(t, at + in_file, s->memory_bytes - in_file, s->prot,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0, NULL,
			       err);
	if (r < 0 || !(s->prot & PROT_WRITE) || !in_file)
		return r;
	bytes = mem_zalloc(in_file);
	memcpy(bytes, f->bytes + s->offset, s->file_bytes);
	agent_file_relocate(f, base, tls, s, bytes);
	r = tracee_write(t, at, bytes, in_file, err);
	free(bytes);
	return r;
}

/* First reserves the whole stretch as a mapping of the file, so that it can be known by its name.
 * Maps segments from the last to the first, the text: an agent is found by its text, and is to be
 * found only when it is whole. */
int agent_map(struct tracee *t, const struct agent_file *f, const struct agent_layout *agent,
	      struct err *err)
{
	int64_t fd;
	int r = make_file(t, f, &fd, err);

	if (r < 0)
		return r;
	r = remote_map(t, agent->base, f->span, PROT_NONE,
		       MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE, (int)fd,
		       LEFTOVERS_RESERVED, NULL, err);
	for (unsigned i = f->n_segments; r == 0 && i-- > 0;) {
		r = map_segment(t, f, &f->segments[i], agent->base, agent->layout.tls, fd, err);
		if (r < 0)
			remote_unmap(t, agent->base, f->span);
	}
	remote_close(t, fd);
	return r;
}
