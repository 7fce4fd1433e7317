# shellcheck shell=bash
# The same proof for every program of Debian's that the promise names: enough of its
# functions can be hooked, and with all of them hooked it does what it does untraced.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# hooked_share PERCENT BINARY: of its own functions, without a trap.
hooked_share() {
	local share enough
	share=$("$BRACE" list -f "$2" --json 2>"$T/check.log" | awk -f "$HERE/hooked.awk")
	awk -v share="${share:-0}" -v least="$1" 'BEGIN { exit !(share + 0 >= least) }'
	enough=$? # not behind a command substitution, which has a status of its own
	result "$(basename "$2"): $share hooked, at least $1 %" $enough "$T/check.log"
}

# program BINARY CALLS COMMAND...: hooked share; the run with the main executable hooked,
# which must make at least CALLS calls; and the run with every library hooked as well.
program() {
	local binary calls=$2
	binary=$(readlink -f "$1")
	shift 2
	hooked_share "${SHARE:-99.4}" "$binary"
	same "same with the executable hooked" -- "$@"
	nothing_lost "nothing lost" "$calls"
	same "same with every library hooked" -L '*' -- "$@"
	nothing_lost "nothing lost with every library hooked" "$calls"
	# Two other ways of following calls: with a stack of its own, and entries alone.
	same "same with a depth limit" --max-graph-depth 12 -- "$@"
	same "same with a threshold" --threshold 50us -- "$@"
	same "same with the function tracer" -p function -- "$@"
	nothing_lost "nothing lost by the function tracer" "$calls"
}
