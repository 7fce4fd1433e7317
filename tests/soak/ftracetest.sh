#!/bin/bash
# The kernel's own tests of ftrace (tools/testing/selftests/ftrace of Debian's linux-source-6.12),
# unmodified, in `brace shell` over a program that does what they expect of a kernel
# (tests/targets/kern.c): once all of them, and then, by a shell that is traced itself, those that
# trace the shell they run in. Every test passes, but for those in ftracetest.table, each with its
# reason. What differs is run again by itself, twice.
. "$(dirname "$0")/lib.sh"
PACKAGE=linux-source-6.12
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP ftracetest wants to be root'; exit 0; }

# Only the folder of the tests is kept of the package.
fetch() {
	cd "$SOURCES" && apt-get download -qq "$PACKAGE" && mkdir -p "$PACKAGE.new" &&
		dpkg-deb --fsys-tarfile "$PACKAGE"_*.deb | tar -xOf - "./usr/src/$PACKAGE.tar.xz" |
		tar -xJf - -C "$PACKAGE.new" "$PACKAGE/tools/testing/selftests/ftrace" &&
		rm -f "$PACKAGE"_*.deb && mv "$PACKAGE.new" "$PACKAGE"
}
mkdir -p "$SOURCES"
if [ ! -d "$SOURCES/$PACKAGE" ] && ! (fetch) >"$T/source.log" 2>&1; then
	diag "$T/source.log"
	printf '1..0 # SKIP the package %s could not be had\n' "$PACKAGE"
	exit 0
fi
FTRACE=$SOURCES/$PACKAGE/$PACKAGE/tools/testing/selftests/ftrace
TABLE=$(dirname "$(readlink -f "$0")")/ftracetest.table
SELF="event/event-pid ftrace/func-filter-pid ftrace/fgraph-retval ftrace/func-filter-stacktrace
	trigger/trigger-eventonoff trigger/trigger-filter trigger/trigger-snapshot trigger/trigger-stacktrace trigger/trigger-traceonoff
	trigger/trigger-hist-mod trigger/trigger-multihist trigger/trigger-trace-marker-synthetic-kernel dynevent/add_remove_uprobe
	dynevent/add_remove_eprobe trigger/inter-event/trigger-synthetic-eprobe
	trigger/inter-event/trigger-field-variable-support trigger/inter-event/trigger-inter-event-combined-hist
	trigger/inter-event/trigger-onchange-action-hist trigger/inter-event/trigger-onmatch-action-hist
	trigger/inter-event/trigger-onmatch-onmax-action-hist trigger/inter-event/trigger-onmax-action-hist
	trigger/inter-event/trigger-snapshot-action-hist trigger/inter-event/trigger-synthetic-event-dynstring
	trigger/inter-event/trigger-trace-action-hist kprobe/kprobe_ftrace kprobe/kprobe_args kprobe/kprobe_args_comm
	kprobe/kprobe_args_type kprobe/kprobe_args_user kprobe/kretprobe_args kprobe/kprobe_args_char kprobe/kprobe_args_string
	kprobe/probepoint"
# bash exports its functions, dash has none: a call site's name is wanted, and 256 functions.
NAMED="trigger/trigger-hist kprobe/multiple_kprobes"

# verdicts DIRECTORY: "TEST RESULT" of what ftracetest printed into DIRECTORY.out: its logs say
# which test a number is of, and those that are repeated in an instance come behind the others.
verdicts() {
	local number result what log name
	sed -n 's/^\[\([0-9]*\)\] \(.*\)\t\[\([A-Z]*\)\]$/\1 \3 \2/p' "$1.out" | while read -r number result what; do
		log=$(basename "$1"/logs/"$number"-*.tc-log.*)
		name=${log#*-}
		case $what in '(instance)'*) name=instance:$name ;; esac
		printf '%s %s\n' "${name%.tc-log.*}" "$result"
	done | sort
}

# over DIRECTORY [TEST...]: ftracetest over the fixture; its logs are in DIRECTORY then.
over() {
	local directory=$1 pid
	shift
	cp -r "$FTRACE" "$T/$directory"
	timeout -k 5 "$LIMIT" "$BRACE" shell --run="$FIXTURES/kern" -- sh -c \
		"cd '$T/$directory' && exec ./ftracetest -k -l '$T/$directory/logs' $*" >"$directory.out" 2>&1 </dev/null
	for pid in $(pgrep -x kern); do
		[ "$(readlink "/proc/$pid/cwd")" != "$T" ] || kill "$pid"
	done
}

# traced SHELL DIRECTORY TEST...: by a traced shell. It comes into the namespace of the command, and
# goes on there; the command waits for it.
traced() {
	local shell=$1 directory=$2
	shift 2
	cp -r "$FTRACE" "$T/$directory"
	rm -f command
	cat >traced.sh <<EOF
while ! [ -s '$T/command' ]; do :; done
nsenter -m -t \$(cat '$T/command') sh -c "cd '$T/$directory' && $shell ./ftracetest -k -l '$T/$directory/logs' $*" >'$T/$directory.out' 2>&1
EOF
	cat >command.sh <<EOF
echo \$\$ >'$T/command.new'
mv '$T/command.new' '$T/command'
while ! grep -q '^# of undefined' '$T/$directory.out' 2>/dev/null; do sleep 1; done
EOF
	timeout -k 5 "$LIMIT" "$BRACE" shell -t nop -L 'kern_calls*' --run="env LD_PRELOAD='$FIXTURES/kern_calls.so' dash '$T/traced.sh'" -- \
		sh command.sh >command.out 2>&1 </dev/null
}

# tests_of NAME...: their files, as ftracetest wants them
tests_of() {
	local name
	for name; do (cd "$FTRACE" && find test.d -name "$name.tc"); done | tr '\n' ' '
}

# merge NEWER: what it has takes the place of what was seen
merge() {
	awk 'NR == FNR { newer[$1] = $2; next } { print $1, $1 in newer ? newer[$1] : $2 }' "$1" seen >seen.new
	mv seen.new seen
}

# compare: what is not as the table has it, into `differs`
compare() {
	sed '/^#/d; s/  *#.*//' "$TABLE" | awk '
		NR == FNR { want[$1] = $2; next }
		{ seen[$1]; w = $1 in want ? want[$1] : "PASS" }
		index("|" w "|", "|" $2 "|") == 0 { print $1 ": " $2 ", not " w }
		END { for (t in want) if (!(t in seen)) print t ": is in the table, and did not run" }' - seen >differs
}

# way NAME: how the test runs: by a traced sh or bash, or over the fixture
way() {
	case " $SELF " in *"/$1"[[:space:]]*) echo sh && return ;; esac
	case " $NAMED " in *"/$1 "*) echo bash ;; *) echo over ;; esac
}

# again ROUND: those that differ, by themselves, as the gate does with tests that fail
again() {
	local way name names
	: >newer
	for way in over sh bash; do
		names=()
		for name in $(sed -n 's/: .*//; s/^instance://; p' differs | sort -u); do
			[ "$(way "$name")" != $way ] || names+=("$name")
		done
		[ ${#names[@]} -gt 0 ] || continue
		case $way in
		over) over "again-$1-$way" "$(tests_of "${names[@]}")" ;;
		*) traced $way "again-$1-$way" "$(tests_of "${names[@]}")" ;;
		esac
		verdicts "again-$1-$way" >>newer
	done
	merge newer
}

cd "$T" || exit
over all
traced sh traced "$(printf 'test.d/%s.tc ' $SELF)"
traced bash named "$(printf 'test.d/%s.tc ' $NAMED)"
verdicts all >seen
cat <(verdicts traced) <(verdicts named) >newer # of a test that ran twice, the traced shell's counts
merge newer
compare
cp differs first
for round in 1 2; do
	[ -s differs ] || break
	again "$round"
	compare
done
grep -vxFf differs first | sed 's/^/# not every time: /'
printf '# %d of %d pass\n' "$(grep -c ' PASS$' seen)" "$(wc -l <seen)"
[ "$(wc -l <seen)" -gt 140 ]
result "the kernel's tests ran" $? all.out
[ ! -s differs ]
result "each passes, or is in ftracetest.table" $? differs
for name in $(sed -n 's/: .*//; s/^instance://; p' differs | sort -u); do
	for log in {all,traced,named,again-*}/logs/*-"$name".tc-log.*; do
		[ ! -e "$log" ] || { echo "# $log"; tail -n 12 "$log" | sed 's/^/# /'; }
	done
done
[ -z "${KEEP_FTRACETEST:-}" ] || cp -r seen all.out traced.out "$KEEP_FTRACETEST"
finish
