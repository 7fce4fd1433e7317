#!/bin/bash
# Where a module's text lies is not always what the first mapping of its file says: a file whose one
# page is mapped twice, and a program that maps its own text again.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need clang ld.lld

cat >"$T/page.c" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile("nop; nop; nop; nop"); return x * 3 + 1; }
int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += work(i);
	printf("sum %d\n", sum);
	fflush(stdout);
	for (int i = 0; argc > 1; i++, usleep(1000))
		sum += work(i);
	return 0;
}
END
echo '__attribute__((visibility("default"))) int tiny(int x) { return x * 3 + 1; }' >"$T/tiny.c"
cat >"$T/opens.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	int (*tiny)(int) = library ? (int (*)(int))dlsym(library, "tiny") : NULL;

	printf("%s %d\n", library ? "opened" : dlerror(), tiny ? tiny(4) : -1);
	return !tiny || argc < 2;
}
END
# The page of work() once more, far above: what V8 does with its built-in functions.
cat >"$T/again.c" <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile("nop; nop; nop; nop"); return x * 3 + 1; }
int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY), sum = 0;
	char *copy = mmap((void *)0x7e0000001000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
			  ((long)work & ~4095L) - 0x400000); /* where it lies in a file that is not PIE */

	printf("mapped again: %s\n", copy == MAP_FAILED ? "no" : "yes");
	fflush(stdout);
	for (int i = 0; argc > 1; i++, usleep(1000))
		sum += work(i);
	return sum & 1;
}
END
clang -O1 -fuse-ld=lld "$T/page.c" -o "$T/page" && clang -O1 -fuse-ld=lld -shared -fPIC -nostdlib "$T/tiny.c" -o "$T/tiny.so" &&
	gcc -O1 "$T/opens.c" -o "$T/opens" -ldl && gcc -O1 -no-pie "$T/again.c" -o "$T/again"
result "the programs are built" $?

# attached NAME PROGRAM: its function work() is recorded while it runs.
attached() {
	local pid
	: >"$T/said" # before the shell of the next line empties it
	"$2" on >"$T/said" 2>&1 &
	pid=$!
	until [ -s "$T/said" ]; do kill -0 $pid || break; done
	timeout 60 "$BRACE" record -p $pid -o "$T/trace" --duration 200ms >"$T/check.log" 2>&1
	rm -f "$T/json"
	[ "$(json_calls work)" -gt 10 ] && kill -0 $pid
	result "$1: attached, its calls are recorded and it runs on" $? "$T/check.log"
	kill $pid
	wait $pid 2>/dev/null
}

same "one page for headers and text: launched" -- "$T/page"
calls_are work 5
attached "one page for headers and text" "$T/page"
same "a library of one page is opened" -L '*' -- "$T/opens" "$T/tiny.so"
attached "a program that maps its text again" "$T/again"
grep -q yes "$T/said"
result "and it has mapped it" $? "$T/said"
finish
