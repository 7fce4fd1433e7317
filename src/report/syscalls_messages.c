/* SPDX-License-Identifier: MIT */
/* Memory of system calls of sockets, as strace writes it: addresses, the parts of vectors, messages
 * with their control messages, options. syscalls_structs.c calls it. The bytes are a program's:
 * each part of a message is looked for within what the record has. No state; nothing fails. Any
 * thread. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "report/syscalls_structs.h"
#include "shared/calls.h"

/* The address as inet_ntop writes it, which cannot fail for these two families. */
static void print_inet(const struct sockaddr_in *a, FILE *f)
{
	char text[INET_ADDRSTRLEN];

	fprintf(f, "{sa_family=AF_INET, sin_port=htons(%u), sin_addr=inet_addr(\"%s\")}",
		ntohs(a->sin_port), inet_ntop(AF_INET, &a->sin_addr, text, sizeof(text)));
}

static void print_inet6(const struct sockaddr_in6 *a, FILE *f)
{
	char text[INET6_ADDRSTRLEN];

	fprintf(f, "{sa_family=AF_INET6, sin6_port=htons(%u), sin6_flowinfo=htonl(%" PRIu32
		"), inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%" PRIu32 "}",
		ntohs(a->sin6_port), ntohl(a->sin6_flowinfo),
		inet_ntop(AF_INET6, &a->sin6_addr, text, sizeof(text)), a->sin6_scope_id);
}

/* n: bytes of the name; one that begins with NUL is abstract, has no end but that of the address,
 * and is written with @. */
static void print_unix(const char *path, uint32_t n, FILE *f)
{
	bool is_abstract = n && !*path;
	uint32_t length = is_abstract ? n - 1 : (uint32_t)strnlen(path, n);

	fputs("{sa_family=AF_UNIX", f);
	if (n) {
		fprintf(f, ", sun_path=%s", is_abstract ? "@" : "");
		syscalls_print_quoted((const uint8_t *)path + is_abstract, length, f);
	}
	fputc('}', f);
}

/* Copied, because a record's bytes are not aligned as the structures want it. The length tells how
 * much of it the program gave: an address shorter than its family's is not shown as one. */
bool syscalls_print_address(const uint8_t *at, uint32_t n, FILE *f)
{
	struct sockaddr_storage a = { 0 };

	if (n < sizeof(a.ss_family) || n > sizeof(a))
		return false;
	memcpy(&a, at, n);
	if (a.ss_family == AF_INET && n >= sizeof(struct sockaddr_in))
		print_inet((const struct sockaddr_in *)&a, f);
	else if (a.ss_family == AF_INET6 && n >= sizeof(struct sockaddr_in6))
		print_inet6((const struct sockaddr_in6 *)&a, f);
	else if (a.ss_family == AF_UNIX && n <= sizeof(struct sockaddr_un))
		print_unix(((const struct sockaddr_un *)&a)->sun_path,
			   n - (uint32_t)offsetof(struct sockaddr_un, sun_path), f);
	else
		return a.ss_family == AF_NETLINK && syscalls_print_netlink_address(at, n, f);
	return true;
}

/* The bytes of all parts lie behind each other in the record, and end where the copy ended: the
 * parts take from them in order. Netlink's messages are read where they lie in one part, as
 * libraries send them. */
void syscalls_print_vector(const uint8_t *at, uint32_t n, uint64_t all,
			   const struct syscalls_iov_data *from, FILE *f)
{
	const uint8_t *data = from->at;
	uint32_t bytes = from->n;
	uint64_t iov[2];

	fputc('[', f);
	for (uint32_t i = 0; i + sizeof(iov) <= n; i += sizeof(iov)) {
		uint32_t known;

		memcpy(iov, at + i, sizeof(iov));
		known = iov[1] < bytes ? (uint32_t)iov[1] : bytes;
		fputs(i ? ", {iov_base=" : "{iov_base=", f);
		if (from->known && from->netlink && n == sizeof(iov) &&
		    syscalls_print_netlink(data, known, from->all, from->netlink - 1, f)) {
			bytes -= known;
		} else if (from->known && (known || !iov[1] || from->whole)) {
			syscalls_print_quoted(data, known, f);
			fputs(known < iov[1] && !from->whole ? "..." : "", f);
			data = data ? data + known : NULL;
			bytes -= known;
		} else {
			fprintf(f, "0x%" PRIx64, iov[0]);
		}
		fprintf(f, ", iov_len=%" PRIu64 "}", iov[1]);
	}
	fputs(n / sizeof(iov) < all ? ", ...]" : "]", f);
}

/* --- messages ---------------------------------------------------------------------------- */

/* The bytes of a copied message that are not printed yet. */
struct message_rest { const uint8_t *at; uint32_t n; };

/* Takes a part of that length, at most `most` bytes of it; what is missing is not there. `bytes` is
 * a program's number of 64 bits: it is cut to `most`, what the agent copies, before it becomes 32
 * bits wide. */
static struct message_rest take_part(struct message_rest *rest, uint64_t bytes, uint32_t most)
{
	uint32_t n = bytes < most ? (uint32_t)bytes : most;
	struct message_rest part = { rest->at, n < rest->n ? n : rest->n };

	rest->at += part.n;
	rest->n -= part.n;
	return part;
}

static const struct syscall_name message_flags[] = {
	NAMED(MSG_OOB), NAMED(MSG_PEEK), NAMED(MSG_DONTROUTE), NAMED(MSG_CTRUNC), NAMED(MSG_TRUNC),
	NAMED(MSG_DONTWAIT), NAMED(MSG_EOR), NAMED(MSG_WAITALL), NAMED(MSG_ERRQUEUE),
	NAMED(MSG_NOSIGNAL), NAMED(MSG_MORE), NAMED(MSG_CMSG_CLOEXEC), NAMED_END };
static const struct syscall_name levels[] = {
	{ IPPROTO_IP, "SOL_IP" }, NAMED(SOL_SOCKET), { IPPROTO_TCP, "SOL_TCP" },
	{ IPPROTO_UDP, "SOL_UDP" }, { IPPROTO_IPV6, "SOL_IPV6" }, { IPPROTO_RAW, "SOL_RAW" },
	NAMED(SOL_NETLINK), { 263, "SOL_PACKET" }, NAMED_END };

static void print_descriptors(const struct syscalls_memory *m, const uint8_t *at, uint32_t n,
			      FILE *f)
{
	int32_t fd;

	fputc('[', f);
	for (uint32_t i = 0; i + sizeof(fd) <= n; i += (uint32_t)sizeof(fd)) {
		memcpy(&fd, at + i, sizeof(fd));
		fputs(i ? ", " : "", f);
		syscalls_print_descriptor(m, fd, f);
	}
	fputc(']', f);
}

/* Prints what a control message of that level and type has. 2 is SCM_CREDENTIALS, and the three
 * numbers are struct ucred (unix(7)). */
static void print_control_data(const struct syscalls_memory *m, int level, int type,
			       const uint8_t *at, uint32_t n, FILE *f)
{
	struct { int32_t pid; uint32_t uid, gid; } who;

	if (level == SOL_SOCKET && type == SCM_RIGHTS) {
		print_descriptors(m, at, n, f);
	} else if (level == SOL_SOCKET && type == 2 && n >= sizeof(who)) {
		memcpy(&who, at, sizeof(who));
		fprintf(f, "{pid=%" PRId32 ", uid=%" PRIu32 ", gid=%" PRIu32 "}", who.pid, who.uid,
			who.gid);
	} else {
		syscalls_print_hex(at, n, f);
	}
}

/* The kernel's layout (cmsg(3)): a header, its data, and padding to words. A header whose length is
 * less than its own would never end. */
static void print_control(const struct syscalls_memory *m, struct message_rest part, FILE *f)
{
	static const struct syscall_name types[] = { NAMED(SCM_RIGHTS), { 2, "SCM_CREDENTIALS" },
						     NAMED_END };
	struct cmsghdr c;

	fputc('[', f);
	for (bool first = true; part.n >= sizeof(c); first = false) {
		struct message_rest one, data;

		memcpy(&c, part.at, sizeof(c));
		if (c.cmsg_len < sizeof(c))
			break;
		/* A length that a program made up may be too large to be aligned. */
		one = take_part(&part, c.cmsg_len < part.n ? CMSG_ALIGN(c.cmsg_len) : part.n,
				UINT32_MAX);
		take_part(&one, sizeof(c), UINT32_MAX);
		data = take_part(&one, c.cmsg_len - sizeof(c), UINT32_MAX);
		fprintf(f, "%s{cmsg_len=%zu, cmsg_level=", first ? "" : ", ", c.cmsg_len);
		syscalls_print_name(levels, (uint32_t)c.cmsg_level, f);
		fputs(", cmsg_type=", f);
		syscalls_print_name(c.cmsg_level == SOL_SOCKET ? types : NULL,
				    (uint32_t)c.cmsg_type, f);
		if (c.cmsg_len > sizeof(c)) {
			fputs(", cmsg_data=", f);
			print_control_data(m, c.cmsg_level, c.cmsg_type, data.at, data.n, f);
		}
		fputc('}', f);
	}
	fputc(']', f);
}

/* The name: its address, where nothing of it is there or it is of no known family. */
static void print_name(const struct msghdr *h, struct message_rest part, FILE *f)
{
	if (!h->msg_name)
		fputs("NULL", f);
	else if (!part.n || !syscalls_print_address(part.at, part.n, f))
		fprintf(f, "%p", h->msg_name);
}

/* Prints one message of the bytes `rest`. received: bytes that the call filled in; -1: it is sent.
 * False: nothing is printed, not even the header is there. The record has the header and behind it,
 * without padding, the name, the vector, the control messages and the data, each as long as the
 * header says or as the agent's limit (CALL_MESSAGE_...). recvmsg's msg_namelen is shown with what
 * it was before, for which the text of the call's begin is read again. */
static bool print_one(const struct syscalls_memory *m, struct message_rest rest, int64_t received,
		      FILE *f)
{
	struct message_rest name, vector, control;
	struct syscalls_iov_data data;
	struct msghdr h;
	uint32_t asked;

	if (rest.n < sizeof(h))
		return false;
	memcpy(&h, rest.at, sizeof(h));
	take_part(&rest, sizeof(h), UINT32_MAX);
	name = take_part(&rest, h.msg_name ? h.msg_namelen : 0, CALL_MESSAGE_NAME);
	vector = take_part(&rest,
			   h.msg_iov && h.msg_iovlen <= UINT32_MAX / 16 ? 16 * h.msg_iovlen : 0,
			   16 * CALL_MESSAGE_IOVECS);
	control = take_part(&rest, h.msg_control ? h.msg_controllen : 0, CALL_MESSAGE_CONTROL);
	fputs("{msg_name=", f);
	print_name(&h, name, f);
	fputs(", msg_namelen=", f);
	if (m->before && sscanf(m->before, "{msg_namelen=%" SCNu32, &asked) == 1 &&
	    asked != h.msg_namelen)
		fprintf(f, "%" PRIu32 " => ", asked);
	fprintf(f, "%" PRIu32 ", msg_iov=", (uint32_t)h.msg_namelen);
	data = (struct syscalls_iov_data){
		rest.at, rest.n, true, received >= 0 && rest.n >= received,
		syscalls_files_netlink(m->s->files, m->call->pid, (uint32_t)m->call->args[0]),
		received >= 0 ? (uint64_t)received : 0 };
	/* A message that is sent has all bytes of its one part; netlink's are in no more. */
	if (received < 0 && vector.n >= 16)
		memcpy(&data.all, vector.at + 8, sizeof(data.all));
	syscalls_print_vector(vector.at, vector.n, h.msg_iovlen, &data, f);
	fprintf(f, ", msg_iovlen=%zu", h.msg_iovlen);
	if (h.msg_controllen) {
		fputs(", msg_control=", f);
		print_control(m, control, f);
	}
	fprintf(f, ", msg_controllen=%zu, msg_flags=", h.msg_controllen);
	syscalls_print_flags(message_flags, (uint32_t)h.msg_flags, f);
	fputc('}', f);
	return true;
}

bool syscalls_print_message(const struct syscalls_memory *m, FILE *f)
{
	return print_one(m, (struct message_rest){ m->at, m->n }, m->after ? m->result : -1, f);
}

/* Before each message stand the bytes that it takes here, and msg_len, which the call sets. Their
 * number is the agent's word, but stands in a file that anybody may have written: one that is less
 * than a header ends the list. */
static bool print_messages(const struct syscalls_memory *m, bool received, FILE *f)
{
	struct message_rest rest = { m->at, m->n }, one;
	uint32_t head[2];
	int64_t n = 0;

	if (rest.n < sizeof(head) + sizeof(struct msghdr))
		return false;
	fputc('[', f);
	for (; rest.n >= sizeof(head) + sizeof(struct msghdr); n++) {
		memcpy(head, rest.at, sizeof(head));
		if (head[0] < sizeof(struct msghdr))
			break;
		take_part(&rest, sizeof(head), UINT32_MAX);
		one = take_part(&rest, head[0], UINT32_MAX);
		fputs(n ? ", {msg_hdr=" : "{msg_hdr=", f);
		print_one(m, one, received ? (int64_t)head[1] : -1, f);
		if (m->after)
			fprintf(f, ", msg_len=%" PRIu32, head[1]);
		fputc('}', f);
	}
	fputs(n < (m->after ? m->result : (int64_t)m->call->args[2]) ? ", ...]" : "]", f);
	return true;
}

/* sendmmsg and recvmmsg have the same structure; msg_len is how much of each was sent or received,
 * so that it is shown behind the call alone. */
bool syscalls_print_sent_messages(const struct syscalls_memory *m, FILE *f)
{
	return print_messages(m, false, f);
}

bool syscalls_print_received_messages(const struct syscalls_memory *m, FILE *f)
{
	return print_messages(m, true, f);
}

/* All that is known of a message before it is received. It is struct msghdr's second member, behind
 * a pointer. */
bool syscalls_print_message_room(const struct syscalls_memory *m, FILE *f)
{
	uint32_t n;

	if (m->n < 16)
		return false;
	memcpy(&n, m->at + 8, sizeof(n));
	fprintf(f, "{msg_namelen=%" PRIu32 "}", n);
	return true;
}

/* --- options ----------------------------------------------------------------------------- */

/* Options that C libraries name by the width of the time in them (SO_RCVTIMEO) stand with the
 * kernel's own name of the old one, as in strace. */
static const struct syscall_name socket_options[] = { NAMED(SO_DEBUG),
						      NAMED(SO_REUSEADDR),
						      NAMED(SO_TYPE),
						      NAMED(SO_ERROR),
						      NAMED(SO_DONTROUTE),
						      NAMED(SO_BROADCAST),
						      NAMED(SO_SNDBUF),
						      NAMED(SO_RCVBUF),
						      NAMED(SO_KEEPALIVE),
						      NAMED(SO_OOBINLINE),
						      NAMED(SO_NO_CHECK),
						      NAMED(SO_PRIORITY),
						      NAMED(SO_LINGER),
						      NAMED(SO_BSDCOMPAT),
						      NAMED(SO_REUSEPORT),
						      NAMED(SO_PASSCRED),
						      NAMED(SO_PEERCRED),
						      NAMED(SO_RCVLOWAT),
						      NAMED(SO_SNDLOWAT),
						      { 20, "SO_RCVTIMEO_OLD" },
						      { 21, "SO_SNDTIMEO_OLD" },
						      NAMED(SO_BINDTODEVICE),
						      NAMED(SO_ATTACH_FILTER),
						      { 29, "SO_TIMESTAMP_OLD" },
						      NAMED(SO_ACCEPTCONN),
						      NAMED(SO_PEERSEC),
						      NAMED(SO_SNDBUFFORCE),
						      NAMED(SO_RCVBUFFORCE),
						      NAMED(SO_PASSSEC),
						      NAMED(SO_MARK),
						      NAMED(SO_PROTOCOL),
						      NAMED(SO_DOMAIN),
						      NAMED(SO_BUSY_POLL),
						      NAMED(SO_INCOMING_CPU),
						      NAMED(SO_COOKIE),
						      NAMED(SO_PEERGROUPS),
						      NAMED(SO_ZEROCOPY),
						      NAMED_END };
static const struct syscall_name tcp_options[] = {
	NAMED(TCP_NODELAY), NAMED(TCP_MAXSEG), NAMED(TCP_CORK), NAMED(TCP_KEEPIDLE),
	NAMED(TCP_KEEPINTVL), NAMED(TCP_KEEPCNT), NAMED(TCP_SYNCNT), NAMED(TCP_LINGER2),
	NAMED(TCP_DEFER_ACCEPT), NAMED(TCP_WINDOW_CLAMP), NAMED(TCP_INFO), NAMED(TCP_QUICKACK),
	NAMED(TCP_CONGESTION), NAMED(TCP_USER_TIMEOUT), NAMED(TCP_FASTOPEN), NAMED_END };
static const struct syscall_name ip_options[] = {
	NAMED(IP_TOS), NAMED(IP_TTL), NAMED(IP_HDRINCL), NAMED(IP_OPTIONS), NAMED(IP_RECVOPTS),
	NAMED(IP_PKTINFO), NAMED(IP_MTU_DISCOVER), NAMED(IP_RECVERR), NAMED(IP_RECVTTL),
	NAMED(IP_MTU), NAMED(IP_FREEBIND), NAMED(IP_MULTICAST_IF), NAMED(IP_MULTICAST_TTL),
	NAMED(IP_MULTICAST_LOOP), NAMED(IP_ADD_MEMBERSHIP), NAMED(IP_DROP_MEMBERSHIP),
	NAMED(IP_BIND_ADDRESS_NO_PORT), NAMED_END };
static const struct syscall_name ip6_options[] = {
	NAMED(IPV6_UNICAST_HOPS),   NAMED(IPV6_MULTICAST_IF), NAMED(IPV6_MULTICAST_HOPS),
	NAMED(IPV6_MULTICAST_LOOP), NAMED(IPV6_V6ONLY),	      NAMED(IPV6_RECVERR),
	NAMED(IPV6_RECVPKTINFO),    NAMED(IPV6_TCLASS),	      NAMED_END
};

void syscalls_print_level(uint32_t level, FILE *f)
{
	syscalls_print_name(levels, level, f);
}

static const struct syscall_name netlink_options[] = {
	NAMED(NETLINK_ADD_MEMBERSHIP), NAMED(NETLINK_DROP_MEMBERSHIP), NAMED(NETLINK_PKTINFO),
	NAMED(NETLINK_BROADCAST_ERROR), NAMED(NETLINK_NO_ENOBUFS), NAMED(NETLINK_LISTEN_ALL_NSID),
	NAMED(NETLINK_LIST_MEMBERSHIPS), NAMED(NETLINK_CAP_ACK), NAMED(NETLINK_EXT_ACK),
	NAMED(NETLINK_GET_STRICT_CHK), NAMED_END };

/* Numbers of options mean something within their level only. */
void syscalls_print_option(uint32_t level, uint32_t option, FILE *f)
{
	const struct syscall_name *names = level == SOL_SOCKET ? socket_options
					 : level == IPPROTO_TCP ? tcp_options
					 : level == IPPROTO_IP ? ip_options
					 : level == IPPROTO_IPV6 ? ip6_options
					 : level == SOL_NETLINK ? netlink_options
								 : NULL;

	syscalls_print_name(names, option, f);
}

/* Prints the value of a socket option, of the size that the program or the kernel has said:
 * numbers, and two structures. A size that fits no structure is shown as bytes: an option of that
 * number may have another type in a later kernel. */
bool syscalls_print_option_value(const struct syscalls_memory *m, FILE *f)
{
	const uint32_t level = (uint32_t)m->call->args[1], option = (uint32_t)m->call->args[2];
	/* An option that getsockopt gave is as long as the kernel said. */
	uint32_t n = m->after ? m->call->length : m->n;
	struct linger l;
	struct timeval t;
	int32_t v;

	n = n < m->n ? n : m->n;
	if (level == SOL_SOCKET && option == SO_LINGER && n == sizeof(l)) {
		memcpy(&l, m->at, sizeof(l));
		fprintf(f, "{l_onoff=%d, l_linger=%d}", l.l_onoff, l.l_linger);
	} else if (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO) &&
		   n == sizeof(t)) {
		memcpy(&t, m->at, sizeof(t));
		fprintf(f, "{tv_sec=%" PRId64 ", tv_usec=%" PRId64 "}", (int64_t)t.tv_sec,
			(int64_t)t.tv_usec);
	} else if (level == SOL_SOCKET && option == SO_ERROR && n == sizeof(v)) {
		memcpy(&v, m->at, sizeof(v));
		fprintf(f, "[%s]", v && strerrorname_np(v) ? strerrorname_np(v) : "0");
	} else if (n == sizeof(v)) {
		memcpy(&v, m->at, sizeof(v));
		fprintf(f, "[%" PRId32 "]", v);
	} else {
		syscalls_print_hex(m->at, n, f);
	}
	return true;
}
