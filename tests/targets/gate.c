/* gate FIFO END PROGRAM [ARGUMENT]...: waits for somebody who writes to the FIFO, then becomes the
 * program, with END open for writing: who reads END learns when the program and all its children
 * are no more. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char byte;
	int fd = argc > 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || read(fd, &byte, 1) != 1 || open(argv[2], O_WRONLY) < 0)
		return 1;
	execv(argv[3], argv + 3);
	return 1;
}
