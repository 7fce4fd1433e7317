/* One TCP connection whose packets have a mark, for the test `kernel` (tests/vm/network.sh):
 * marked_program ADDRESS PORT MARK. It sends 3,000 bytes, ends its side, reads them back to the
 * other side's end, and says how many came. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES 3000

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	static char bytes[BYTES];
	int fd = socket(AF_INET, SOCK_STREAM, 0), mark;
	ssize_t n, all = 0;

	if (argc != 4)
		return 2;
	mark = strtol(argv[3], NULL, 0);
	to.sin_port = htons(atoi(argv[2]));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 || setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) || write(fd, bytes, sizeof(bytes)) != BYTES || shutdown(fd, SHUT_WR)) {
		perror("marked_program");
		return 1;
	}
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		all += n;
	printf("%zd\n", all);
	return n || all != BYTES;
}
