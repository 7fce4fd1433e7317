/* Each rule that forbids holding a process, provoked, and the word by which its sentence names it.
 * Must run as root; without, what needs another user is skipped. */
#include "child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/bpf.h"
#include "tracee/check.h"
#include "shared/memory.h"
#include "tracee/seccomp.h"

#define NOBODY 65534
#define OTHER 65533

static void until_stopped(struct report *rep)
{
	rep->ready = 1;
	while (!rep->stop)
		usleep(1000);
}

/* --- asking as somebody else ---------------------------------------------------------------- */

struct answer {
	int code;
	struct err err;
};

static void stay(void)
{
}

/* The answer that a process would get which has become what `become` makes it. */
static struct answer ask_as(void (*become)(void), int (*question)(pid_t, struct err *), pid_t pid)
{
	struct answer *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct answer answer;
	pid_t asker = fork();
	int status;

	if (asker == 0) {
		become();
		shared->code = question(pid, &shared->err);
		_exit(0);
	}
	assert_int_equal(waitpid(asker, &status, 0), asker);
	assert_int_equal(status, 0);
	answer = *shared;
	munmap(shared, sizeof(*shared));
	return answer;
}

static int hold_and_release(pid_t pid, struct err *err)
{
	struct tracee *t;
	int r = tracee_stop(pid, &t, err);

	if (r == 0)
		tracee_release(t);
	return r;
}

/* Checking and trying give the same answer. */
static void expect(void (*become)(void), pid_t pid, int code, const char *word)
{
	struct answer check = ask_as(become, tracee_check, pid), hold = ask_as(become, hold_and_release, pid);

	if (check.code != code || hold.code != code || (code && (!strstr(check.err.text, word) || !strstr(hold.err.text, word))))
		fail_msg("expected %d (%s), got %d (%s) and %d (%s)", code, word, check.code, check.err.text, hold.code,
			 hold.err.text);
	if (code)
		print_message("%s\n", check.err.text);
}

static void as_nobody(void)
{
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		abort();
}

static void as_other(void)
{
	if (setgid(OTHER) < 0 || setuid(OTHER) < 0)
		abort();
}

static void as_other_group(void)
{
	if (setgid(OTHER) < 0 || setuid(NOBODY) < 0)
		abort();
}

static void without_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capset, &header, data) < 0)
		abort();
}

static void in_a_user_namespace(void)
{
	as_nobody();
	if (prctl(PR_SET_DUMPABLE, 1) < 0 || unshare(CLONE_NEWUSER) < 0)
		abort();
}

/* --- what is no program --------------------------------------------------------------------- */

static void no_process(void **state)
{
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	expect(stay, gone, -ESRCH, "no process");
	expect(stay, -1, -ESRCH, "no process");
	expect(stay, 0, -ESRCH, "no process");
}

static void a_zombie(void **state)
{
	struct err err;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	expect(stay, pid, -ESRCH, "zombie");
	assert_int_equal(hold_and_release(pid, &err), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int check_self(pid_t pid, struct err *err)
{
	return tracee_check(getpid(), err);
}

static void brace_itself(void **state)
{
	struct answer a = ask_as(stay, check_self, 0);

	assert_int_equal(a.code, -EINVAL);
	assert_non_null(strstr(a.err.text, "brace itself"));
}

static void a_thread_of_the_kernel(void **state)
{
	struct proc_status s;

	if (proc_status_read(2, &s) < 0 || strcmp(s.name, "kthreadd") != 0)
		skip();
	expect(stay, 2, -ENOTSUP, "kernel");
}

static void *note_tid(void *arg)
{
	struct report *rep = arg;

	rep->counts[0] = (uint64_t)gettid();
	until_stopped(rep);
	return NULL;
}

static void with_a_thread(struct report *rep)
{
	pthread_t thread;

	pthread_create(&thread, NULL, note_tid, rep);
	pthread_join(thread, NULL);
}

static void a_threads_number(void **state)
{
	struct child c = child_start(with_a_thread, 1);
	struct answer a = ask_as(stay, tracee_check, (pid_t)c.report->counts[0]);
	char number[16];

	snprintf(number, sizeof(number), "process %d", (int)c.pid);
	assert_int_equal(a.code, -EINVAL);
	assert_non_null(strstr(a.err.text, number));
	assert_int_equal(child_end(&c), 0);
}

/* A program of 32 bits, as short as one can be: pause() for ever. */
static void a_32_bit_program(void **state)
{
	static const uint8_t image[] = {
		0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0,
		0x54, 0x80, 4, 8, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 4, 8, 0, 0x80, 4, 8, 0x60, 0, 0, 0, 0x60, 0, 0, 0, 5, 0, 0, 0, 0, 16, 0, 0,
		0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7, 0, 0, 0,
	};
	int fd = memfd_create("i386", MFD_CLOEXEC), status;
	char self[64] = "", *argv[] = { self, NULL };
	pid_t pid;

	assert_int_equal(write(fd, image, sizeof(image)), sizeof(image));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fexecve(fd, argv, argv + 1);
		_exit(1);
	}
	usleep(20000);
	if (waitpid(pid, &status, WNOHANG) == pid)
		skip(); /* a kernel for 64 bits only */
	assert_int_equal(tracee_check(pid, &(struct err){ 0 }), -ENOTSUP);
	print_message("%s\n", ask_as(stay, tracee_check, pid).err.text);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- permissions ---------------------------------------------------------------------------- */

static void roots(struct report *rep)
{
	until_stopped(rep);
}

static void nobodys(struct report *rep)
{
	as_nobody();
	prctl(PR_SET_DUMPABLE, 1);
	until_stopped(rep);
}

static void closed(struct report *rep)
{
	as_nobody();
	prctl(PR_SET_DUMPABLE, 0);
	until_stopped(rep);
}

static void set_uid(struct report *rep)
{
	if (setresuid(NOBODY, OTHER, OTHER) < 0)
		abort();
	prctl(PR_SET_DUMPABLE, 1);
	until_stopped(rep);
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void another_users(void **state)
{
	struct child c;

	need_root();
	c = child_start(roots, 1);
	expect(as_nobody, c.pid, -EPERM, "root");
	expect(stay, c.pid, 0, "");
	assert_int_equal(child_end(&c), 0);
	c = child_start(nobodys, 1);
	expect(as_other, c.pid, -EPERM, "nobody");
	expect(as_nobody, c.pid, 0, "");
	expect(stay, c.pid, 0, "");
	expect(as_other_group, c.pid, -EPERM, "group");
	expect(without_capabilities, c.pid, -EPERM, "CAP_SYS_PTRACE");
	assert_int_equal(child_end(&c), 0);
	c = child_start(set_uid, 1);
	expect(as_nobody, c.pid, -EPERM, "set-uid");
	expect(stay, c.pid, 0, "");
	assert_int_equal(child_end(&c), 0);
}

static void not_dumpable(void **state)
{
	struct child c;

	need_root();
	c = child_start(closed, 1);
	expect(as_nobody, c.pid, -EPERM, "dumpable");
	expect(stay, c.pid, 0, "");
	assert_int_equal(child_end(&c), 0);
}

static void more_capabilities(void **state)
{
	struct child c;

	need_root();
	c = child_start(roots, 1);
	expect(without_capabilities, c.pid, -EPERM, "capabilities");
	assert_int_equal(child_end(&c), 0);
}

static void another_user_namespace(void **state)
{
	struct child c;
	pid_t probe = fork();
	int status;

	need_root();
	if (probe == 0) {
		as_nobody();
		_exit(unshare(CLONE_NEWUSER) < 0);
	}
	waitpid(probe, &status, 0);
	if (status != 0)
		skip();
	c = child_start(nobodys, 1);
	expect(in_a_user_namespace, c.pid, -EPERM, "user namespace");
	assert_int_equal(child_end(&c), 0);
}

static void yamas_rules(void **state)
{
	static const char *const words[] = { "", "ancestors", "only root", "nobody" };
	const struct proc_status s = { .name = "sleep", .tgid = 1234 };

	for (int scope = 1; scope <= 3; scope++) {
		struct err err;

		assert_int_equal(check_explain_yama(scope, &s, &err), -EPERM);
		assert_non_null(strstr(err.text, words[scope]));
		assert_non_null(strstr(err.text, "/proc/sys/kernel/yama/ptrace_scope"));
	}
}

/* --- tracers -------------------------------------------------------------------------------- */

static pid_t traced_by_other;

static void tracing(struct report *rep)
{
	if (ptrace(PTRACE_SEIZE, traced_by_other, NULL, NULL) < 0)
		abort();
	until_stopped(rep);
}

static void traced_already(void **state)
{
	struct child c = child_start(roots, 1), tracer;
	char number[32];

	traced_by_other = c.pid;
	tracer = child_start(tracing, 1);
	snprintf(number, sizeof(number), "by process %d", (int)tracer.pid);
	expect(stay, c.pid, -EBUSY, number);
	assert_int_equal(child_end(&tracer), 0);
	expect(stay, c.pid, 0, "");
	assert_int_equal(child_end(&c), 0);
}

/* --- seccomp -------------------------------------------------------------------------------- */

static void install(long forbidden, uint32_t action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)forbidden, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { 4, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		abort();
}

static void harmless_filters(struct report *rep)
{
	install(SYS_reboot, SECCOMP_RET_KILL_PROCESS);
	install(SYS_acct, SECCOMP_RET_ERRNO);
	until_stopped(rep);
}

static void forbids_mprotect(struct report *rep)
{
	install(SYS_reboot, SECCOMP_RET_KILL_PROCESS);
	install(SYS_mprotect, SECCOMP_RET_ERRNO | EPERM);
	until_stopped(rep);
}

static void *forbids_memfd(void *arg)
{
	install(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS);
	until_stopped(arg);
	return NULL;
}

static void one_thread_forbids(struct report *rep)
{
	pthread_t thread;

	pthread_create(&thread, NULL, forbids_memfd, rep);
	pthread_join(thread, NULL);
}

static void nobodys_filter(struct report *rep)
{
	as_nobody();
	prctl(PR_SET_DUMPABLE, 1);
	harmless_filters(rep);
}

static void strict(struct report *rep)
{
	rep->ready = 1;
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (;;)
		;
}

static void forbid_ptrace(void)
{
	install(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM);
}

static void check_filter(void (*body)(struct report *), void (*become)(void), int code, const char *word)
{
	struct child c = child_start(body, 1);
	struct answer a;

	usleep(20000); /* until strict mode is on */
	a = ask_as(become, seccomp_check, c.pid);
	if (a.code != code || (code && !strstr(a.err.text, word)))
		fail_msg("expected %d (%s), got %d (%s)", code, word, a.code, a.err.text);
	if (code)
		print_message("%s\n", a.err.text);
	assert_int_equal(ask_as(become, tracee_check, c.pid).code, code);
	if (body == strict)
		child_kill(&c);
	else
		assert_int_equal(child_end(&c), 0);
}

static void forbids_priorities(struct report *rep)
{
	install(SYS_getpriority, SECCOMP_RET_KILL_PROCESS);
	until_stopped(rep);
}

/* Capabilities that the agent can do without. */
static void check_lacks(void (*body)(struct report *), uint32_t lacks)
{
	struct child c = child_start(body, 1);

	assert_int_equal(seccomp_lacks(c.pid), lacks);
	assert_int_equal(child_end(&c), 0);
}

static void seccomp_filters(void **state)
{
	struct child c;
	struct answer a;

	need_root();
	check_filter(roots, stay, 0, "");
	check_filter(harmless_filters, stay, 0, "");
	check_filter(forbids_mprotect, stay, -EPERM, "mprotect");
	check_filter(one_thread_forbids, stay, -EPERM, "memfd_create");
	check_filter(strict, stay, -EPERM, "strict");
	check_filter(nobodys_filter, as_nobody, -EACCES, "only to root");
	check_lacks(roots, 0);
	check_lacks(harmless_filters, 0);
	check_lacks(forbids_priorities, LACKS_TASKS);
	c = child_start(roots, 1);
	a = ask_as(forbid_ptrace, hold_and_release, c.pid);
	assert_int_equal(a.code, -EPERM);
	assert_non_null(strstr(a.err.text, "brace itself"));
	assert_int_equal(child_end(&c), 0);
}

/* The kernel is the judge: what a filter does to a call is what running it says. */
static void filters_are_run_as_the_kernel_does(void **state)
{
	const uint64_t args[6] = { 7, 3, 0, 0, 0, 0 };
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup2, 0, 11),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),       /* low half of the first argument */
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 24),       /* of the second */
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 3),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 5),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	uint32_t said = seccomp_run(filter, 14, SYS_dup2, args);
	int status;
	pid_t pid;

	assert_int_equal(said, SECCOMP_RET_ERRNO | ((7 * 3 << 2) ^ 5));
	pid = fork();
	if (pid == 0) {
		const struct sock_fprog program = { 14, filter };

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			_exit(1);
		_exit(syscall(SYS_dup2, 7, 3) < 0 ? errno : 2);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(WEXITSTATUS(status), said & SECCOMP_RET_DATA);
}

/* --- parsers -------------------------------------------------------------------------------- */

static void names_may_be_anything(void **state)
{
	static const char stat_line[] = "77 (a) R 1 (b) S) T 42 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 123456 99 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 3 17 0\n";
	static const char status_text[] = "Name:\ta:b\001c\nState:\tS (sleeping)\nTgid:\t5\nPPid:\t99999999999999\nNSpid:\t5\t31\t7\nUid:\t1\t2\t3\t4\n"
					  "SigIgn:\t0000000000000010\nSeccomp:\t2\n";
	struct proc_stat stat;
	struct proc_status s;

	assert_int_equal(proc_stat_parse(stat_line, sizeof(stat_line) - 1, &stat), 0);
	assert_int_equal(stat.state, 'T');
	assert_int_equal(stat.ppid, 42);
	assert_int_equal(stat.flags, 4194560);
	assert_int_equal(stat.threads, 9);
	assert_int_equal(stat.start_time, 123456);
	assert_int_equal(stat.cpu, 3);
	assert_int_equal(proc_status_parse(status_text, sizeof(status_text) - 1, &s), 0);
	assert_string_equal(s.name, "a:b?c");
	assert_int_equal(s.ppid, 0);
	assert_int_equal(s.inner, 7);
	assert_int_equal(s.uid[3], 4);
	assert_int_equal(s.sig_ignored, 16);
	assert_int_equal(s.seccomp, 2);
	assert_int_equal(proc_status_parse("Name:\tx\n", 8, &s), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_process),
		cmocka_unit_test(a_zombie),
		cmocka_unit_test(brace_itself),
		cmocka_unit_test(a_thread_of_the_kernel),
		cmocka_unit_test(a_threads_number),
		cmocka_unit_test(a_32_bit_program),
		cmocka_unit_test(another_users),
		cmocka_unit_test(not_dumpable),
		cmocka_unit_test(more_capabilities),
		cmocka_unit_test(another_user_namespace),
		cmocka_unit_test(yamas_rules),
		cmocka_unit_test(traced_already),
		cmocka_unit_test(seccomp_filters),
		cmocka_unit_test(filters_are_run_as_the_kernel_does),
		cmocka_unit_test(names_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
