# shellcheck shell=bash
# Needed by every script here: TAP lines for meson, a private directory that goes away,
# a time limit around everything, and the comparison of a traced run with an untraced one.
#
# BRACE (the executable) comes from meson; so does FIXTURES (the directory of the compiled
# test programs). A script sources this file, calls ok/check/same/..., and ends with finish.
set -u
: "${BRACE:?is the path of the brace executable}"
export LC_ALL=C NO_COLOR=1 BRACE_HINTS=0
unset PAGER DEBUGINFOD_URLS BRACE_OPTIONS BRACE_CONFIG

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for the scripts
WORK=$HERE/work            # the workloads: scripts and queries the programs are given
LIMIT=${LIMIT:-120}        # seconds any one command may take
STDIN=/dev/null            # what the program under test reads
T=$(mktemp -d "${TMPDIR:-/tmp}/brace-test.XXXXXX") || { echo 'Bail out! no directory for temporary files'; exit 1; } # not /
RUN_DIR=$T/run             # where the program under test runs, emptied before each run
# ftrace's tracers that brace has, as available_tracers lists them.
TRACERS='timerlat osnoise hwlat function_graph wakeup_dl wakeup_rt wakeup function nop'
TAP_N=0
TAP_FAILED=0
ON_EXIT=()                 # commands, each one word list, run at the end

# is_ours PID: it is a running job of this shell, or has this test's directory in what it was started with. The kernel gives the number
# of a process that has ended to another one, and where many tests run it has been round all numbers within half a minute.
is_ours() {
	local running
	running=$(jobs -rp)
	[[ $'\n'$running$'\n' = *$'\n'$1$'\n'* ]] || grep -qsaF -- "$T" "/proc/$1/environ" "/proc/$1/cmdline"
}

# kill_ours [-SIGNAL] PID...: kill, for those that still are this test's.
kill_ours() {
	local word signal=-TERM
	for word; do
		case $word in
		-*) signal=$word ;;
		*) ! is_ours "$word" || builtin kill "$signal" "$word" ;;
		esac
	done
}

cleanup() {
	local i
	kill() { kill_ours "$@"; }
	for ((i = ${#ON_EXIT[@]} - 1; i >= 0; i--)); do
		eval "${ON_EXIT[i]}" >/dev/null 2>&1
	done
	rm -rf "$T"
}
export XDG_RUNTIME_DIR=$T/sessions # nobody else's sessions
mkdir -m 700 "$XDG_RUNTIME_DIR"
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# --- TAP --------------------------------------------------------------------------------

ok() {
	TAP_N=$((TAP_N + 1))
	printf 'ok %d - %s\n' "$TAP_N" "$1"
}

not_ok() {
	TAP_N=$((TAP_N + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	printf 'not ok %d - %s\n' "$TAP_N" "$1"
}

skip() {
	TAP_N=$((TAP_N + 1))
	printf 'ok %d - %s # SKIP %s\n' "$TAP_N" "$1" "$2"
}

# until_is COMMAND...: waits until it succeeds, LIMIT seconds at most.
until_is() {
	local end=$((SECONDS + LIMIT))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.005
	done
}

# The end of a file, as a comment: what a failed case has to say for itself.
diag() {
	tail -n "${2:-12}" "$1" 2>/dev/null | cut -c1-300 | sed 's/^/#   /'
}

finish() {
	printf '1..%d\n' "$TAP_N"
	exit $((TAP_FAILED > 0))
}

# skip_without_shell STATUS: `brace shell` ended so, with its words in $T/err. This machine cannot have one: all is skipped.
skip_without_shell() {
	[ "$1" -eq 125 ] && grep -qE '/dev/fuse|no namespace of our own|there is no directory' "$T/err" || return 0
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
}

# script_results STATUS: a script in `brace shell` has ended so; $T/out has `ok NAME` of each of its cases, and its notes.
script_results() {
	local word name
	skip_without_shell "$1"
	while read -r word name; do
		[ "$word" != ok ] || result "$name" 0 "$T/err"
	done <"$T/out"
	grep '^#' "$T/out"
	result "the whole script" "$1" "$T/err"
}

# What `brace mount` said is in $T/err, and it did not: this machine cannot, and all is skipped, or
# it failed.
no_mount() {
	grep -qE '/dev/fuse|cannot mount on|ptrace' "$T/err" || { not_ok mount; diag "$T/err"; finish; }
	printf '1..0 # SKIP %s\n' "$(cut -d' ' -f2- "$T/err")"
	exit 0
}

# result NAME STATUS [FILE]: STATUS 0 is a pass.
result() {
	if [ "$2" -eq 0 ]; then
		ok "$1"
	else
		not_ok "$1"
		[ $# -lt 3 ] || diag "$3"
	fi
}

# check NAME COMMAND...: passes when the command does; its output is shown only if not.
check() {
	local name=$1
	shift
	timeout -k 5 "$LIMIT" "$@" >"$T/check.log" 2>&1 </dev/null
	result "$name" $? "$T/check.log"
}

# check_that NAME EXPRESSION...: the same for shell functions and [ ].
check_that() {
	local name=$1
	shift
	"$@" >"$T/check.log" 2>&1 </dev/null
	result "$name" $? "$T/check.log"
}

# need PROGRAM...: ends the script as skipped when a program under test is not installed.
need() {
	local one
	for one; do
		command -v "$one" >/dev/null && continue
		printf '1..0 # SKIP %s is not installed\n' "$one"
		exit 0
	done
}

# --- running ----------------------------------------------------------------------------

# Sets up what the workload needs in the empty $RUN_DIR; scripts redefine it.
prepare() { :; }

# run_in PREFIX COMMAND...: leaves PREFIX.out, PREFIX.err, PREFIX.status.
run_in() {
	local prefix=$1
	shift
	rm -rf "$RUN_DIR"
	mkdir -p "$RUN_DIR"
	if ! (cd "$RUN_DIR" && prepare) >"$T/prepare.log" 2>&1; then
		not_ok "the workload could be prepared"
		diag "$T/prepare.log"
	fi
	(cd "$RUN_DIR" && exec timeout -k 5 "$LIMIT" "$@") \
		>"$prefix.out" 2>"$prefix.err" <"$STDIN"
	echo $? >"$prefix.status"
}

# record OPTIONS... -- PROGRAM...: a traced run. Leaves traced.out, traced.err (the
# program's own), traced.status, summary (brace's closing words) and the trace file.
record() {
	rm -f "$T/trace" "$T/json"
	run_in "$T/traced" "$BRACE" record -o "$T/trace" "$@"
	split_summary
}

# brace's lines and the program's share standard error; brace's all begin with its name.
split_summary() {
	grep -a '^brace: ' "$T/traced.err" >"$T/summary"
	grep -av '^brace: ' "$T/traced.err" >"$T/traced.err.own"
	mv "$T/traced.err.own" "$T/traced.err"
}

# same NAME OPTIONS... -- PROGRAM...: output, errors and exit status are the untraced run's.
same() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	run_in "$T/plain" "$@"
	record --mode block "${options[@]}" -- "$@"
	same_results "$name"
}

same_results() {
	local f
	: >"$T/differences"
	for f in status out err; do
		cmp -s "$T/plain.$f" "$T/traced.$f" && continue
		printf '%s differs:\n' "$f"
		diff -a "$T/plain.$f" "$T/traced.$f" | head -n 6
	done >>"$T/differences" 2>&1
	[ ! -s "$T/differences" ] || diag "$T/summary" 4
	result "$1" "$(wc -l <"$T/differences")" "$T/differences"
}

# --- what a trace says ------------------------------------------------------------------

# summary_number calls|lost: a figure of brace's closing words.
summary_number() {
	case $1 in
	calls) sed -nE 's/^brace: ([0-9,]+) calls.*/\1/p' "$T/summary" ;;
	lost) sed -nE 's/^brace: .*, (no|[0-9,]+) records lost.*/\1/p' "$T/summary" | sed 's/^no$/0/' ;;
	esac | tr -d , | head -n 1
}

# nothing_lost NAME [CALLS]: no record is missing, and there are at least CALLS calls.
nothing_lost() {
	local lost calls
	lost=$(summary_number lost)
	calls=$(summary_number calls)
	[ "${lost:-1}" -eq 0 ] && [ "${calls:-0}" -ge "${2:-1}" ]
	result "$1 (${calls:-no} calls, ${lost:-?} lost)" $? "$T/summary"
}

# json_calls FUNCTION: how often `brace report` says it was called, 0 if never.
json_calls() {
	[ -s "$T/json" ] || "$BRACE" report --json "$T/trace" >"$T/json" 2>"$T/report.err"
	sed 's/": */":/g' "$T/json" | FUNCTION=$1 awk '
		index($0, "\"name\":\"" ENVIRON["FUNCTION"] "\"") && match($0, /"calls":[0-9]+/) {
			n += substr($0, RSTART + 8, RLENGTH - 8)
		}
		END { print n + 0 }'
}

# calls_are FUNCTION LEAST [MOST]: one TAP line that the trace counts the function so.
calls_are() {
	local n
	n=$(json_calls "$1")
	[ "$n" -ge "$2" ] && [ "$n" -le "${3:-$2}" ]
	result "$1 was called $2${3:+ to $3} times (trace: $n)" $? "$T/summary"
}

# counted: every count that the program wrote itself ($TRUTH; "FUNCTION N" or "FUNCTION LEAST-MOST")
# is the trace's.
counted() {
	local function least most
	[ -s "$TRUTH" ] || not_ok "it writes its counts"
	awk '{ split($2, n, "-"); least[$1] += n[1]; most[$1] += n[2] != "" ? n[2] : n[1] }
		END { for (f in least) print f, least[f], most[f] }' "$TRUTH" >"$T/counts"
	while read -r function least most; do
		[ "$least" != "$most" ] || most=
		calls_are "$function" "$least" ${most:+"$most"}
	done <"$T/counts"
}
