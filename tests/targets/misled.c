/* A program with a marker whose note says that its semaphore is where other processes' memory is:
 * `misled FILE` has FILE mapped there, shared. It says "ready", passes the marker until it is
 * terminated, and says "right" if nobody wrote to the file. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SHARED 0x700000000 /* the program is at fixed addresses: so the note can say where */
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"
	".balign 4\n"
	".4byte 2f - 1f, 4f - 3f, 3\n"
	"1: .asciz \"stapsdt\"\n"
	"2: .balign 4\n"
	"3: .8byte misled_here, 0, " TEXT_OF(SHARED) "\n"
	".asciz \"misled\"\n"
	".asciz \"here\"\n"
	".asciz \"\"\n"
	"4: .balign 4\n"
	".popsection");

static volatile sig_atomic_t ends;

static void end(int sig)
{
	(void)sig;
	ends = 1;
}

__attribute__((noinline, noclone)) static void pass(unsigned *n)
{
	++*n;
	__asm__ volatile("misled_here: nop" : : : "memory");
}

int main(int argc, char **argv)
{
	const struct timespec moment = { 0, 1000000 };
	volatile unsigned short *word = (void *)SHARED;
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1, written = 0;
	unsigned n = 0;

	if (fd < 0 || mmap((void *)SHARED, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != (void *)SHARED)
		return 1;
	signal(SIGTERM, end);
	puts("ready");
	fflush(stdout);
	while (!ends) {
		pass(&n);
		written |= *word;
		nanosleep(&moment, NULL);
	}
	puts(written ? "written" : "right");
	return written;
}
