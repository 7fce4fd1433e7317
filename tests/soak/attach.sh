#!/bin/bash
# Attaching and leaving again and again under full load, with every way of recording: the program
# computes right to the end, its text is the files', descriptors and signals are as before, and it
# does not grow. CYCLES (1000) of a dynamic program, a third as many of a static one.
: "${BUILD:=$(cd "$(dirname "$0")/../.." && pwd)/build}"
export BRACE=${BRACE:-$BUILD/brace} FIXTURES=${FIXTURES:-$BUILD/tests/targets}
. "$(dirname "$0")/../run/attach-lib.sh"
if [ -n "${SOAK_SECONDS:-}" ] && [ "${SOAK_SECONDS}" -lt 1200 ]; then CYCLES=${CYCLES:-150}; fi
CYCLES=${CYCLES:-1000}
KINDS=("" "-L libc.so.6" "-t function" "--max-graph-depth 5" "-L * -l att_*" "-g att_depth" "--threshold 10us"
	"--mode block" "--mode overwrite -L *" "-t function -L *" "--max-graph-depth 2 -g round_of_all")

# memory PID: lines of its maps, and kB of its memory, in the order of /proc/PID/status.
memory() {
	echo "$(wc -l <"/proc/$1/maps") $(awk '/^(VmSize|VmRSS|VmData|VmPTE)/ { printf "%s ", $2 }' "/proc/$1/status")"
}

# cycle I: one attach with the I-th way, for 1 to 25 ms.
cycle() {
	set -f
	# shellcheck disable=SC2086 # words
	attach -q --duration $(($1 * 7 % 25 + 1))ms ${KINDS[$1 % ${#KINDS[@]}]}
	set +f
	[ "$(cat "$T/attach.status")" -eq 0 ] && kill -0 "$PID" 2>/dev/null
}

# unchanged: text, descriptors, signals.
unchanged() {
	"$FIXTURES/same_text" "$PID" >>"$T/changes" || return 1
	state "$PID" >"$T/state.after"
	diff "$T/state.before" "$T/state.after" >>"$T/changes"
}

# not_grown: but for what the program's own threads come and go with: 16 mappings, a heap of 64 MiB
# of address space, 1 MiB in use.
not_grown() {
	awk 'BEGIN { split("maps VmSize VmRSS VmData VmPTE", name); split("16 70000 1024 2048 64", slack) }
		{ for (i = 1; i <= 5; i++) if (NR == 1) was[i] = $i; else if ($i > was[i] + slack[i]) {
			print name[i], "grew from", was[i], "to", $i; bad = 1 } }
		END { exit bad }' "$T/memory"
}

# cycles PROGRAM COUNT
cycles() {
	local name=$1 count=$2 i failed=0 changed=0
	start "$name" "$FIXTURES/$name" 6 spawn
	state "$PID" >"$T/state.before"
	: >"$T/changes"
	for ((i = 0; i < 2 * ${#KINDS[@]} && !failed; i++)); do cycle "$i" || failed=1; done
	memory "$PID" >"$T/memory"
	for ((i = 0; i < count && !failed; i++)); do
		cycle "$i" || failed=1
		((i % 25)) || unchanged || changed=1
	done
	result "$name: attached and left $i of $count times" "$failed" "$T/summary"
	unchanged || changed=1
	result "$name: text, descriptors and signals as before" "$changed" "$T/changes"
	memory "$PID" >>"$T/memory"
	sed "s/^/# $name: lines of maps, kB of VmSize, VmRSS, VmData, VmPTE: /" "$T/memory"
	check_that "$name: does not grow" not_grown
	ends_right "$name: computed right to the end" "$name" "$PID"
}

cycles attachee "$CYCLES"
[ ! -x "$FIXTURES/attachee-static" ] || cycles attachee-static $((CYCLES / 3))
finish
