#!/bin/bash
# Functions without a symbol or an unwind range are found by who calls them, and nothing else is
# taken for one: truth is what strip took away. With all of them hooked the programs do what they do
# untraced.
. "$(dirname "$0")/lib.sh"
: "${FIXTURES:?is the directory of the compiled test programs}"
need objcopy readelf nm python3

# bare PROGRAM: a copy without symbols and unwind tables, in $BARE; what brace finds there, in
# $T/list.
bare() {
	BARE=$T/bare/$(basename "$1")
	mkdir -p "$T/bare"
	objcopy --strip-all -R .eh_frame -R .eh_frame_hdr "$1" "$BARE"
	"$BRACE" list -f "$BARE" --why >"$T/list" 2>&1
}

# It holds data, labels and calls that do not return, and prints what a patch in a wrong place
# changes.
for level in O1 O2 Os O2-fixed; do
	bare "$FIXTURES/called-$level"
	check "called-$level: nothing else is taken for a function" \
		python3 "$HERE/called_truth.py" "$FIXTURES/called-$level" "$T/list" 70
	nm "$FIXTURES/called-$level" | awk '$2 == "t" || $2 == "T" { print $1, $3 }' | sort >"$T/symbols"
	grep -v not-code "$T/list" | sed -nE 's/^0x([0-9a-f]{16}) .*/\1/p' | sort >"$T/listed"
	join "$T/symbols" "$T/listed" | cut -d' ' -f2 >"$T/found"
	for name in main leaf recursive stops behind_stops of_variable_size realigned chooses one two three sorts jumps \
		returns_twice bytes_of_table fails decoy enters holds; do
		grep -qx $name "$T/found" || echo "$name is not"
	done >"$T/missed"
	result "called-$level: what is called is found" "$(wc -l <"$T/missed")" "$T/missed"
	same "called-$level: it does the same" -- "$BARE"
	nothing_lost "called-$level: nothing lost" 10000
	same "called-$level: it does the same where it stops" -- "$BARE" fails
done

# Debian's own: their unwind tables are the truth.
for program in git sqlite3 lua5.4 xz python3; do
	command -v $program >/dev/null || { skip "$program: nothing false" "not installed"; continue; }
	original=$(readlink -f "/usr/bin/$program")
	bare "$original"
	check "$program: nothing false, and a part is found" python3 "$HERE/called_truth.py" "$original" "$T/list" 20
	case $program in
	lua5.4) same "$program: it does the same" -- "$BARE" "$WORK/prog.lua" ;;
	xz) same "$program: it does the same" -- "$BARE" -k -2 --stdout "$HERE/lib.sh" ;;
	sqlite3) STDIN=$WORK/query.sql same "$program: it does the same" -- "$BARE" -batch db.sqlite ;;
	git) same "$program: it does the same" -- "$BARE" diff --no-index --stat -p "$HERE/lib.sh" "$HERE/called.sh" ;;
	python3) same "$program: it does the same" -- "$BARE" -c \
		'import json, re; print(json.dumps({str(i): [i] for i in range(99)}), re.findall("a.", "abacad"), sum(range(9999)))' ;;
	esac
done
finish
