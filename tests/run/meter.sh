# shellcheck shell=bash
# The line that shows how much of a trace file is read. meter.py gives brace a terminal as standard
# error, and reads what it prints only when the line is there: so reading lasts as long as it has to.
. "$(dirname "$0")/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

cat >"$T/calls.c" <<'C'
__attribute__((noinline)) int f(int n) { volatile int kept = n; return kept; }
int main(void) { for (int i = 0; i < 100000; i++) f(i); return 0; }
C
gcc -O1 -o "$T/calls" "$T/calls.c" || exit
record --mode block -- "$T/calls"
nothing_lost "a program of 100,000 calls" 100000
/usr/bin/python3 "$HERE/meter.py" "$BRACE" "$T/trace" >"$T/out" 2>"$T/err"
result "all was tried" $? "$T/err"
while read -r line; do
	case $line in
	'ok - '*) ok "${line#ok - }" ;;
	'not ok - '*) not_ok "${line#not ok - }" ;;
	*) echo "$line" ;;
	esac
done <"$T/out"
finish
