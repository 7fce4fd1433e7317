/* A program that leads its own C library's system calls past a counter, and then makes them in
 * every way it can: interrupted and restarted, cancelled, from a handler, in threads, forks, vforks
 * and clones. It checks its own results, and prints what was counted; syscalls_truth.py compares
 * that with what strace saw of the same run.
 *
 *     syscalls_subject FILE   the counts go there */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/code.h"
#include "arch/probe_code.h"
#include "arch/trampoline.h"
#include "hook/syscalls.h"
#include "shared/probe.h"

#define NUMBERS 512
#define REGION (8u << 20)
#define MARK 0x7eadbeef /* no process: strace's reader counts between two of these */

#define MUST(condition)                                                                    \
	do {                                                                               \
		if (!(condition)) {                                                        \
			fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

/* --- what is counted ------------------------------------------------------------------------- */

struct counts { _Atomic uint64_t enters, arguments[6], returns, errors, sum; };
static struct { _Atomic bool on; struct counts of[NUMBERS]; } *shared;
static hook_syscall_list calls;
static uint64_t bias, region_at, text_at, text_end;

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10 };

/* Calls whose return does not tell which they were, or that there was one, by the place of the
 * stack it was made from: handlers are below. */
static __thread struct { uint64_t rsp; uint32_t number; } pending[8];
static __thread unsigned depth;

#define AS_AGENT __attribute__((target("general-regs-only"), no_sanitize("address", "undefined", "thread"), noinline))

AS_AGENT static void begun(const uint64_t *regs, uint32_t number)
{
	while (depth && pending[depth - 1].rsp <= regs[RSP])
		depth--;
	if (depth < 8)
		pending[depth].rsp = regs[RSP], pending[depth++].number = number;
}

AS_AGENT static uint32_t ended(const uint64_t *regs)
{
	while (depth && pending[depth - 1].rsp < regs[RSP])
		depth--;
	return depth && pending[depth - 1].rsp == regs[RSP] ? pending[--depth].number : NUMBERS;
}

void agent_probe_hit(const struct probe_regs *regs, const struct probe_site *site);
extern const char agent_probe[];

AS_AGENT static void enter(const uint64_t *regs, uint32_t number, bool ahead)
{
	const uint64_t arguments[6] = { ahead ? 0 : regs[RDI], regs[RSI], regs[RDX], regs[R10], regs[R8], regs[R9] };

	shared->of[number].enters++;
	for (unsigned i = 0; i < 6; i++)
		shared->of[number].arguments[i] += arguments[i];
}

AS_AGENT static void leave(uint64_t result, uint32_t number)
{
	shared->of[number].returns++;
	if (result > (uint64_t)-4096)
		shared->of[number].errors++;
	else
		shared->of[number].sum += result;
}

AS_AGENT void agent_probe_hit(const struct probe_regs *regs, const struct probe_site *site)
{
	const struct hook_syscall *c = &calls.at[site->event / 2];
	uint32_t number = c->number;
	bool twice, asks = number == SYSCALL_UNKNOWN || c->joined;

	if (number == SYSCALL_UNKNOWN)
		number = (uint32_t)regs->at[RAX];
	if (asks && site->event % 2 == 0)
		begun(regs->at, number);
	else if (asks)
		number = ended(regs->at);
	if (!shared->on || number >= NUMBERS)
		return;
	twice = number == SYS_fork || number == SYS_vfork || number == SYS_clone || number == SYS_clone3;
	if (site->event % 2 == 0)
		enter(regs->at, number, c->ahead);
	else if (!twice || regs->at[RAX])
		leave(regs->at[RAX], number);
}

/* --- leading them ---------------------------------------------------------------------------- */

static uint8_t *region, *next;

static int find_libc(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so.6") && !strstr(info->dlpi_name, "/libc-2."))
		return 0;
	bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		text_at = (bias + p->p_vaddr) & ~4095ul;
		text_end = (bias + p->p_vaddr + p->p_memsz + 4095) & ~4095ul;
	}
	*(const char **)path = info->dlpi_name;
	return 1;
}

static void make_region(void)
{
	for (unsigned i = 1; i < 1000 && !region; i++) {
		uint64_t at = (bias & ~(uint64_t)0xfffff) - REGION - i * 0x100000ul;
		void *got = mmap((void *)at, REGION, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		region = got == MAP_FAILED ? NULL : got;
	}
	MUST(region);
	region_at = (uint64_t)region;
	*(const char **)region = agent_probe;
	next = region + 64;
}

static void put_in(const struct hook_probe *p, uint32_t event)
{
	struct probe_site *site = (void *)next;
	uint8_t *code = next + (sizeof(*site) + 63) / 64 * 64;
	uint64_t ip = bias + p->vaddr, patch = ip - p->before;
	const struct probe_code c = { &p->lead, &p->rest, p->bytes, p->vaddr, ip, region_at, (uint64_t)site, 0 };
	uint8_t jump[5];
	struct probe_code_steps steps;
	int n = probe_code_emit(&c, (uint64_t)code, code, &steps);

	MUST(n > 0 && memcmp((void *)patch, p->bytes, p->len) == 0);
	*site = (struct probe_site){ .magic = PROBE_MAGIC, .ip = ip, .event = event };
	next = code + (n + 63) / 64 * 64;
	MUST(next < region + REGION - 4096);
	if (p->kind == HOOK_SHORT) {
		uint64_t island = patch + (uint64_t)(int64_t)p->island;

		MUST(memcmp((void *)island, p->island_bytes, 5) == 0);
		MUST(code_jump(island, (uint64_t)code, jump) == 0);
		memcpy((void *)island, jump, 5);
		memcpy((void *)patch, (uint8_t[]){ 0xeb, (uint8_t)(p->island - 2) }, 2);
	} else {
		MUST(code_jump(patch, (uint64_t)code, jump) == 0);
		memcpy((void *)patch, jump, 5);
	}
}

static void lead_all(void)
{
	const char *path = NULL;
	struct hook_prober *prober;
	struct err err;

	MUST(dl_iterate_phdr(find_libc, &path) == 1);
	MUST(hook_prober_open(path, &prober, &err) == 0);
	hook_syscalls_find(prober, &calls);
	make_region();
	MUST(mprotect((void *)text_at, text_end - text_at, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	for (uint32_t i = 0; i < calls.n; i++) {
		if (calls.at[i].before->kind != HOOK_NONE)
			put_in(calls.at[i].before, 2 * i);
		if (calls.at[i].behind->kind != HOOK_NONE)
			put_in(calls.at[i].behind, 2 * i + 1);
	}
	MUST(mprotect((void *)text_at, text_end - text_at, PROT_READ | PROT_EXEC) == 0);
}

/* --- the calls ------------------------------------------------------------------------------- */

static void files(void)
{
	char name[] = "/tmp/syscallsXXXXXX", bytes[100] = "x";
	struct iovec v[2] = { { bytes, 10 }, { bytes + 10, 20 } };
	struct stat st;
	int fd = mkstemp(name), copy;

	MUST(fd >= 0 && write(fd, bytes, 100) == 100 && lseek(fd, 10, SEEK_SET) == 10 && read(fd, bytes, 50) == 50);
	MUST(readv(fd, v, 2) == 30 && pread(fd, bytes, 7, 3) == 7 && pwrite(fd, bytes, 7, 200) == 7);
	MUST(fstat(fd, &st) == 0 && st.st_size == 207 && stat(name, &st) == 0);
	MUST(open("/nowhere/at/all", O_RDONLY) == -1 && errno == ENOENT);
	MUST((copy = dup(fd)) >= 0 && close(copy) == 0 && close(copy) == -1 && errno == EBADF);
	MUST(ftruncate(fd, 5) == 0 && fsync(fd) == 0 && access(name, R_OK) == 0 && unlink(name) == 0 && close(fd) == 0);
	for (int i = 0; i < 1000; i++)
		MUST(syscall(SYS_getppid) == getppid() && getuid() == (uid_t)syscall(SYS_getuid));
	free(malloc(64 << 20));
}

static int ends[2];
static volatile sig_atomic_t alarms;

static volatile sig_atomic_t alarms, lets_go;

/* The second one lets the reader go, if it is to return. */
static void on_alarm(int number)
{
	(void)number;
	if (++alarms % 2 == 0 && lets_go)
		MUST(write(ends[1], "z", 1) == 1);
	else
		MUST(syscall(SYS_getpid) == getpid());
}

static void interrupted(int flags, long (*wait)(void), long want)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval every = { { 0, 10000 }, { 0, 10000 } }, never = { { 0 } };

	alarms = 0;
	lets_go = want >= 0;
	MUST(sigaction(SIGALRM, &act, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
	MUST(wait() == want);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0 && alarms >= (want < 0 ? 1 : 2));
}

static char letter;
static long by_read(void) { return read(ends[0], &letter, 1); }
static long by_syscall(void) { return syscall(SYS_read, ends[0], &letter, 1, 0, 0, 0); }
static long by_sleep(void) { return nanosleep(&(struct timespec){ 5, 0 }, NULL); }
static long by_poll(void) { return poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 5000); }

static void signals(void)
{
	interrupted(SA_RESTART, by_read, 1);
	interrupted(SA_RESTART, by_syscall, 1);
	interrupted(0, by_read, -1);
	interrupted(SA_RESTART, by_sleep, -1);
	interrupted(SA_RESTART, by_poll, -1);
	MUST(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	while (read(ends[0], &letter, 1) == 1)
		;
	MUST(errno == EAGAIN && fcntl(ends[0], F_SETFL, 0) == 0);
}

static void *busy(void *arg)
{
	char name[16];

	for (int i = 0; i < 200; i++)
		MUST(syscall(SYS_gettid) == gettid() && pthread_getname_np(pthread_self(), name, 16) == 0);
	return arg;
}

static _Atomic int cleaned, ready;

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *to_be_cancelled(void *asynchronously)
{
	char c;

	if (asynchronously)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, NULL);
	ready = 1;
	if (asynchronously)
		for (;;)
			syscall(SYS_pause);
	MUST(read(ends[0], &c, 1) == -2);
	pthread_cleanup_pop(0);
	return NULL;
}

static void threads(void)
{
	pthread_t t[6];
	void *result;

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, busy, t) == 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_join(t[i], &result) == 0 && result == t);
	for (int i = 0; i < 20; i++) {
		ready = 0;
		MUST(pthread_create(&t[0], NULL, to_be_cancelled, i % 2 ? t : NULL) == 0);
		while (!ready)
			usleep(100);
		usleep(i * 100);
		MUST(pthread_cancel(t[0]) == 0 && pthread_join(t[0], &result) == 0 && result == PTHREAD_CANCELED);
		MUST(cleaned == i + 1);
	}
}

static int ended_with(pid_t pid)
{
	int status;

	MUST(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void processes(void)
{
	char *argv[] = { "true", NULL }, *envp[] = { NULL };
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (pid == 0)
			_exit(getpid() == syscall(SYS_getpid) ? 7 : 8);
		MUST(ended_with(pid) == 7);
		pid = vfork();
		if (pid == 0)
			_exit(9);
		MUST(ended_with(pid) == 9);
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(11);
		MUST(ended_with(pid) == 11);
		MUST(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp) == 0 && ended_with(pid) == 0);
		MUST(posix_spawn(&pid, "/nowhere/at/all", NULL, NULL, argv, envp) == ENOENT);
	}
}

/* --- a filter, and where it says the call was made -------------------------------------------- */

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t at = (uint64_t)info->si_call_addr;

	(void)number;
	if (at >= text_at && at < text_end && (uint64_t)u->uc_mcontext.gregs[REG_RIP] == at)
		u->uc_mcontext.gregs[REG_RAX] = 4711;
}

/* getpgrp traps. */
static void filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgrp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	pid_t pid = fork();

	if (pid == 0) {
		MUST(sigaction(SIGSYS, &act, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ 4, code }) == 0);
		_exit(getpgrp() == 4711 ? 13 : 14);
	}
	MUST(ended_with(pid) == 13);
}

/* --- ----------------------------------------------------------------------------------------- */

static void print_counts(const char *path)
{
	FILE *f = fopen(path, "w");

	MUST(f);
	for (unsigned n = 0; n < NUMBERS; n++) {
		const struct counts *c = &shared->of[n];

		if (!c->enters && !c->returns)
			continue;
		fprintf(f, "%u %lu %lu %lu %lu", n, c->enters, c->returns, c->errors, c->sum);
		for (unsigned i = 0; i < 6; i++)
			fprintf(f, " %lu", c->arguments[i]);
		fputc('\n', f);
	}
	MUST(fclose(f) == 0);
}

int main(int argc, char **argv)
{
	MUST(argc == 2 && pipe(ends) == 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	MUST(dlopen("libgcc_s.so.1", RTLD_NOW)); /* of cancellation; ld.so, which would do it, is not led */
	lead_all();
	MUST(getpgid(MARK) == -1);
	shared->on = true;
	files();
	signals();
	threads();
	processes();
	shared->on = false;
	MUST(getpgid(MARK) == -1);
	filtered();
	print_counts(argv[1]);
	return 0;
}
