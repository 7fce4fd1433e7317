#!/bin/bash
# CTF both ways. brace imports what LTTng itself recorded (cyg-profile): calls are those that babeltrace2
# prints, names those that addr2line gives. brace's export of the same program has the same events with
# the same fields, and comes back whole by brace import.
. "$(dirname "$0")/lib.sh"
command -v babeltrace2 >"$T/log" || { skip "CTF both ways" "babeltrace2 is not installed"; finish; }
cat >"$T/tree.c" <<'END'
#include <pthread.h>
int leaf(int n) { return n * 3; }
int mid(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i); return s; }
int again(int n) { return n ? again(n - 1) + leaf(n) : 0; }
void *work(void *n) { int s = 0; for (int i = 0; i < 50; i++) s += mid(i); return (void *)(long)s; }
int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
	again(100);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
	return mid(10) == 0;
}
END
gcc -g -O0 -finstrument-functions -pthread -o "$T/tree" "$T/tree.c" 2>"$T/err" || { not_ok "the program is built"; diag "$T/err"; finish; }
calls() { "$BRACE" report --json "$1" | sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*/\1 \2/p' | LC_ALL=C sort; }
self() { "$BRACE" report --json "$1" | sed -nE 's/.*"name":"([^"]*)".*"calls":([0-9]+).*"self_ns":([0-9]+).*/\1 \2 \3/p' | LC_ALL=C sort; }
# own_times TEXT: own times by function's address, from the stamps that babeltrace2 printed, sorted
own_times() {
	awk '{ for (i = 1; i <= NF; i++) { if ($i == "vtid") t = $(i + 2); if ($i == "addr") a = $(i + 2) } s = substr($1, 2, length($1) - 2); split(s, p, "."); ns = p[1] % 100000 * 1000000000 + p[2] }
		/func_entry:/ { d[t]++; b[t, d[t]] = ns; c[t, d[t]] = 0 }
		/func_exit:/ { n = ns - b[t, d[t]]; own[a] += n - c[t, d[t]]; d[t]--; c[t, d[t]] += n }
		END { for (a in own) printf "%.0f\n", own[a] }' "$1" | sort -n
}
cat >"$T/want" <<'END'
again 101
leaf 3785
main 1
mid 151
work 3
END

# --- brace's own
"$BRACE" record -q --mode block -l leaf -l mid -l again -l work -l main -o "$T/own" -- "$T/tree" >"$T/out" 2>"$T/err" &&
	"$BRACE" export --to ctf -o "$T/own.ctf" "$T/own" 2>>"$T/err" && "$BRACE" import "$T/own.ctf" -o "$T/back" >"$T/out" 2>"$T/err"
result "brace's export is imported" $? "$T/err"
check_that "with the calls" diff "$T/want" <(calls "$T/back")
check_that "and the threads" [ "$("$BRACE" info "$T/back" | grep -c '^thread ')" = 4 ]
timeout 60 babeltrace2 --clock-seconds --no-delta "$T/own.ctf" >"$T/own.text" 2>"$T/err"
check_that "and times of babeltrace2's stamps" diff <(own_times "$T/own.text") <(self "$T/back" | awk '{ print $3 }' | sort -n)

# --- LTTng's
# shape: a line of babeltrace2 without its numbers, host and names of programs, each shape once
shape() { sed -E 's/^\[[0-9.]*\] ([^ ]+ )?(lttng[^ ]*: )/\2/; s/"[^"]*"/""/g; s/0x[0-9A-Fa-f]+/N/g; s/ = -?[0-9]+/ = N/g' | grep cyg_profile: | LC_ALL=C sort -u; }
lttng_records() { # OUTPUT PROGRAM...: in two buffers of SUB_BUFFER; a daemon of ours, which ends with us
	mkdir -p "$T/home"
	export LTTNG_HOME=$T/home
	ON_EXIT+=("kill \$(cat '$T/sessiond.pid')")
	[ -e "$T/sessiond.pid" ] ||
		timeout 60 lttng-sessiond --no-kernel --daemonize --pidfile="$T/sessiond.pid" >"$T/daemon" 2>&1
	timeout 60 lttng create brace-test --output="$1" &&
		timeout 60 lttng enable-channel -u c --subbuf-size="$SUB_BUFFER" --num-subbuf=2 &&
		timeout 60 lttng enable-event -u -a -c c &&
		timeout 60 lttng add-context -u -t vpid -t vtid -t procname && timeout 60 lttng start && LD_PRELOAD=liblttng-ust-cyg-profile.so "${@:2}"
	local status=$?
	timeout 60 lttng stop && timeout 60 lttng destroy
	return $status
}
if ! command -v lttng-sessiond >"$T/log" || ! LD_PRELOAD=liblttng-ust-cyg-profile.so true 2>"$T/err" || [ -s "$T/err" ]; then
	skip "what LTTng recorded" "lttng-tools and liblttng-ust-dev are not installed"
elif [ "$(id -u)" = 0 ] && [ -e /var/run/lttng/lttng-sessiond.pid ] && kill -0 "$(cat /var/run/lttng/lttng-sessiond.pid)" 2>"$T/log"; then
	skip "what LTTng recorded" "a session daemon of this machine is at work"
elif ! SUB_BUFFER=1M lttng_records "$T/lttng" "$T/tree" >"$T/log" 2>&1; then
	diag "$T/log"
	skip "what LTTng recorded" "LTTng cannot record here"
else
	timeout 60 babeltrace2 --clock-seconds --no-delta "$T/lttng" >"$T/lttng.text" 2>"$T/err"
	"$BRACE" import "$T/lttng" -o "$T/theirs" >"$T/out" 2>"$T/err"
	result "brace imports it" $? "$T/err"
	check_that "nothing is left out" bash -c "! grep warning '$T/err'"
	check_that "with the calls" diff "$T/want" <(calls "$T/theirs")
	entries=$(grep -c func_entry: "$T/lttng.text") exits=$(grep -c func_exit: "$T/lttng.text")
	check_that "as many as babeltrace2 prints ($entries, $exits)" [ "$entries $exits" = "4041 4041" ]
	check_that "own times are sums of babeltrace2's stamps" diff <(own_times "$T/lttng.text") <(self "$T/theirs" | awk '{ print $3 }' | sort -n)
	shape <"$T/lttng.text" >"$T/lttng.shape" && shape <"$T/own.text" >"$T/own.shape"
	check_that "two events of LTTng's" [ "$(wc -l <"$T/lttng.shape")" = 2 ]
	check_that "brace's own export has LTTng's events and fields" diff "$T/lttng.shape" "$T/own.shape"
	# Buffers that are too small: what is printed and what was discarded are all that the program did.
	SUB_BUFFER=4K lttng_records "$T/holes.lttng" "$T/tree" >"$T/log" 2>&1
	result "LTTng records it with small buffers" $? "$T/log"
	"$BRACE" import "$T/holes.lttng" -o "$T/less" >"$T/out" 2>"$T/err"
	printed=$(timeout 60 babeltrace2 "$T/holes.lttng" 2>"$T/log" | wc -l)
	gone=$(sed -nE 's/.* discarded ([0-9]+) events.*/\1/p' "$T/err")
	[ $((printed + ${gone:-0})) = "$(wc -l <"$T/lttng.text")" ]
	result "brace tells all that were discarded ($printed are there, ${gone:-0} were discarded)" $? "$T/err"
	gcc -g -O1 -pthread -o "$T/tree" "$T/tree.c" && "$BRACE" import "$T/lttng" -o "$T/changed" >"$T/out" 2>"$T/err"
	result "a binary that has changed since" $? "$T/err"
	check_that "is told" grep -q '1 binaries here are not those that were traced' "$T/err"
	check_that "and names no function" [ "$(calls "$T/changed" | grep -cE '^0x[0-9a-f]+ [0-9]+$')" = 5 ]
fi

# --- what is none
mkdir "$T/none" && echo nothing >"$T/none/metadata"
"$BRACE" import "$T/none" -o "$T/nothing" >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -q 'babeltrace2 DIRECTORY tells why' "$T/err" && [ ! -e "$T/nothing" ]
result "a directory that babeltrace2 refuses" $? "$T/err"
# refuses NAME FILE: the directory is refused, for what it has there
refuses() {
	timeout 60 "$BRACE" import "$T/odd" -o "$T/nothing" >"$T/out" 2>"$T/err"
	[ $? = 125 ] && grep -qF "odd/$2 is no regular file and no directory" "$T/err" && [ "$(wc -l <"$T/err")" = 1 ] && [ ! -e "$T/nothing" ]
	result "$1 is refused" $? "$T/err"
}
mkdir "$T/odd" && mkfifo "$T/odd/metadata"
refuses "metadata that is a FIFO" metadata
rm -r "$T/odd" && cp -r "$T/own.ctf" "$T/odd" && mkdir "$T/odd/more" && mkfifo "$T/odd/more/stream"
refuses "a stream that is a FIFO" more/stream
rm "$T/odd/more/stream" && ln -s /dev/zero "$T/odd/more/stream"
refuses "a link to a device" more/stream
rm "$T/odd/more/stream" && ln -s "$T/odd" "$T/link" && "$BRACE" import "$T/link" -o "$T/linked" >"$T/out" 2>"$T/err"
result "the directory by a link is imported" $? "$T/err"
for name in --help help; do # options and commands of babeltrace2
	(cd "$T" && cp -r own.ctf "./$name" && "$BRACE" import -o "$T/named" -- "$name") >"$T/out" 2>"$T/err"
	result "a directory $name is imported" $? "$T/err"
	check_that "with the calls of $name" diff "$T/want" <(calls "$T/named")
done
mkdir "$T/bin" && printf '#!/bin/sh\necho "[1.000000002] host other:event: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { }"\n' >"$T/bin/babeltrace2" && chmod +x "$T/bin/babeltrace2"
PATH=$T/bin:$PATH "$BRACE" import "$T/none" -o "$T/nothing" >"$T/out" 2>"$T/err"
[ $? = 125 ] && grep -q 'it has no call' "$T/err" && [ ! -e "$T/nothing" ]
result "a trace without a call" $? "$T/err"
cat >"$T/bin/babeltrace2" <<'END'
#!/bin/sh
echo 'WARNING: Tracer discarded 7 events between [1] and [2]' >&2
echo 'WARNING: Tracer discarded 5 events between [2] and [3]' >&2
t=0
say() { t=$((t + 1)); printf '[1.%09d] host lttng_ust_cyg_profile:func_%s: { cpu_id = 0 }, { vpid = 1, vtid = 1, procname = "p" }, { addr = 0x%s, call_site = 0x0 }\n' $t "$1" "$2"; }
say exit A; say entry A; say entry B; say entry C; say exit B; say exit F; say exit A; say entry D
END
PATH=$T/bin:$PATH "$BRACE" import "$T/none" -o "$T/holes" >"$T/out" 2>"$T/err"
result "a trace with holes is imported" $? "$T/err"
check_that "what was discarded is told" bash -c "grep -q 'discarded 12 events' '$T/err' && grep -q ', 12 records lost' '$T/err'"
check_that "calls end with the ones they lie in" diff <(printf '%s\n' '0xa 1 3' '0xb 1 1' '0xc 1 1' '0xd 1 0') <(self "$T/holes")
finish
