# shellcheck shell=bash
# Calls of a program, function by function, against callgrind's: for counts.sh and soak/reach.sh.
need valgrind

# The same environment under both: bash, gawk and perl make calls for every variable they import.
# /usr/bin/valgrind is a shell script that adds four; valgrind itself adds an LD_PRELOAD. brace's
# run is given one as long, of a file that is not there: ld.so passes over it.
environment=(env -i "PATH=/usr/bin:/bin" LC_ALL=C HOME=/ PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0)
VALGRIND=$(command -v valgrind.bin || command -v valgrind)
# shellcheck disable=SC2016 # of the shell inside
preload=$("${environment[@]}" "$VALGRIND" -q --tool=callgrind --callgrind-out-file=/dev/null /bin/sh -c 'echo "$LD_PRELOAD"' 2>/dev/null)

callgrind() { # FILE COMMAND...
	local file=$1
	shift
	run_in "$T/plain" "${environment[@]}" "$VALGRIND" --tool=callgrind --dump-instr=yes \
		--collect-jumps=yes --skip-plt=no --compress-pos=no --compress-strings=no --callgrind-out-file="$file" "$@"
}

# counted NAME "MODULE..." COMMAND...: modules by path; the first is the program itself.
counted() {
	local name=$1 modules=$2 module status opened=()
	shift 2
	callgrind "$T/first" "$@"
	callgrind "$T/second" "$@"
	for module in ${modules#* }; do
		opened+=(-L "$(basename "$module")")
	done
	rm -f "$T/trace"
	run_in "$T/traced" "${environment[@]}" "LD_PRELOAD=${preload%so}no" "$BRACE" record --mode block -o "$T/trace" "${opened[@]}" -- "$@"
	cmp -s "$T/plain.out" "$T/traced.out"
	result "$name: same output under callgrind and brace" $?
	"$BRACE" report --json "$T/trace" >"$T/json" 2>"$T/report.err"
	for module in $modules; do
		"$BRACE" list -f "$module" --json >"$T/list" 2>&1
		check "$name: callgrind agrees with itself on $(basename "$module")" \
			"$HERE/callcounts.py" --stable "$module" "$T/first" "$T/second"
		"$HERE/callcounts.py" "$module" "$T/first" "$T/json" "$T/list" >"$T/check.log" 2>&1
		status=$?
		result "$name: $(basename "$module"): $(tail -n 1 "$T/check.log")" $status "$T/check.log"
	done
}
