/* The record that a program to be killed keeps of its own deeds, where its death does not reach. */
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { LEDGER_THREADS = 60, LEDGER_HANDLED = LEDGER_THREADS - 2 };

struct ledger {
	volatile pid_t pid;
	volatile int waits;  /* set by the program: it stands still */
	volatile int go;     /* set by others: it may go on */
	volatile int started; /* set by the program: it has called step once */
	volatile int tid;    /* of the thread that meant to die */
	volatile int handles; /* set by the program: SIGUSR1 has its handler */
	volatile unsigned long deep;                  /* calls of deeper, one thread's */
	volatile unsigned long step, run;             /* where these functions are: run calls step */
	volatile unsigned long calls[LEDGER_THREADS]; /* of step, by thread; LEDGER_HANDLED: of all handlers */
};

/* NULL if it cannot be had. */
static inline struct ledger *ledger_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct ledger)) == 0)
		at = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}
