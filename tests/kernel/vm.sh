#!/bin/bash
# SPDX-License-Identifier: MIT
# brace -k and -K on a real kernel, in one long boot of QEMU and three short ones beside it: tests/vm/kernel.sh is the long one's
# part. Skipped where QEMU or a kernel's image is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${BRACE:?is the path of the brace executable}"
out=$(mktemp -d "${TMPDIR:-/tmp}/brace-merged.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
vm=$here/../vm
with=(--with "$BRACE" --with "$vm/lib.sh" --with "$vm/follow.sh" --with "$vm/border.sh" --with "$(dirname "$MERGED_PROGRAM")/border_program" --with "$vm/session.sh" --with "$vm/probes.sh" --with "$(dirname "$BRACE")/libbrace-agent.so" --with "$MERGED_PROGRAM" --with "$RING_WAYS" --out "$out")
programs=$(dirname "$MERGED_PROGRAM")
with+=(--with "$vm/network.sh" --with "$vm/storage.sh" --with "$programs/marked_program" --with /usr/sbin/mke2fs)
with+=(--module overlay --module veth --module 'nf_conntrack enable_hooks=1' --module 'null_blk memory_backed=1 gb=1 nr_devices=1')
[ ! -x "$programs/sk_buff_rule" ] || with+=(--with "$programs/sk_buff_rule") # a brace without BPF has none
[ ! -x /usr/bin/ping ] || with+=(--with /usr/bin/ping)
with+=(--with /usr/bin/script)
ordinary=(--with "$vm/ordinary.sh")
[ ! -x /usr/bin/perf ] || ordinary+=(--with /usr/bin/perf)
with+=("${ordinary[@]}")
for library in /usr/lib/*/libpcap.so.0.8; do [ ! -e "$library" ] || with+=(--with "$library"); done
# Its share of a busy machine may be small.
export BRACE_VM_LIMIT=${BRACE_VM_LIMIT:-3600}
# Other boots, one after another, beside the long one: the same distribution's older kernel (no function_graph in instances, no mapped
# buffers, no kprobe.multi); a kernel that does not count by the TSC, by which both sides stamp all the same; one that is locked down.
others() {
	local mine=(--with "$BRACE" --with "$(dirname "$BRACE")/libbrace-agent.so")
	"$vm/run" --kernel 6.1 --with "$programs/border_program" "${mine[@]}" --with "$MERGED_PROGRAM" --with "$RING_WAYS" "${ordinary[@]}" --with "$vm/lib.sh" \
		"$vm/older.sh" "$BRACE" "$MERGED_PROGRAM" "$RING_WAYS" "$(realpath "$vm/lib.sh")" "$(realpath "$vm/ordinary.sh")" >"$out/older.said" 2>&1
	echo $? >"$out/older.status"
	"$vm/run" "${mine[@]}" --with "$MERGED_PROGRAM" --boot tsc=unstable --out "$out" "$vm/unsteady.sh" "$BRACE" "$MERGED_PROGRAM" >"$out/unsteady.said" 2>&1
	"$vm/run" "${mine[@]}" --boot lockdown=confidentiality "$vm/lockdown.sh" "$BRACE" >"$out/locked.said" 2>&1
}
others &
output=$("$vm/run" "${with[@]}" "$vm/kernel.sh" "$BRACE" "$MERGED_PROGRAM" "$RING_WAYS" "$(realpath "$vm/lib.sh")" "$(realpath "$vm/session.sh")" "$(realpath "$vm/probes.sh")" "$(realpath "$vm/follow.sh")" "$(realpath "$vm/border.sh")" "$(realpath "$vm/network.sh")" "$(realpath "$vm/storage.sh")" "$(realpath "$vm/ordinary.sh")" 2>&1)
status=$?
if [ $status = 77 ]; then
	wait
	echo "1..0 # SKIP $output"
	exit 0
fi
printf '%s\n' "$output" | tr -d '\r'
[ $status -le 1 ] || echo "Bail out! tests/vm/run: status $status"
[ $status -le 1 ] || { wait; exit 1; }
n=$(cat "$out/cases")
# Here, because it is half a million lines.
calls=$("$BRACE" replay --no-pager "$out/merged.brace" 2>&1 | awk -f "$here/merged.awk")
n=$((n + 1))
if [ "$calls" = '100000 good, 0 wrong, 0 outside' ]; then
	echo "ok $n - every one of 100,000 calls holds its system call, on two CPUs"
else
	echo "not ok $n - every one of 100,000 calls holds its system call, on two CPUs"
	echo "# $calls"
fi
n=$((n + 1))
calls=$("$BRACE" export --to csv -o "$out/merged.csv" "$out/merged.brace" 2>&1 && python3 "$here/inside.py" "$out/merged.csv" 2>&1)
rm -f "$out/merged.csv"
if [ "${calls##*$'\n'}" = '100000 of 100000' ]; then
	echo "ok $n - by their times each of 100,000 entries lies before its system call, and the return after its return"
else
	echo "not ok $n - by their times each of 100,000 entries lies before its system call, and the return after its return"
	printf '%s\n' "$calls" | sed 's/^/# /'
fi
n=$((n + 1))
if "$BRACE" report --no-pager "$out/merged.brace" 2>&1 | grep -q '^ *100000 .* one_read \[merged_program\]'; then
	echo "ok $n - report of the same file"
else
	echo "not ok $n - report of the same file"
fi
# What the kernel lost is said by all, with one number, at the places where it is missing. No system call is shown outside of the
# program's call for that.
n=$((n + 1))
lossy=$out/lossy.brace
"$BRACE" export --to chrome -o "$out/lossy.json" "$lossy" 2>"$out/said"
"$BRACE" html -o "$out/lossy.html" "$lossy" 2>>"$out/said"
"$BRACE" replay --no-pager "$lossy" >"$out/lossy.txt" 2>/dev/null
lost=$("$BRACE" info --json "$lossy" | sed -n 's/^{"type":"trace",.*"lost":\([0-9]*\).*/\1/p')
told="$(sed -n 's/.*\[LOST \([0-9]*\) EVENTS\]$/\1/p' "$out/lossy.txt" | awk '{ n += $1 } END { print n }')
$(grep -o '"lost records"[^}]*"count":[0-9]*' "$out/lossy.json" | awk -F: '{ n += $NF } END { print n }')
$("$BRACE" query "$lossy" "SELECT sum(lost) FROM thread" 2>/dev/null | tail -n 1 | tr -d ' ')
$("$BRACE" report --no-pager "$lossy" 2>/dev/null | sed -n 's/^# \([0-9]*\) of .*of which a larger -b k:SIZE loses fewer$/\1/p')
$("$BRACE" report -k --no-pager "$lossy" 2>/dev/null | sed -n 's/^# \([0-9]*\) of .*/\1/p')
$(sed -n 's/.*warning: \([0-9]*\) of [0-9]* records were lost.*/\1/p' "$out/said" | sort -u)"
outside=$(awk -f "$here/merged.awk" "$out/lossy.txt")
if [ "${lost:-0}" -gt 0 ] && [ "$(sort -u <<<"$told")" = "$lost" ] && [ "$(wc -l <<<"$told")" = 6 ] && [[ $outside = *' 0 outside' ]]; then
	echo "ok $n - the kernel's losses: replay, chrome, query, report, report -k and html say one number"
else
	echo "not ok $n - the kernel's losses: replay, chrome, query, report, report -k and html say one number"
	printf '%s\n' "$lost lost" "$told" "$outside" | sed 's/^/# /'
fi
# The kernel's calls of the file that Chrome reads lie in the program's, thread by thread.
n=$((n + 1))
if lost=$(python3 "$here/chrome.py" "$out/chrome.json" 2>&1); then
	echo "ok $n - export --to chrome: the kernel's calls lie in the program's"
else
	echo "not ok $n - export --to chrome: the kernel's calls lie in the program's"
	echo "# $lost"
fi
wait
older=$(cat "$out/older.said")
status=$(cat "$out/older.status" 2>/dev/null || echo 125)
if [ $status = 77 ]; then
	echo "ok $((n += 1)) - Linux 6.1 # SKIP $older"
elif [ $status -gt 1 ]; then
	echo "not ok $((n += 1)) - Linux 6.1: tests/vm/run, status $status"
	tail -n 20 <<<"$older" | sed 's/^/# /'
else
	while IFS= read -r line; do
		case $line in
		'ok '*) echo "ok $((n += 1)) - Linux 6.1: ${line#* - }" ;;
		'not ok '*) echo "not ok $((n += 1)) - Linux 6.1: ${line#* - }" ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <<<"${older//$'\r'/}"
fi
unsteady=$(tr -d '\r' <"$out/unsteady.said")
calls=$("$BRACE" replay --no-pager "$out/unsteady.brace" 2>&1 | awk -f "$here/merged.awk")
if [ "$calls" = '4000 good, 0 wrong, 0 outside' ]; then
	unsteady+=$'\ngood tsc=unstable: every one of 4,000 calls holds its system call, on two CPUs'
else
	unsteady+=$'\nbad tsc=unstable: every one of 4,000 calls holds its system call, on two CPUs\n'$calls
fi
calls=$(awk -f "$here/merged.awk" "$out/unsteady.text")
if [ "$calls" = '4000 good, 0 wrong, 0 outside' ]; then
	unsteady+=$'\ngood tsc=unstable, graph -k: every one of 4,000 calls holds its system call as it comes'
else
	unsteady+=$'\nbad tsc=unstable, graph -k: every one of 4,000 calls holds its system call as it comes\n'$calls
fi
locked=$(tr -d '\r' <"$out/locked.said")
while IFS= read -r line; do
	case $line in
	good*) echo "ok $((n += 1)) - ${line#good }" ;;
	bad*) echo "not ok $((n += 1)) - ${line#bad }" ;;
	*) echo "# ${line#\# }" ;;
	esac
done <<<"$unsteady
$locked"
echo "1..$n"
