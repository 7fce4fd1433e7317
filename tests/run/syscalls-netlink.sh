#!/bin/bash
# `brace syscalls --lines`: netlink's addresses and messages, and the calls about nodes of memory, against the lines of strace.
. "$(dirname "$0")/lib.sh"
need strace
cat >"$T/calls.c" <<'C'
#include <linux/mempolicy.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
/* libc's syscall() is the agent's in launched programs: its returns are not seen. */
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;

	asm volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
}
#define CALL(n, a, b, c, d, e, f) call(SYS_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
static char *p;
static void nodes(void)
{
	unsigned long mask[16] = { 1 }, got[16] = { 0 }, none[16] = { 0 };
	int mode = 7, to[2] = { 0, 0 }, status[2];
	void *pages[2] = { p, p + 4096 };

	CALL(mbind, p, 8192, MPOL_BIND | MPOL_F_STATIC_NODES, mask, 64, MPOL_MF_MOVE | MPOL_MF_STRICT);
	CALL(mbind, p, 8192, MPOL_INTERLEAVE, 0, 0, 0);
	CALL(mbind, p, 8192, MPOL_BIND, 8, 64, 0);
	CALL(mbind, p, 8192, MPOL_BIND, mask, 66, 0);
	CALL(set_mempolicy, MPOL_PREFERRED, mask, 64, 0, 0, 0);
	CALL(set_mempolicy, MPOL_LOCAL, none, 128, 0, 0, 0);
	CALL(set_mempolicy, MPOL_DEFAULT, 0, 0, 0, 0, 0);
	CALL(get_mempolicy, &mode, got, 1024, p, MPOL_F_ADDR, 0);
	CALL(get_mempolicy, &mode, 0, 0, 0, 0, 0);
	CALL(get_mempolicy, &mode, got, 1, 0, MPOL_F_MEMS_ALLOWED, 0);
	CALL(migrate_pages, 0, 64, mask, mask, 0, 0);
	CALL(move_pages, 0, 2, pages, to, status, MPOL_MF_MOVE);
	CALL(move_pages, 0, 2, pages, 0, status, 0);
	CALL(move_pages, 0, 0, 0, 0, 0, MPOL_MF_MOVE_ALL);
}
static void netlink(void)
{
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), g, d;
	struct sockaddr_nl me = { AF_NETLINK }, k = { AF_NETLINK };
	struct request { struct nlmsghdr h; struct rtgenmsg g; } links = { { sizeof(links), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 7, 0 }, { AF_UNSPEC } };
	struct request one = { { sizeof(one), RTM_GETADDR, NLM_F_REQUEST | NLM_F_ACK, 8, 0 }, { AF_INET } };
	struct nlmsghdr nothing = { sizeof(nothing), NLMSG_NOOP, NLM_F_REQUEST | NLM_F_ACK, 9, 0 };
	struct nlmsghdr both[2] = { nothing, nothing }, wrong = { 5, 1, 0, 0, 0 }, huge = { 0xffffffff, 1, 2, 0, 0 };
	char b[65536];
	struct iovec v = { &links, sizeof(links) }, w = { b, sizeof(b) };
	struct msghdr m = { &k, sizeof(k), &v, 1 }, r = { &k, sizeof(k), &w, 1 };
	socklen_t l = sizeof(me);

	bind(s, (void *)&me, sizeof(me));
	getsockname(s, (void *)&me, &l);
	sendmsg(s, &m, 0);
	for (struct nlmsghdr *h = (void *)b; recvmsg(s, &r, 0) > 0 && h->nlmsg_type != NLMSG_DONE;)
		continue;
	sendto(s, &nothing, sizeof(nothing), 0, (void *)&k, sizeof(k));
	recvfrom(s, b, sizeof(b), 0, (void *)&k, &l);
	d = dup(s);
	sendto(d, both, sizeof(both), 0, (void *)&k, sizeof(k));
	recvfrom(d, b, sizeof(b), 0, (void *)&k, &l);
	recvfrom(d, b, sizeof(b), 0, 0, 0);
	sendto(s, &one, sizeof(one), 0, (void *)&k, sizeof(k));
	recvfrom(s, b, 40, MSG_DONTWAIT, (void *)&k, &l);
	sendto(s, &wrong, sizeof(wrong), 0, (void *)&k, sizeof(k));
	sendto(s, &huge, sizeof(huge), 0, (void *)&k, sizeof(k));
	sendto(s, "abc", 3, 0, (void *)&k, sizeof(k));
	g = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_GENERIC);
	sendto(g, &nothing, sizeof(nothing), 0, (void *)&k, sizeof(k));
	recvfrom(g, b, sizeof(b), 0, (void *)&k, &l);
	links.h.nlmsg_type = 0x12, links.h.nlmsg_flags = 0;
	sendto(g, &links, sizeof(links), 0, (void *)&k, sizeof(k));
}
int main(void)
{
	p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*p = 1;
	nodes();
	netlink();
	return 0;
}
C
gcc -O1 -w -o "$T/calls" "$T/calls.c"
check_that "a program that makes the calls is built" test -x "$T/calls"
# What two runs differ in; what the kernel says of its links, of which strace knows more than the header.
normal() {
	grep -E 'mempolicy|mbind|migrate_pages|move_pages|NETLINK|sendmsg|recvmsg|sendto|recvfrom|bind|getsockname' "$1" |
		sed -E 's/^[0-9]+ +([0-9.]+ )?//; s/ <[0-9.]+>$//; s/ += /=/g; s/socket:\[[0-9]+\]/socket/; s/(nl|nlmsg)_pid=[1-9][0-9]*/\1_pid=P/g
			s/0x7f[0-9a-f]+/AT/g; s/(recvmsg[^}]*\}[^}]*RTM_NEW[^}]*nlmsg_pid=P\}, ).*/\1/; s/nlmsg_len=[0-9]+(, nlmsg_type=RTM_NEW)/nlmsg_len=N\1/'
}
timeout -k 5 "$LIMIT" strace -f -y -v -s 165 -o "$T/strace" "$T/calls" >"$T/out" 2>&1
timeout -k 5 "$LIMIT" "$BRACE" syscalls --lines --no-pager -o "$T/brace" -- "$T/calls" >"$T/out" 2>&1
normal "$T/strace" >"$T/wanted"
normal "$T/brace" >"$T/got"
check_that "there are some" test "$(wc -l <"$T/wanted")" -ge 30
check_that "nodes of memory as strace has them" diff <(grep -E 'mempolicy|mbind|_pages' "$T/wanted") <(grep -E 'mempolicy|mbind|_pages' "$T/got")
# strace asks the kernel for the names of generic types.
check_that "netlink as strace has it" diff <(grep -vE 'mempolicy|mbind|_pages|nlmsg_len=20.*nlmsg_flags=0' "$T/wanted") \
	<(grep -vE 'mempolicy|mbind|_pages|nlmsg_len=20.*nlmsg_flags=0' "$T/got")
check_that "a route's type is no other family's" grep -q 'nlmsg_type=0x12, nlmsg_flags=0,' "$T/got"
timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/trace" -e 'syscalls:*' --syscall-bytes 20 -- "$T/calls" >"$T/out" 2>&1
"$BRACE" syscalls --lines --no-pager "$T/trace" >"$T/cut" 2>"$T/err"
check_that "messages that were cut say so" grep -qE 'recvmsg.*nlmsg_type=RTM_NEWLINK, nlmsg_flags=NLM_F_MULTI, [^"]*"\\x00.*"\.\.\.\]' "$T/cut"
finish
