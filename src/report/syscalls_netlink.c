/* SPDX-License-Identifier: MIT */
/* Messages of netlink, as strace writes them: their headers, what an answer says, and of requests
 * of routes the family. What else a message has is bytes. The bytes are a program's: a length that
 * is more than there are ends the list. syscalls_messages.c and syscalls_structs.c call it. No
 * state; nothing fails. Any thread. */
#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "report/syscalls_structs.h"

static const struct syscall_name families[] = { NAMED(AF_UNSPEC), NAMED(AF_UNIX), NAMED(AF_INET),
						NAMED(AF_BRIDGE), NAMED(AF_INET6),
						NAMED(AF_PACKET), NAMED_END };
static const struct syscall_name controls[] = { NAMED(NLMSG_NOOP), NAMED(NLMSG_ERROR),
						NAMED(NLMSG_DONE), NAMED(NLMSG_OVERRUN),
						NAMED_END };
#define ALL_OF(what) NAMED(RTM_NEW##what), NAMED(RTM_DEL##what), NAMED(RTM_GET##what)
static const struct syscall_name route_types[] = {
	ALL_OF(LINK), NAMED(RTM_SETLINK), ALL_OF(ADDR), ALL_OF(ROUTE), ALL_OF(NEIGH),
	ALL_OF(RULE), ALL_OF(QDISC), ALL_OF(TCLASS), ALL_OF(TFILTER), ALL_OF(ACTION),
	NAMED(RTM_NEWPREFIX), NAMED(RTM_GETMULTICAST), NAMED(RTM_GETANYCAST),
	NAMED(RTM_NEWNEIGHTBL), NAMED(RTM_GETNEIGHTBL), NAMED(RTM_SETNEIGHTBL),
	NAMED(RTM_NEWNDUSEROPT), ALL_OF(ADDRLABEL), NAMED(RTM_GETDCB), NAMED(RTM_SETDCB),
	ALL_OF(NETCONF), ALL_OF(MDB), ALL_OF(NSID), NAMED(RTM_NEWSTATS), NAMED(RTM_GETSTATS),
	NAMED_END };

#define FLAGS_OF_ALL                                                                      \
	NAMED(NLM_F_REQUEST), NAMED(NLM_F_MULTI), NAMED(NLM_F_ACK), NAMED(NLM_F_ECHO),    \
		NAMED(NLM_F_DUMP_INTR), NAMED(NLM_F_DUMP_FILTERED)
/* A bit means something else in each sort of message. */
static const struct syscall_name plain_flags[] = { FLAGS_OF_ALL, NAMED_END };
static const struct syscall_name get_flags[] = { FLAGS_OF_ALL, NAMED(NLM_F_DUMP),
						 NAMED(NLM_F_ROOT), NAMED(NLM_F_MATCH),
						 NAMED(NLM_F_ATOMIC), NAMED_END };
static const struct syscall_name new_flags[] = { FLAGS_OF_ALL, NAMED(NLM_F_REPLACE),
						 NAMED(NLM_F_EXCL), NAMED(NLM_F_CREATE),
						 NAMED(NLM_F_APPEND), NAMED_END };
static const struct syscall_name delete_flags[] = { FLAGS_OF_ALL, NAMED(NLM_F_NONREC), NAMED_END };
static const struct syscall_name answer_flags[] = { FLAGS_OF_ALL, NAMED(NLM_F_CAPPED),
						    NAMED(NLM_F_ACK_TLVS), NAMED_END };

bool syscalls_print_netlink_address(const uint8_t *at, uint32_t n, FILE *f)
{
	struct sockaddr_nl a;

	if (n < sizeof(a))
		return false;
	memcpy(&a, at, sizeof(a));
	fprintf(f, "{sa_family=AF_NETLINK, nl_pid=%" PRIu32 ", nl_groups=%08" PRIx32 "}", a.nl_pid,
		a.nl_groups);
	return true;
}

/* Types of routes come in fours: new, delete, get, set. linux/rtnetlink.h: RTM_BASE is 16, so that
 * the lowest two bits tell which one. Other protocols number their messages as they like. */
static const struct syscall_name *flags_of(unsigned protocol, uint16_t type)
{
	static const struct syscall_name *const by_sort[4] = { new_flags, delete_flags, get_flags,
							       plain_flags };

	if (type == NLMSG_ERROR)
		return answer_flags;
	return type < NLMSG_MIN_TYPE || protocol != NETLINK_ROUTE ? plain_flags : by_sort[type & 3];
}

static void print_header(const struct nlmsghdr *h, unsigned protocol, FILE *f)
{
	const bool routes = protocol == NETLINK_ROUTE && h->nlmsg_type >= NLMSG_MIN_TYPE;

	fprintf(f, "{nlmsg_len=%" PRIu32 ", nlmsg_type=", h->nlmsg_len);
	syscalls_print_name(routes ? route_types : controls, h->nlmsg_type, f);
	fputs(", nlmsg_flags=", f);
	syscalls_print_flags(flags_of(protocol, h->nlmsg_type), h->nlmsg_flags, f);
	fprintf(f, ", nlmsg_seq=%" PRIu32 ", nlmsg_pid=%" PRIu32 "}", h->nlmsg_seq, h->nlmsg_pid);
}

/* Member of the structure with which such a request begins. */
static const char *family_member(uint16_t type)
{
	switch (type) {
	case RTM_GETLINK: return "ifi";
	case RTM_GETADDR: return "ifa";
	case RTM_GETROUTE: return "rtm";
	case RTM_GETNEIGH: return "ndm";
	default: return NULL;
	}
}

static uint32_t print_message(const uint8_t *at, uint32_t n, uint64_t left, unsigned protocol,
			      FILE *f);

/* with_message: the one that is answered follows. It is struct nlmsgerr: an errno below 0, or 0 for
 * an acknowledgement. print_message() reads the request and so calls itself, with 20 bytes less
 * each time. */
static void print_answer(const uint8_t *at, uint32_t n, bool with_message, unsigned protocol,
			 FILE *f)
{
	int32_t error;

	memcpy(&error, at, sizeof(error));
	fputs(with_message ? "{error=" : "", f);
	if (error < 0 && error > INT32_MIN && strerrorname_np(-error))
		fprintf(f, "-%s", strerrorname_np(-error));
	else
		fprintf(f, "%" PRId32, error);
	if (!with_message)
		return;
	fputs(", msg=", f);
	at += sizeof(error);
	n -= (uint32_t)sizeof(error);
	print_message(at, n, n, protocol, f);
	fputc('}', f);
}

/* cut: not all of it is there. */
static void print_payload(const struct nlmsghdr *h, const uint8_t *at, uint32_t n, bool cut,
			  unsigned protocol, FILE *f)
{
	const char *member = protocol == NETLINK_ROUTE ? family_member(h->nlmsg_type) : NULL;

	if (h->nlmsg_type == NLMSG_DONE && n >= sizeof(int32_t)) {
		print_answer(at, n, false, protocol, f);
	} else if (h->nlmsg_type == NLMSG_ERROR && n >= sizeof(int32_t)) {
		print_answer(at, n, true, protocol, f);
	} else if (member && n && n <= sizeof(uint32_t)) {
		fprintf(f, "{%s_family=", member);
		syscalls_print_name(families, *at, f);
		fputs(", ...}", f);
	} else {
		syscalls_print_hex(at, n, f);
		fputs(cut ? "..." : "", f);
	}
}

/* Returns the bytes of the message, with what aligns the next one. Fewer than a header's are no
 * message; one that says that it is shorter than its header is alone. left: bytes that the call had
 * from here on, of which n are there. */
static uint32_t print_message(const uint8_t *at, uint32_t n, uint64_t left, unsigned protocol,
			      FILE *f)
{
	struct nlmsghdr h;
	uint32_t all;
	bool has_payload;

	if (n < sizeof(h)) {
		syscalls_print_hex(at, n, f);
		return n;
	}
	memcpy(&h, at, sizeof(h));
	all = h.nlmsg_len < n ? h.nlmsg_len : n;
	/* A length that the call did not have is the program's mistake. */
	has_payload = h.nlmsg_len > sizeof(h) && left > sizeof(h);
	fputs(has_payload ? "[" : "", f);
	print_header(&h, protocol, f);
	if (has_payload) {
		fputs(", ", f);
		print_payload(&h, at + sizeof(h), all - (uint32_t)sizeof(h), all < h.nlmsg_len,
			      protocol, f);
		fputc(']', f);
	}
	return h.nlmsg_len >= sizeof(h) && all < n - 3 ? NLMSG_ALIGN(all) : n;
}

/* Whether the first message of these bytes is the only one of `all`. strace puts brackets around
 * several messages, not around one. A length below a header's ends the list with this one. */
static bool is_alone(const uint8_t *at, uint32_t n, uint64_t all)
{
	uint32_t length = 0;

	if (n >= sizeof(struct nlmsghdr))
		memcpy(&length, at, sizeof(length));
	/* NLMSG_ALIGN() counts in 32 bits, where the largest length is aligned to none. */
	return length < sizeof(struct nlmsghdr) || length >= all || NLMSG_ALIGN(length) >= all;
}

bool syscalls_print_netlink(const uint8_t *at, uint32_t n, uint64_t all, unsigned protocol, FILE *f)
{
	const bool alone = is_alone(at, n, all);

	if (!n)
		return false;
	fputs(alone ? "" : "[", f);
	for (uint32_t done = 0; done < n;) {
		const uint64_t left = all > done ? all - done : 0;

		fputs(done ? ", " : "", f);
		done += print_message(at + done, n - done, left, protocol, f);
		if (alone)
			return true;
	}
	fputs(n < all ? ", ...]" : "]", f);
	return true;
}

bool syscalls_print_netlink_bytes(const struct syscalls_memory *m, FILE *f)
{
	const unsigned netlink =
		syscalls_files_netlink(m->s->files, m->call->pid, (uint32_t)m->call->args[0]);

	return netlink && syscalls_print_netlink(m->at, m->n,
						 m->after ? (uint64_t)m->result : m->call->args[2],
						 netlink - 1, f);
}
