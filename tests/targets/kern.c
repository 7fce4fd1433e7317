/* SPDX-License-Identifier: MIT A program that does what tests of ftrace expect of a kernel: on each
 * processor a thread ticks, which schedules and takes locks; forks come and go. Functions and
 * events have the kernel's names. `kern lone`: one thread, which ticks once for each line it reads,
 * and forks nothing: how often what is called is known. */
#include <brace/event.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kern_kmalloc.h"
#include "kern_sched.h"
#include "kern_show.h"

#define TICK_US 700
#define FORK_US 3000

BRACE_EVENT(kmem, kmem_cache_free, BRACE_PROTO(void *site, void *at, const char *name), BRACE_ARGS(site, at, name),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, call_site, (unsigned long)site), BRACE_FIELD(unsigned long, ptr, (unsigned long)at),
		     BRACE_STRING(name, name)),
	BRACE_PRINT("call_site=%pS ptr=%p name=%s", (void *)REC->call_site, (void *)REC->ptr, __get_str(name)))
BRACE_EVENT(kmem, kmem_cache_alloc, BRACE_PROTO(void *site, void *at), BRACE_ARGS(site, at),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, call_site, (unsigned long)site), BRACE_FIELD(unsigned long, ptr, (unsigned long)at)),
	BRACE_PRINT("call_site=%pS ptr=%p", (void *)REC->call_site, (void *)REC->ptr))
BRACE_EVENT(kmem, kfree, BRACE_PROTO(void *site, const void *at), BRACE_ARGS(site, at),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, call_site, (unsigned long)site), BRACE_FIELD(unsigned long, ptr, (unsigned long)at)),
	BRACE_PRINT("call_site=%pS ptr=%p", (void *)REC->call_site, (void *)REC->ptr))
BRACE_EVENT(timer, timer_start, BRACE_PROTO(unsigned long n), BRACE_ARGS(n),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, expires, n)), BRACE_PRINT("expires=%lu", REC->expires))
BRACE_EVENT(irq, softirq_entry, BRACE_PROTO(unsigned vec), BRACE_ARGS(vec),
	BRACE_FIELDS(BRACE_FIELD(unsigned, vec, vec)), BRACE_PRINT("vec=%u", REC->vec))
BRACE_EVENT(signal, signal_generate, BRACE_PROTO(int sig, int errno_), BRACE_ARGS(sig, errno_),
	BRACE_FIELDS(BRACE_FIELD(int, sig, sig), BRACE_FIELD(int, errno, errno_)), BRACE_PRINT("sig=%d errno=%d", REC->sig, REC->errno))

#define KERNEL __attribute__((noinline, noclone))

/* The text of /proc/version, as the kernel's variable has it but for what it puts in when asked. */
char linux_proc_banner[512];

static volatile long work;
static __thread char a_task[64];

KERNEL void _raw_spin_lock(void) { work++; }
KERNEL void _raw_spin_unlock(void) { work--; }
KERNEL int mutex_trylock(void) { return (int)++work; }
KERNEL void mutex_lock(void) { _raw_spin_lock(); work++; }
KERNEL void mutex_unlock(void) { _raw_spin_unlock(); work++; }
KERNEL void rcu_read_lock(void) { work++; }
KERNEL void rcu_read_unlock(void) { work--; }
KERNEL void rcu_note_context_switch(void) { rcu_read_lock(); rcu_read_unlock(); work++; }
KERNEL void kmem_cache_free(void) { brace_kmem_kmem_cache_free(__builtin_return_address(0), a_task, "task_struct"); work++; }
KERNEL void kmalloc_noprof(unsigned long n) { brace_kmem_kmalloc(__builtin_return_address(0), n); work++; }

/* The deepest: what a stack tracer finds. */
KERNEL void update_curr(long depth)
{
	volatile char frame[256];

	frame[depth] = 1;
	work += frame[depth];
	if (depth)
		update_curr(depth - 1);
	work++;
}

KERNEL void pick_next_task(void) { update_curr(3); work++; }

KERNEL void schedule(void)
{
	rcu_note_context_switch();
	_raw_spin_lock();
	pick_next_task();
	_raw_spin_unlock();
}

KERNEL void *kmem_cache_alloc(void) { brace_kmem_kmem_cache_alloc(__builtin_return_address(0), a_task); work++; return a_task; }
KERNEL void release_task(void) { kmem_cache_free(); work++; }
KERNEL void free_task(void) { kmem_cache_free(); kmem_cache_free(); work++; }
KERNEL long vfs_read(void *file, char *buf, size_t count, long *pos)
{
	mutex_lock();
	kmalloc_noprof(count);
	mutex_unlock();
	return work += file == (void *)buf || !pos;
}
KERNEL void vfs_write(void) { mutex_trylock(); work++; }
KERNEL void vfs_open(const void *path, void *file) { work += path != file; }
KERNEL void ksys_read(void) { long pos = 0; vfs_read(a_task, a_task, 64, &pos); work++; }
KERNEL void sys_read(void) { ksys_read(); work++; }
KERNEL void console_unlock(void) { work++; }
KERNEL void do_execve(void) { long pos = 0; vfs_open("/", a_task); vfs_read(a_task, a_task, 64, &pos); work++; }
KERNEL void do_exit(void) { release_task(); work++; }
KERNEL void uevent_show(void) __asm__("uevent_show.isra.0"); /* as a compiler names what it has changed */
KERNEL void uevent_show(void) { work--; }
KERNEL long inet_csk_accept(void) { return ++work; }
KERNEL void kfree(void *object) { brace_kmem_kfree(__builtin_return_address(0), object); work += (long)object; }
static __attribute__((noinline, noclone)) long name_show(long n) { return work += n; }
KERNEL int proc_reg_write(void) { work++; return -5; }

KERNEL void sched_tick(unsigned long n)
{
	static const char name[16] = "kern";

	brace_timer_timer_start(n);
	brace_irq_softirq_entry(1);
	brace_sched_sched_waking(name, getpid(), 120);
	brace_sched_sched_wakeup(name, getpid(), 120);
	schedule();
	free_task();
	brace_signal_signal_generate(17, 0);
	sys_read();
	vfs_write();
	console_unlock();
	uevent_show();
	work += shown_elsewhere(name_show(1));
	kfree(kmem_cache_alloc());
	if (n == ~0ul)
		kfree((void *)inet_csk_accept());
}

KERNEL void schedule_timeout(useconds_t us) { usleep(us); work++; }

KERNEL pid_t kernel_clone(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		do_execve();
		do_exit();
		_exit(0);
	}
	return pid;
}

/* A thread of a real-time class, where one may be had, which the ticks wake. */
static sem_t word;

static void *waits(void *unused)
{
	const struct sched_param first = { .sched_priority = 5 };

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	for (;;)
		sem_wait(&word);
	return unused;
}

static void *ticks(void *arg)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)arg, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	for (unsigned long n = 0;; n++) {
		sched_tick(n);
		if (n % 16 == 0)
			sem_post(&word);
		schedule_timeout(TICK_US);
	}
	return NULL;
}

static void read_banner(void)
{
	FILE *version = fopen("/proc/version", "r");

	if (!version)
		return;
	if (!fgets(linux_proc_banner, sizeof(linux_proc_banner), version))
		*linux_proc_banner = '\0';
	fclose(version);
}

static int lone(void)
{
	char line[256];

	puts("ready");
	fflush(stdout);
	for (unsigned long n = 0; fgets(line, sizeof(line), stdin); n++) {
		sched_tick(n);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "lone"))
		return lone();
	read_banner();
	sem_init(&word, 0, 0);
	pthread_create(&thread, NULL, waits, NULL);
	for (long i = 0; i < cpus; i++)
		pthread_create(&thread, NULL, ticks, (void *)i);
	for (;;) {
		pid_t pid = kernel_clone();

		proc_reg_write();
		if (pid > 0)
			waitpid(pid, NULL, 0);
		usleep(FORK_US);
	}
}
