/* Waits in vfork until its standard input brings a byte, or ends: until then it cannot be stopped.
 * Then it says "well". */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	char byte;

	if (vfork() == 0) {
		(void)!read(0, &byte, 1);
		_exit(0);
	}
	puts("well");
	return 7;
}
