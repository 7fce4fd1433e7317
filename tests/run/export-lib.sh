# shellcheck shell=bash
# Exports and their readers, for the tests that hold them against `brace report`. Source it behind lib.sh.

export_to() { # FORMAT NAME [OPTION]...: $T/NAME into $T/NAME.FORMAT
	rm -rf "$T/$2.$1"
	"$BRACE" export --to "$1" "$T/$2" -o "$T/$2.$1" "${@:3}" 2>"$T/err"
}

# What a reader shows of a file, for formats that exports.py does not read itself.
# callgrind_annotate cuts the directory that it runs in from some of the names, and the object with it.
show_callgrind() { (cd "$T" && callgrind_annotate --tree=caller --inclusive=yes --show-percs=no --threshold=100 "$1"); }
show_uftrace() { COLUMNS=1000 timeout 30 uftrace report --demangle=no --no-pager --color=no -d "$1"; }
show_ctf() { cp "$1/.functions" "$T/functions" && timeout 60 babeltrace2 --clock-seconds "$1"; }
show_trace.dat() { trace-cmd report -i "$1"; }
show_trace.dat.v7() { trace-cmd report -i "$1"; }
show_pprof() { protoc --decode=Profile --proto_path="$HERE" pprof.proto <"$1"; }
show_dot() { dot -Tplain "$1"; }
show_sqlite() { sqlite3 -csv -header "$1" 'SELECT name AS function, coalesce(self, 0) AS self_ns FROM slice'; }
declare -A READER=([callgrind]=callgrind_annotate [uftrace]=uftrace [ctf]=babeltrace2 [trace.dat]=trace-cmd [trace.dat.v7]=trace-cmd
	[pprof]=protoc [dot]=dot [sqlite]=sqlite3)

# agree FORMAT NAME [WEIGHT]: what is shown of $T/NAME.FORMAT is what $T/NAME.report says.
agree() {
	is_reports "$@"
	result "$2 as $1${3:+ by $3}: what it shows is report's" $? "$T/log"
}
is_reports() {
	local shown=$T/$2.$1 report=$T/$2.report
	case $1 in
	pprof) python3 "$HERE/pprof.py" "$shown" "$report" ;;
	dot) python3 "$HERE/drawn.py" "$shown" "$report" ;;
	ctf) python3 "$HERE/exports.py" ctf "$report" "$shown" "$T/functions" ;;
	*) python3 "$HERE/exports.py" "$1" "$report" "$shown" ${3:+"$3"} ;;
	esac >"$T/log" 2>&1
}

# show FORMAT NAME: puts what the format's reader shows of $T/NAME.FORMAT in its place, and what it says of it into $T/err.
show() {
	[ -n "${READER[$1]-}" ] || return 0
	"show_$1" "$T/$2.$1" >"$T/shown" 2>"$T/err" && rm -rf "$T/$2.$1" && mv "$T/shown" "$T/$2.$1"
}

# agree_by_reader FORMAT NAME [OPTION]...: makes the export, too, and has it read.
agree_by_reader() {
	export_to "$@"
	if [ -n "${READER[$1]-}" ] && ! command -v "${READER[$1]}" >"$T/log"; then
		skip "$2 as $1" "${READER[$1]} is not installed"
		return
	fi
	show "$1" "$2"
	result "$2 as $1: it is read" $? "$T/err"
	agree "$1" "$2"
}
