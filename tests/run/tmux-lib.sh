# shellcheck shell=bash
# For tests of screens: a terminal of their own, in tmux, that is looked at until it shows what it should.
# Sourced behind lib.sh.
need tmux
export TMUX_TMPDIR=$T
unset TMUX
tm() { timeout "$LIMIT" tmux -f /dev/null -L brace "$@"; }
ON_EXIT+=("tm kill-server")

# terminal COLUMNS ROWS [NAME=VALUE...]: a fresh terminal with a shell in it, called `it`.
terminal() {
	local columns=$1 rows=$2
	shift 2
	tm kill-server 2>/dev/null
	: >"$T/raw"
	env -u NO_COLOR timeout "$LIMIT" tmux -f /dev/null -L brace new-session -d -s it -x "$columns" -y "$rows" \
		"env -u TMUX $* PS1='ready\$ ' bash --norc --noprofile -i" || not_ok "tmux makes a terminal"
	tm pipe-pane -t it "cat >>'$T/raw'"
	shows '^ready'
}

type_line() { tm send-keys -t it -l -- "$*" && tm send-keys -t it Enter; }
press() { tm send-keys -t it -- "$@"; }
look_at() { tm capture-pane -p -t it >"$T/screen" 2>"$T/err"; }
has() { look_at && grep -qE -- "$1" "$T/screen"; }
lacks() { look_at && ! grep -qE -- "$1" "$T/screen"; }
shows() { until_is has "$1"; }
# screen NAME PATTERN: one TAP line, that the screen comes to show it.
screen() { shows "$2"; result "$1" $? "$T/screen"; }
