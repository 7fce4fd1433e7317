#include "prey.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MOST 200 /* what is passed more often is passed often */
#define SEND_MOST 8
#define FOLLOW (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

/* --- memory ----------------------------------------------------------------------------------- */

static bool read_memory(pid_t pid, uint64_t at, void *to, size_t n)
{
	char name[64];
	int fd;
	bool whole;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	whole = fd >= 0 && pread(fd, to, n, (off_t)at) == (ssize_t)n;
	if (fd >= 0)
		close(fd);
	return whole;
}

struct mapping { uint64_t start, end, offset; bool exec; char path[256]; };

static bool next_mapping(FILE *f, struct mapping *m)
{
	char line[512], perms[8];
	unsigned long long start, end, offset;

	while (fgets(line, sizeof(line), f)) {
		m->path[0] = '\0';
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255[^\n]", &start, &end, perms, &offset, m->path) < 4)
			continue;
		m->start = start;
		m->end = end;
		m->offset = offset;
		m->exec = perms[2] == 'x';
		return true;
	}
	return false;
}

/* Where the first mapping of a file is, with this offset (~0: any); `executable` ones only. */
static uint64_t find_mapping(pid_t pid, const char *path, uint64_t offset, bool executable)
{
	struct mapping m;
	char name[64];
	uint64_t at = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	while (f && !at && next_mapping(f, &m))
		if (!strncmp(m.path, path, strlen(path)) && (offset == ~0ull || offset == m.offset) &&
		    (!executable || m.exec))
			at = m.start - (offset == ~0ull ? m.offset : 0);
	if (f)
		fclose(f);
	return at;
}

/* --- breakpoints ------------------------------------------------------------------------------ */

static void plant(struct prey *p, pid_t tid, uint64_t at, unsigned point)
{
	struct breakpoint *b = &p->planted[p->n_planted];
	long word;

	for (unsigned i = 0; i < p->n_planted; i++)
		if (p->planted[i].at == at)
			return;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, tid, at, 0);
	if (errno || p->n_planted == sizeof(p->planted) / sizeof(p->planted[0]))
		return;
	*b = (struct breakpoint){ at, word, point };
	ptrace(PTRACE_POKETEXT, tid, at, (word & ~0xffl) | 0xcc);
	p->n_planted++;
}

static void plant_all(struct prey *p, pid_t tid, uint64_t base)
{
	for (unsigned i = 0; i < p->n_points; i++)
		if (!p->name || !strcmp(p->name, p->points[i].name))
			if (p->points[i].address)
				plant(p, tid, base + p->points[i].address, i);
}

static struct breakpoint *breakpoint_at(struct prey *p, uint64_t at)
{
	for (unsigned i = 0; i < p->n_planted; i++)
		if (p->planted[i].at == at)
			return &p->planted[i];
	return NULL;
}

/* `xadd %reg, %fs:disp32` reserves a slot; what follows has one that is not filled. */
static uint64_t behind_xadd(pid_t pid, uint64_t at)
{
	static const uint8_t xadd[] = { 0x64, 0x48, 0x0f, 0xc1 };
	uint8_t code[240];

	if (!read_memory(pid, at, code, sizeof(code)))
		return 0;
	for (unsigned i = 0; i + 16 < sizeof(code); i++)
		if (!memcmp(code + i, xadd, sizeof(xadd)))
			return at + i + 10;
	return 0;
}

static uint64_t trampoline_of(pid_t pid, uint64_t function)
{
	uint8_t code[16];
	int32_t distance;
	unsigned at;

	if (!read_memory(pid, function, code, sizeof(code)))
		return 0;
	at = code[0] == 0xf3 && code[3] == 0xfa ? 4 : 0;
	memcpy(&distance, code + at + 1, 4);
	return code[at] == 0xe9 ? function + at + 5 + (uint64_t)(int64_t)distance : 0;
}

/* The agent's stub arena is its segment without bytes in the file, from a boundary of a block on
 * (shared/memory.h). */
static uint64_t arena_of(const struct prey *p, pid_t pid)
{
	uint64_t base = find_mapping(pid, p->agent, 0, false);
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (!base || !read_memory(pid, base, &header, sizeof(header)))
		return 0;
	for (unsigned i = 0; i < header.e_phnum; i++)
		if (read_memory(pid, base + header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)) &&
		    segment.p_type == PT_LOAD && !segment.p_filesz)
			return (base + segment.p_vaddr + 65535) & ~UINT64_C(65535);
	return 0;
}

/* The code that stubs call stands at the end of their block, which exists once a site of run has a
 * number (shared/memory.h). */
static uint64_t stub_in(const struct prey *p, pid_t pid, uint64_t function)
{
	uint64_t image = find_mapping(pid, "/memfd:brace-image", 0, false), arena = arena_of(p, pid), sites[512];

	if (!image || !arena || !read_memory(pid, image + 4096, sites, sizeof(sites)))
		return 0;
	for (unsigned i = 0; i < 512; i++)
		if (sites[i] > function && sites[i] < function + 512)
			return arena + 0xfe00;
	return 0;
}

static void plant_late(struct prey *p, pid_t tid)
{
	for (unsigned i = 0; i < p->n_points; i++) {
		const char *name = p->points[i].name;
		uint64_t at = 0;

		if (p->points[i].address || (p->name && strcmp(p->name, name)))
			continue;
		if (!strcmp(name, POINT_TRAMPOLINE))
			at = trampoline_of(tid, p->ledger->step);
		else if (!strcmp(name, POINT_STUB))
			at = stub_in(p, tid, p->ledger->run);
		if (at)
			at = behind_xadd(tid, at);
		if (at)
			plant(p, tid, at, i);
	}
}

static bool has_late(const struct prey *p)
{
	return !p->name || !strcmp(p->name, POINT_TRAMPOLINE) || !strcmp(p->name, POINT_STUB);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static pid_t tgid_of(pid_t tid)
{
	char name[64], line[128];
	int tgid = tid;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)tid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	return tgid;
}

static void resume(const struct prey *p, pid_t tid, int sig)
{
	ptrace(p->looking || p->late ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, sig);
}

/* Over a breakpoint: the others may slip by meanwhile, so the count is a lower bound. */
static void step_over(struct prey *p, pid_t tid, struct breakpoint *b, struct user_regs_struct *regs, bool keep)
{
	int status, held = 0;
	long word;

	regs->rip = b->at;
	ptrace(PTRACE_SETREGS, tid, 0, regs);
	word = ptrace(PTRACE_PEEKTEXT, tid, b->at, 0);
	ptrace(PTRACE_POKETEXT, tid, b->at, (word & ~0xffl) | (b->word & 0xff));
	do {
		if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0) < 0 || waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return;
		if (WSTOPSIG(status) != SIGTRAP)
			held = WSTOPSIG(status);
	} while (WSTOPSIG(status) != SIGTRAP);
	if (keep)
		ptrace(PTRACE_POKETEXT, tid, b->at, (word & ~0xffl) | 0xcc);
	resume(p, tid, held);
}

static void count(struct prey *p, const struct breakpoint *b)
{
	p->passed[b->point]++;
	if (p->side == SIDE_AGENT && p->ledger->handles)
		p->passed_handling[b->point]++;
}

/* The signal is the thread's own. Where the agent blocks signals, the signal waits until the agent
 * no longer does. */
static void signal_at(struct prey *p, pid_t tid)
{
	if (!p->ledger->handles || p->sent == SEND_MOST || ++p->hits < p->nth)
		return;
	p->sent++;
	syscall(SYS_tgkill, tgid_of(tid), tid, SIGUSR1);
}

static bool hit(struct prey *p, pid_t tid)
{
	struct user_regs_struct regs;
	struct breakpoint *b;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return true;
	b = breakpoint_at(p, regs.rip - 1);
	if (!b)
		return false;
	if (p->passed)
		count(p, b);
	if (p->signals)
		signal_at(p, tid);
	else if (p->name && !p->killed && ++p->hits == p->nth) {
		p->victim = tgid_of(tid);
		p->killed = true;
		kill(p->victim, SIGKILL);
		return true;
	}
	step_over(p, tid, b, &regs, p->sent < SEND_MOST && (!p->passed || p->passed[b->point] < COUNT_MOST));
	return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static void executed(struct prey *p, pid_t tid)
{
	char path[256], name[64];
	ssize_t n;

	if (p->side == SIDE_AGENT) {
		p->looking = tid == p->program;
		return;
	}
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)tid);
	n = readlink(name, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	plant_all(p, tid, find_mapping(tid, path, 0, false));
}

/* brace's own child is the program; from then on brace is no longer our concern. */
static void forked(struct prey *p, pid_t tid, pid_t child)
{
	if (p->side == SIDE_AGENT && tid == p->brace) {
		p->program = child;
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	resume(p, tid, 0);
}

/* A new task's first stop. That of the program may be seen before brace's, which tells of the fork.
 * Its threads have to be followed all the same: a breakpoint ends a process one of whose threads is
 * not. */
static void came(struct prey *p, pid_t tid)
{
	if (p->side == SIDE_AGENT && (!p->program || tid == p->program) && !p->looking && !p->n_planted) {
		p->program = tid;
		ptrace(PTRACE_SETOPTIONS, tid, 0, FOLLOW | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK);
	}
	resume(p, tid, 0);
}

static void called(struct prey *p, pid_t tid)
{
	if (p->looking) {
		uint64_t base = find_mapping(tid, p->agent, ~0ull, true);

		if (base) {
			plant_all(p, tid, base);
			p->looking = false;
			p->late = has_late(p);
		}
	} else if (p->late && p->ledger->started) {
		plant_late(p, tid);
		p->late = false;
	}
	resume(p, tid, 0);
}

static void stopped(struct prey *p, pid_t tid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	unsigned long message = 0;

	if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
		ptrace(PTRACE_GETEVENTMSG, tid, 0, &message);
		forked(p, tid, (pid_t)message);
	} else if (event == PTRACE_EVENT_EXEC) {
		executed(p, tid);
		resume(p, tid, 0);
	} else if (sig == (SIGTRAP | 0x80)) {
		called(p, tid);
	} else if (sig == SIGTRAP) {
		if (!hit(p, tid))
			resume(p, tid, 0);
	} else if (sig == SIGSTOP) {
		came(p, tid);
	} else {
		resume(p, tid, sig);
	}
}

static void ended(struct prey *p, pid_t pid, int status)
{
	if (pid == p->brace) {
		p->brace_done = true;
		p->brace_status = status;
	}
	if (p->ledger->pid && p->side == SIDE_BRACE)
		p->program = p->ledger->pid;
	if (pid == p->program) {
		p->program_done = true;
		p->program_status = status;
	}
}

bool prey_turn(struct prey *p)
{
	int status;
	pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);

	if (pid < 0)
		return false;
	if (pid == 0)
		nanosleep(&(struct timespec){ 0, 300000 }, NULL);
	else if (WIFSTOPPED(status))
		stopped(p, pid, status);
	else
		ended(p, pid, status);
	return true;
}

void prey_start(struct prey *p, char *const *argv, const char *log)
{
	int status;

	p->brace = fork();
	if (p->brace == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		dup2(fd, 1);
		dup2(fd, 2);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(p->brace, &status, __WALL);
	ptrace(PTRACE_SETOPTIONS, p->brace, 0,
	       FOLLOW | (p->side == SIDE_AGENT ? PTRACE_O_TRACEFORK : PTRACE_O_TRACECLONE));
	ptrace(PTRACE_CONT, p->brace, 0, 0);
}
