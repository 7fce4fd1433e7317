/* Prints "ready", and at a line of its standard input waits in vfork until the next one: meanwhile
 * it cannot be stopped. The child says "in vfork". Prints "well" and ends with 7 at a third. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void wait_in_vfork(void)
{
	static const char said[] = "in vfork\n";
	char byte;

	if (vfork() == 0) {
		(void)!write(1, said, strlen(said));
		(void)!read(0, &byte, 1);
		_exit(0);
	}
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void say(const char *what)
{
	(void)!write(1, what, strlen(what));
}

int main(void)
{
	char byte;

	say("ready\n");
	(void)!read(0, &byte, 1);
	wait_in_vfork();
	say("out of vfork\n");
	(void)!read(0, &byte, 1);
	say("well\n");
	return 7;
}
