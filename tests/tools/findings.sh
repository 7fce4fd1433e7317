#!/bin/bash
# Each fault of the reviews has its row in tests/findings, and the case that the row names is there.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the root of the sources}"

# faults: those that the reviews number
faults() {
	printf '%s\n' C{1,2} H{1..4} M{1..5} L{1..6} T{1..6} S{1..5} S{7..13} P{1..9} F{1..26}
}
# wrong_rows TABLE: rows of another form, or whose case is not there
wrong_rows() {
	local fault file words what
	while IFS='|' read -r fault file words what; do
		fault=${fault// /} file=${file// /} words=${words# } words=${words% }
		if [ -z "${what// /}" ]; then
			echo "$fault: four columns are wanted"
		elif [ "$file" = - ]; then
			[ "$words" = - ] || echo "$fault: no file has \`$words\`"
		elif ! grep -qsF -- "$words" "$SOURCE/tests/$file"; then
			echo "$fault: tests/$file has no \`$words\`"
		fi
	done < <(grep -v '^#' "$1")
}
TABLE=$SOURCE/tests/findings
diff <(faults | sort) <(sed -n 's/^\([^# ]*\) .*/\1/p' "$TABLE" | sort) >"$T/diff"
result "each fault has one row" $? "$T/diff"
wrong_rows "$TABLE" >"$T/wrong"
[ ! -s "$T/wrong" ]
result "and a case that is there, or a reason" $? "$T/wrong"
# A case that is renamed is missed.
sed 's/^L1 | run.files.sh | /&no such words: /; s/^F5 | [^|]*/F5 | run\/none.sh /' "$TABLE" >"$T/renamed"
wrong_rows "$T/renamed" >"$T/wrong"
[ "$(sed 's/:.*//' "$T/wrong" | xargs)" = "L1 F5" ]
result "a case that went is found, and a file" $? "$T/wrong"
finish
