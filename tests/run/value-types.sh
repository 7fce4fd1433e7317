#!/bin/bash
# -e 'f:NAME FUNCTION $retval': the value has the type that the function returns, of the debug information or of the C library's manual.
# gdb says what the calls return.
. "$(dirname "$0")/lib.sh"
need gdb
cat >"$T/values.c" <<'C'
#include <fcntl.h>
#include <unistd.h>
#define CALL __attribute__((noipa))
volatile int sink;
CALL int v_int(int x) { return sink = x - 4; }
CALL int v_integer(int x) { return sink = x * -1000000; }
CALL short v_short(int x) { return sink = x - 300; }
CALL unsigned char v_byte(int x) { return sink = x + 254; }
CALL long v_long(int x) { return (sink = x) - 5000000000L; }
CALL char *v_text(char *x) { sink = *x; return x; }
CALL void v_none(int x) { sink = x; }
int main(void)
{
	for (int i = 0; i < 3; i++) {
		v_int(i), v_short(i), v_byte(i), v_long(i), v_integer(i), v_text("text"), v_none(i);
		close(open("/nowhere/at/all", O_RDONLY));
	}
	return 0;
}
C
gcc -g -O0 -fno-builtin -o "$T/values" "$T/values.c"
check_that "the program is built" test -x "$T/values"

# values DEFINITION...: what the records have behind each =, in their order.
values() {
	local one definitions=()
	for one; do definitions+=(-e "$one"); done
	timeout -k 5 "$LIMIT" "$BRACE" record -q --mode block -o "$T/trace" "${definitions[@]}" -- "$T/values" >"$T/out" 2>"$T/err" </dev/null
	"$BRACE" replay --no-pager "$T/trace" | sed -nE 's/.* f[0-9]+: \([^)]*\) (.*)/\1/p' | grep -oE '=[^ ]*' >"$T/got"
}
{
	printf '%s\n' 'set pagination off' 'set debuginfod enabled off' 'break v_int' 'break v_short' 'break v_byte' 'break v_long' run
	for ((i = 0; i < 12; i++)); do printf '%s\n' finish continue; done
} >"$T/commands"
timeout -k 5 "$LIMIT" gdb -q -nx -batch -x "$T/commands" "$T/values" >"$T/gdb" 2>&1 </dev/null
sed -nE 's/^Value returned is \$[0-9]+ = (-?[0-9]+).*/=\1/p' "$T/gdb" >"$T/wanted"
values 'f:f1 v_int $retval' 'f:f2 v_short%return got=$retval' 'f:f3 v_byte $retval' 'f:f4 v_long $retval'
check_that "gdb has twelve values" test "$(wc -l <"$T/wanted")" = 12
check_that "and the events have these" diff "$T/wanted" "$T/got"

values 'f:f1 libc.so.6:open $retval'
check_that "open returns -1, by its manual" test "$(sort "$T/got" | uniq -c | tr -s ' ')" = " 3 =-1"
values 'f:f1 v_int* $retval'
check_that "functions of one type have it" test "$(tr -d '\n' <"$T/got")" = "=-4=0=-3=-1000000=-2=-2000000"
values 'f:f1 v_[is]* $retval'
check_that "others have 64 bits in hexadecimal" test "$(grep -c '^=0x' "$T/got") $(wc -l <"$T/got")" = "9 9"
values 'f:f1 v_[nt]* $retval'
check_that "as what is no whole number" test "$(grep -c '^=0x' "$T/got") $(wc -l <"$T/got")" = "6 6"
values 'f:f1 v_int low=$retval:u8 $retval all=$retval:x64'
check_that "a type that is written is taken" test "$(head -n 2 "$T/got" | tr -d '\n')" = "=252=-4"

# refused NAME DEFINITION COLUMN
refused() {
	timeout -k 5 "$LIMIT" "$BRACE" record -o "$T/none" -e "$2" -- "$T/values" >"$T/out" 2>"$T/err" </dev/null
	grep -qxF -- "$(printf '  %*s^' "$3" '')" "$T/err" && [ ! -e "$T/none" ]
	result "$1" $? "$T/err"
}
refused "a fault behind it has its column" 'f:x v_int $retval $foo' 18
refused "and one before it" 'f:x v_int $foo $retval' 10
refused "and in the name" 'f:1x v_int $retval' 2
refused "nothing is returned" 'f:x v_none $retval' 11
finish
