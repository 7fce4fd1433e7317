#!/bin/bash
# The kernel's own tests of ftrace (tools/testing/selftests/ftrace of Debian's linux-source-6.12),
# unmodified, in `brace shell` over a program that does what they expect of a kernel
# (tests/targets/kern.c), or, for those that trace the shell they run in, by a shell that is traced
# itself. How each runs, and what becomes of it, is what ftracetest.table says. What differs is run
# again by itself, twice.
#
# FTRACETEST_PART=brief, which make check sets: fetches nothing, compares the table with itself, and
# runs the tests of some folders, each once, where an earlier run has left the package.
. "$(dirname "$0")/lib.sh"
PACKAGE=linux-source-6.12
TABLE=$(dirname "$(readlink -f "$0")")/ftracetest.table
BRIEF=(dynevent event filter instances) # folders, none of which turns processors off

# Only the folder of the tests is kept of the package.
fetch() {
	cd "$SOURCES" && apt-get download -qq "$PACKAGE" && mkdir -p "$PACKAGE.new" &&
		dpkg-deb --fsys-tarfile "$PACKAGE"_*.deb | tar -xOf - "./usr/src/$PACKAGE.tar.xz" |
		tar -xJf - -C "$PACKAGE.new" "$PACKAGE/tools/testing/selftests/ftrace" &&
		rm -f "$PACKAGE"_*.deb && mv "$PACKAGE.new" "$PACKAGE"
}
FTRACE=$SOURCES/$PACKAGE/$PACKAGE/tools/testing/selftests/ftrace

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

# rows: the table's lines, without what is said to each
rows() { sed '/^#/d; s/  *#.*//' "$TABLE"; }

# wrong_rows: the table's lines that are none: a way or a result that nobody knows, no reason for a
# test that does not simply pass, one test twice.
wrong_rows() {
	awk '/^#/ { next }
		$2 !~ /^(over|sh|bash)$/ || $3 !~ /^(PASS|FAIL|XFAIL|UNRESOLVED|UNSUPPORTED|UNTESTED)(\|(PASS|FAIL|UNRESOLVED))*$/ ||
		($3 == "PASS" ? NF != 3 : $4 != "#" || NF < 6) || names[$1]++' "$TABLE"
}

# tests_of NAME...: their files, as ftracetest wants them
tests_of() {
	local name
	for name; do rows | awk -v name="$name" '{ n = split($1, part, "/") } part[n] == name { print "test.d/" $1 ".tc" }'; done | tr '\n' ' '
}

# by WAY: the files that run so
by() { rows | awk -v way="$1" '$2 == way { print "test.d/" $1 ".tc" }' | tr '\n' ' '; }

# merge NEWER: what it has takes the place of what was seen
merge() {
	awk 'NR == FNR { newer[$1] = $2; next } { print $1, $1 in newer ? newer[$1] : $2 }' "$1" seen >seen.new
	mv seen.new seen
}

# compare: what is not as the table has it, into `differs`; a test that is repeated in an instance
# passes there.
compare() {
	rows | awk '
		NR == FNR { n = split($1, part, "/"); want[part[n]] = $3; next }
		{ seen[$1]; w = $1 in want ? want[$1] : $1 ~ /^instance:/ ? "PASS" : "in the table" }
		index("|" w "|", "|" $2 "|") == 0 { print $1 ": " $2 ", not " w }
		END { for (t in want) if (!(t in seen)) print t ": is in the table, and did not run" }' - seen >differs
}

# way NAME: how the test runs
way() { rows | awk -v name="$1" '{ n = split($1, part, "/") } part[n] == name { print $2 }'; }

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

# brief: what make check can do
brief() {
	local folder
	[ -d "$FTRACE" ] || { skip "some of them" "\`make soak\` fetches $PACKAGE"; finish; }
	over all "$(for folder in "${BRIEF[@]}"; do by over | tr ' ' '\n' | grep "/$folder/"; done | tr '\n' ' ')"
	verdicts all >seen
	compare
	grep -v 'did not run$' differs >differs.brief
	printf '# %d tests\n' "$(wc -l <seen)"
	[ "$(wc -l <seen)" -ge 20 ] && [ ! -s differs.brief ]
	result "some of them become what the table says" $? differs.brief
	finish
}

cd "$T" || exit
wrong_rows >wrong
[ ! -s wrong ]
result "each line of the table has a way, a result, and a reason if the test does not pass" $? wrong
[ "$(id -u)" -eq 0 ] || { skip "ftracetest" "it wants to be root"; finish; }
[ "${FTRACETEST_PART:-}" != brief ] || brief
mkdir -p "$SOURCES"
if [ ! -d "$FTRACE" ] && ! (fetch) >"$T/source.log" 2>&1; then
	diag "$T/source.log"
	skip "ftracetest" "the package $PACKAGE could not be had"
	finish
fi
(cd "$FTRACE/test.d" && find . -name '*.tc') | sed 's/^\.\///; s/\.tc$//' | sort | diff - <(rows | awk '{ print $1 }' | sort) >listed
result "the table has the tests of this release" $? listed
over all "$(by over)"
traced sh traced "$(by sh)"
traced bash named "$(by bash)"
for run in all traced named; do verdicts $run; done >seen
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
