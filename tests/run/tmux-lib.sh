# shellcheck shell=bash
# For tests of screens: a terminal of their own, in tmux, that is looked at until it shows what it should.
# Sourced behind lib.sh.
need tmux
export TMUX_TMPDIR=$T
unset TMUX
servers=0
tm() { timeout "$LIMIT" tmux -f /dev/null -L "brace$servers" "$@"; }
ON_EXIT+=("tm kill-server")

# terminal COLUMNS ROWS [NAME=VALUE...]: a fresh terminal with a shell in it, called `it`.
terminal() {
	local columns=$1 rows=$2
	shift 2
	# Of a server of its own: one that is being killed still answers on its socket.
	tm kill-server 2>/dev/null
	servers=$((servers + 1))
	: >"$T/raw"
	env -u NO_COLOR timeout "$LIMIT" tmux -f /dev/null -L "brace$servers" new-session -d -s it -x "$columns" -y "$rows" \
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

# A program with names that a terminal would obey: $T/named, whose argument is $T/named_lib.so.
hostile_program() {
	python3 - "$FIXTURES" "$T" <<'P' && chmod 755 "$T/named"
import sys
for source, name in ('named', 'named'), ('named_lib.so', 'named_lib.so'):
    program = open(f'{sys.argv[1]}/{source}', 'rb').read()
    for letter, text in {b'A': b'\x1b]52;c;ZXZpbA==\a\x1b[2J', b'B': b'x\nforged line\ty', b'C': b'\xc2\x9b31m\xe2\x80\xae\xff\xc3\x7f', b'L': b'\x1b[1A\nforged'}.items():
        program = program.replace(letter * 24, text.ljust(24, b'_'))
    open(f'{sys.argv[2]}/{name}', 'wb').write(program)
P
}
# No byte of such a name came to the terminal as it is, and one did escaped.
is_clean() { ! grep -aqE $'\033]52|\302\23331m' "$T/raw" && grep -aqF '\033]52' "$T/raw"; }
# screen NAME PATTERN: one TAP line, that the screen comes to show it.
screen() { shows "$2"; result "$1" $? "$T/screen"; }
