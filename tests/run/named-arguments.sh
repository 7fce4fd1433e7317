#!/bin/bash
# Flags of the C library's functions without debug information, by the names that strace has for the system calls that they make.
. "$(dirname "$0")/lib.sh"
need strace
cat >"$T/flags.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static const int opens[] = {
		O_RDONLY, O_RDONLY | O_CLOEXEC, O_WRONLY, O_RDWR, O_RDWR | O_CREAT | O_EXCL, O_WRONLY | O_TRUNC | O_APPEND, O_RDWR | O_NONBLOCK | O_NOCTTY,
		O_RDWR | O_SYNC, O_RDWR | O_DSYNC, O_RDONLY | O_NOFOLLOW | O_NOATIME, O_PATH | O_CLOEXEC, O_RDONLY | O_DIRECTORY, O_RDWR | O_DIRECT,
	};
	static const int protects[] = { PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };
	static const int maps[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED };
	char *p = NULL;
	int fd;

	for (unsigned i = 0; i < sizeof(opens) / sizeof(*opens); i++) {
		open(argv[1], opens[i], 0600);
		openat(AT_FDCWD, argv[1], opens[i], 0600);
	}
	open(argv[2], O_TMPFILE | O_RDWR, 0600);
	fd = open(argv[1], O_RDWR);
	for (unsigned i = 0; i < 5; i++)
		p = mmap(NULL, 86016, protects[i], maps[i], -1, 0);
	for (unsigned i = 0; i < 5; i++)
		mprotect(p, 86016, protects[i]);
	for (int i = 0; i < 5; i++)
		lseek(fd, 0, i);
	access(argv[1], F_OK), access(argv[1], R_OK), access(argv[1], R_OK | W_OK), access(argv[1], R_OK | W_OK | X_OK);
	return 0;
}
C
gcc -O1 -w -fno-builtin -o "$T/flags" "$T/flags.c"
check_that "a program without debug information is built" test -x "$T/flags"
# Each call's words, in the order of the alphabet: a call may name them in any order.
words() {
	/usr/bin/python3 -c 'import re, sys
for line in sys.stdin:
    if not re.search(r"flags\.txt|\b86016\b|lseek\(|O_TMPFILE", line):
        continue
    call = re.search(r"\b(open|openat|mmap|mprotect|lseek|access)\(.*", line)
    if call:
        print(call[1].replace("openat", "open"), *sorted(re.findall(r"\b(?:O_|PROT_|MAP_|SEEK_|[FRWX]_OK)\w*", call[0])))'
}
timeout -k 5 "$LIMIT" strace -o "$T/strace" "$T/flags" "$T/flags.txt" "$T" >"$T/out" 2>&1
rm -f "$T/flags.txt"
timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/trace" --args -l open -l openat -l mmap -l mprotect -l lseek -l access -- \
	"$T/flags" "$T/flags.txt" "$T" >"$T/out" 2>"$T/err" </dev/null
"$BRACE" replay --no-pager "$T/trace" >"$T/graph" 2>"$T/err"
# mmap's length is hexadecimal here.
sed 's/=0x15000/=86016/' "$T/graph" | words >"$T/got"
words <"$T/strace" >"$T/wanted"
check_that "there are $(wc -l <"$T/wanted") calls" test "$(wc -l <"$T/wanted")" = 47
check_that "with strace's words" diff "$T/wanted" "$T/got"
check_that "the access mode comes first" grep -qF 'flags=O_RDONLY|O_CLOEXEC)' "$T/graph"
check_that "SQL has them" test "$("$BRACE" query --no-pager --csv "$T/trace" "SELECT count(*) FROM slice WHERE name = 'open' AND
	EXTRACT_ARG(arg_set_id, 'flags') = 'O_RDONLY|O_CLOEXEC'" | tail -n 1)" = 1

# --- conditions by these names: the calls that strace sees, by the flags that it prints
# stdin: strace's lines or graphs; $1: what stands in those that are meant.
count() { grep -c "$1"; }
conditional() {
	rm -f "$T/flags.txt"
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/trace" --args "$@" -- "$T/flags" "$T/flags.txt" "$T" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" replay --no-pager "$T/trace" | grep -E ' (open|openat)\(' >"$T/got"
}
calls=$(grep 'flags.txt' "$T/strace" | count 'O_CREAT')
conditional -l 'openat if flags & 64' -l 'open if flags & 64'
check_that "-l 'open if flags & 64' has the calls with O_CREAT" test "$(count O_CREAT <"$T/got") $(wc -l <"$T/got")" = "$calls $calls"
calls=$(grep 'flags.txt' "$T/strace" | count 'O_CLOEXEC')
conditional -g 'open if pathname ~ "*flags.txt" && flags & 0x80000' -g 'openat if dirfd < 0 && flags & 0x80000'
check_that "-g has those with O_CLOEXEC of this file" test "$(count O_CLOEXEC <"$T/got") $(wc -l <"$T/got")" = "$calls $calls"
conditional -l 'openat if arg3 & 0x80000' -l 'open if arg2 & 0x80000'
check_that "registers have names as before" test "$(count O_CLOEXEC <"$T/got") $(wc -l <"$T/got")" = "$calls $calls"
calls=$(grep 'open.*flags.txt' "$T/strace" | count ' = -1 ')
conditional -g 'open if $retval < 0' -g 'openat if $retval == -1'
check_that "-g 'open if \$retval < 0' has the calls that failed" test "$(count '/\* = -1 \*/' <"$T/got") $(wc -l <"$T/got")" = "$calls $calls"
! timeout -k 5 "$LIMIT" "$BRACE" record -o "$T/trace" -l 'open if size > 3' -- "$T/flags" "$T/flags.txt" "$T" >"$T/out" 2>"$T/err" </dev/null
result "another name is refused" $? "$T/err"
check_that "with the names that there are" grep -qF 'open has no such argument that can be compared, it has pathname, flags' "$T/err"
finish
