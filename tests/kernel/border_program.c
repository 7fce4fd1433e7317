/* Two clients of a server, one with the descriptor 17, over TCP on the loopback device; then a file
 * as descriptor 17. The test `kernel` follows the client of 17 into the kernel
 * (tests/vm/border.sh). `border_program FILE buffer` passes two pages at a known address to system
 * calls instead, and other memory, too; `border_program - parts` five pages to TCP; `border_program
 * - segments` a part of a page, on a loopback device that does not cut packets itself;
 * `border_program FILE direct` uses direct I/O; `border_program - joins` sends small packets. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct client { int fd; char name[16]; };

#define NOINLINE static __attribute__((noinline, noclone))

NOINLINE ssize_t answer(struct client *c, const char *text)
{
	return write(c->fd, text, strlen(text));
}

NOINLINE ssize_t ask(struct client *c, char *into, size_t n)
{
	return read(c->fd, into, n);
}

NOINLINE ssize_t handle(struct client *c)
{
	char text[64];
	ssize_t n = ask(c, text, sizeof(text) - 1);

	if (n <= 0)
		return n;
	text[n] = '\0';
	return answer(c, text);
}

NOINLINE void drop(struct client *c)
{
	close(c->fd);
	c->fd = -1;
}

/* A connected pair over TCP: the peer's side, and the client's with this descriptor. segment: the
 * most that a packet takes at once; 0: as the device has it. */
static int connected_by(int fd, int segment)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int listens = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0), own;

	if ((segment && setsockopt(peer, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment))) ||
	    bind(listens, (struct sockaddr *)&a, n) || getsockname(listens, (struct sockaddr *)&a, &n) || listen(listens, 1) ||
	    connect(peer, (struct sockaddr *)&a, n) || (own = accept(listens, NULL, NULL)) < 0 || dup2(own, fd) != fd)
		exit(1);
	close(own);
	close(listens);
	return peer;
}

static int connected(int fd)
{
	return connected_by(fd, 0);
}

static void serve(int fd, int peer, const char *text)
{
	struct client *c = calloc(1, sizeof(*c));
	char back[64];

	c->fd = fd;
	if (write(peer, text, strlen(text)) < 0 || handle(c) < 0 || (peer != fd && read(peer, back, sizeof(back)) < 0))
		exit(2);
	drop(c);
	free(c);
}

/* --- a buffer ---------------------------------------------------------------------------- */

#define BUFFER ((char *)0x7e5000000000)
#define PAGE 4096

NOINLINE ssize_t give(int fd, const char *bytes, size_t n)
{
	return write(fd, bytes, n);
}

NOINLINE ssize_t take(int fd, char *bytes, size_t n)
{
	return read(fd, bytes, n);
}

/* The buffer's bytes are the second part. */
NOINLINE ssize_t gather(int fd, const char *first, const char *bytes, size_t n)
{
	struct iovec parts[] = { { (char *)first, n }, { (char *)bytes, n } };

	return writev(fd, parts, 2);
}

/* A UDP socket that is connected to itself. */
static int connected_datagrams(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (bind(fd, (struct sockaddr *)&a, n) || getsockname(fd, (struct sockaddr *)&a, &n) || connect(fd, (struct sockaddr *)&a, n))
		exit(1);
	return fd;
}

/* By UDP, and by a local socket: bytes of the buffer, and others. */
static int use_packets(const char *bytes, const char *other)
{
	int fd = connected_datagrams(), pair[2];
	char back[64];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || send(fd, bytes + 10, 20, 0) != 20 || recv(fd, back, sizeof(back), 0) != 20 ||
	       send(fd, other, 5, 0) != 5 || recv(fd, back, sizeof(back), 0) != 5 || send(pair[0], bytes, 25, 0) != 25 ||
	       recv(pair[1], back, sizeof(back), 0) != 25 || send(pair[0], other, 5, 0) != 5 || recv(pair[1], back, sizeof(back), 0) != 5;
}

/* Into a pipe, and by TCP behind bytes that wait: the kernel tells nobody where these go. */
static int use_unfollowed(int peer, const char *bytes, const char *other)
{
	int ends[2], wait = 1;
	char back[64];

	if (pipe(ends) || give(ends[1], bytes, 40) != 40 || take(ends[0], back, sizeof(back)) != 40 ||
	    setsockopt(peer, IPPROTO_TCP, TCP_CORK, &wait, sizeof(wait)) || give(peer, other, 5) != 5 || give(peer, bytes, 30) != 30)
		return 1;
	wait = 0;
	return setsockopt(peer, IPPROTO_TCP, TCP_CORK, &wait, sizeof(wait)) || take(17, back, 35) != 35;
}

static int use_buffer(const char *path)
{
	char *bytes = mmap(BUFFER, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), other[64] = "other";
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), peer = connected(17);

	memset(bytes, 'b', 100);
	/* Its second page is touched by the kernel first. */
	if (bytes != BUFFER || give(file, bytes, 100) != 100 || give(file, other, 50) != 50 || lseek(file, 0, SEEK_SET) ||
	    take(file, bytes + PAGE, 100) != 100 || take(file, other, 10) != 10)
		return 5;
	if (gather(file, other, bytes + 10, 20) != 40 || give(peer, bytes, 30) != 30 || take(17, bytes + 50, 30) != 30 || give(17, other, 5) != 5)
		return 6;
	return use_packets(bytes, other) ? 7 : use_unfollowed(peer, bytes, other) ? 8 : 0;
}

/* So many bytes at once, of which TCP may send ten small segments at first, that it splits its
 * packet. A child reads them. */
static int use_parts(void)
{
	const size_t n = 5 * PAGE;
	char *bytes = mmap(BUFFER, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), back[PAGE];
	int peer = connected_by(17, 536), status;
	size_t got = 0;
	ssize_t more;
	pid_t child = fork();

	if (child == 0) {
		close(peer);
		while (got < n && (more = read(17, back, sizeof(back))) > 0)
			got += (size_t)more;
		_exit(got != n);
	}
	memset(bytes, 'b', n);
	return give(peer, bytes, n) != (ssize_t)n || waitpid(child, &status, 0) != child || status;
}

/* Whether the loopback device takes packets of TCP as they are, or the kernel cuts them for it. */
static int set_offload(unsigned on)
{
	struct ethtool_value value = { .cmd = ETHTOOL_STSO, .data = on };
	struct ifreq request = { .ifr_name = "lo", .ifr_data = (char *)&value };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), bad = ioctl(fd, SIOCETHTOOL, &request);

	close(fd);
	return bad;
}

/* Six segments at once. */
static int use_segments(void)
{
	char *bytes = mmap(BUFFER, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), back[PAGE];
	const size_t n = 3000;
	int peer = connected_by(17, 536);
	size_t got = 0;
	ssize_t more;

	memset(bytes, 'b', n);
	if (set_offload(0) || give(peer, bytes, n) != (ssize_t)n)
		return 1;
	while (got < n && (more = read(17, back, sizeof(back))) > 0)
		got += (size_t)more;
	return set_offload(1) || got != n;
}

/* Waits until so many bytes lie in the receiver's queue. */
static void until_queued(int fd, int n)
{
	int queued = 0;

	while (ioctl(fd, FIONREAD, &queued) == 0 && queued < n)
		usleep(1000);
}

/* How many packets the kernel has copied together so far, because a queue was full. */
static long collapsed(void)
{
	char names[8192], values[8192], *n = names, *v = values, *name, *value;
	FILE *f = fopen("/proc/net/netstat", "re");
	long found = -1;

	if (!f)
		return -1;
	if (!fgets(names, sizeof(names), f) || !fgets(values, sizeof(values), f))
		*n = *v = '\0';
	fclose(f);
	while ((name = strsep(&n, " \n")) && (value = strsep(&v, " \n")))
		if (!strcmp(name, "TCPRcvCollapsed"))
			found = atol(value);
	return found;
}

/* Sends 200 packets of a byte to a receiver that acknowledges late: it can add none to another
 * packet, since the sender still has them. Its queue is small, and has to be made smaller. */
static int fill_queue(int peer, const char *bytes)
{
	char back[256];
	int small = 4096, zero = 0;

	if (setsockopt(17, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ||
	    setsockopt(17, IPPROTO_TCP, TCP_QUICKACK, &zero, sizeof(zero)))
		return 3;
	for (int i = 0; i < 200; i++)
		if (send(peer, bytes + i % 100, 1, MSG_DONTWAIT) != 1)
			break;
	return take(17, back, sizeof(back)) <= 0;
}

/* The receiver's kernel adds bytes of the buffer to a packet with others, that nobody has read.
 * Then a queue gets full, again on a new connection if the kernel found room without copying. */
static int use_joins(void)
{
	char *bytes = mmap(BUFFER, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), back[64];
	const long before = collapsed();
	int peer = connected(17), one = 1, r;

	memset(bytes, 'b', 100);
	if (setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) || give(peer, "other", 5) != 5)
		return 1;
	until_queued(17, 5);
	if (give(peer, bytes, 30) != 30)
		return 2;
	until_queued(17, 35);
	if (take(17, back, sizeof(back)) != 35)
		return 3;
	r = fill_queue(peer, bytes);
	for (int round = 0; !r && round < 20 && collapsed() == before; round++) {
		close(peer);
		close(17);
		peer = connected(17);
		if (setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			return 1;
		r = fill_queue(peer, bytes);
	}
	return r;
}

/* Two pages into the file and out of it by direct I/O, one by the page cache. */
static int use_direct(const char *path)
{
	char *bytes = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int direct = open(path, O_RDWR | O_DIRECT), cached = open(path, O_WRONLY);

	memset(bytes, 'b', 2 * PAGE);
	return pwrite(direct, bytes, 2 * PAGE, 0) != 2 * PAGE || pread(direct, bytes, 2 * PAGE, 0) != 2 * PAGE ||
	       pwrite(cached, bytes, PAGE, 2 * PAGE) != PAGE || fsync(cached);
}

int main(int argc, char **argv)
{
	int peer, other;
	struct client *c;

	if (argc == 3 && !strcmp(argv[2], "parts"))
		return use_parts();
	if (argc == 3 && !strcmp(argv[2], "direct"))
		return use_direct(argv[1]);
	if (argc == 3 && !strcmp(argv[2], "joins"))
		return use_joins();
	if (argc == 3 && !strcmp(argv[2], "segments"))
		return use_segments();
	if (argc == 3)
		return use_buffer(argv[1]);
	peer = connected(17);
	other = connected(18);
	serve(18, other, "other");
	serve(17, peer, "hello");
	if (argc < 2)
		return 0;
	/* a file, which takes the descriptor again */
	peer = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (peer < 0 || dup2(peer, 17) != 17)
		return 3;
	close(peer);
	c = calloc(1, sizeof(*c));
	c->fd = 17;
	if (answer(c, "into the file") != 13 || fsync(17))
		return 4;
	drop(c);
	return 0;
}
