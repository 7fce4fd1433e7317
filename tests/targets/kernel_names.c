/* A program whose functions are named as some of the kernel's: what a kernel answers to a filter
 * with these names, brace must answer behind this program (tests/run/oracle.sh). They stand in the
 * order in which Linux 6.12 lists them, and each glob of tests/oracle/operations means the same of
 * them here as there. Waits for its input's end. */
#include <stdio.h>
#include <unistd.h>

#define NAMED(name) \
	__attribute__((noinline, used)) void name(void) \
	{ \
		static volatile int calls; \
		calls++; \
	}

NAMED(vdso_mremap)
NAMED(vdso_fault)
NAMED(vdso_join_timens)
NAMED(hrtimer_nanosleep)
NAMED(vdso_update_begin)
NAMED(vdso_update_end)
NAMED(ksys_lseek)
NAMED(vfs_readv)
NAMED(vfs_writev)
NAMED(vfs_read)
NAMED(vfs_write)
NAMED(ksys_read)
NAMED(ksys_write)
NAMED(vfs_readlink)
NAMED(do_nanosleep)

int main(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
