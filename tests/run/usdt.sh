#!/bin/bash
# USDT markers by the command line: postgres' count what its clients ask, libstdc++'s what a program
# throws; how reports show them, and which cannot be had. (Everything else:
# tests/session/markers_test.c.)
. "$(dirname "$0")/attach-lib.sh"

equal() { # NAME WANTED GOT
	if [ "$2" = "$3" ]; then ok "$1"; else
		not_ok "$1"
		printf '#   wanted %s, got %s\n' "$2" "$3" | head -c 600
		diag "$T/err" 4
	fi
}
calls() { # EVENT: how often, in $T/t.brace
	"$BRACE" report --json "$T/t.brace" | sed -n 's/.*"name":"'"$1"'".*"calls":\([0-9]*\).*/\1/p'
}

# --- C++ exceptions ---------------------------------------------------------------------
cat >"$T/throws.cc" <<'END'
#include <cstdlib>
#include <stdexcept>
int main(int argc, char **argv)
{
	int caught = 0;
	for (int i = 0; i < std::atoi(argv[1]); i++)
		try {
			try {
				throw std::runtime_error("x");
			} catch (std::exception &) {
				if (i % 4 == 0)
					throw;
				caught++;
			}
		} catch (std::runtime_error &) {
			caught++;
		}
	return caught != std::atoi(argv[1]);
}
END
if command -v g++ >/dev/null && g++ -O2 -o "$T/throws" "$T/throws.cc" 2>"$T/err"; then
	for tracer in nop function_graph; do
		timeout 60 "$BRACE" record -q -t $tracer -e 'sdt_libstdcxx:*' -o "$T/t.brace" -- "$T/throws" 400 2>"$T/err"
		equal "the program computes the same, $tracer" 0 $?
		equal "throw, rethrow and catch are counted, $tracer" "400 100 500" \
			"$(calls sdt_libstdcxx:throw) $(calls sdt_libstdcxx:rethrow) $(calls sdt_libstdcxx:catch)"
	done
	timeout 60 "$BRACE" graph --no-pager -l main -e sdt_libstdcxx:throw -- "$T/throws" 3 >"$T/graph" 2>"$T/err"
	equal "function_graph shows them where they happened" 3 \
		"$(grep -Ec '/\* throw: \(0x[0-9a-f]+\) arg1=[0-9]+ arg2=[0-9]+ \*/' "$T/graph")"
else
	skip "C++ exceptions" "no g++"
fi

# --- postgres -----------------------------------------------------------------------------
POSTGRES=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
AS=()
[ "$(id -u)" -ne 0 ] || AS=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$T")
start_postgres() {
	mkdir "$T/pg"
	[ ${#AS[@]} -eq 0 ] || chown nobody: "$T" "$T/pg"
	"${AS[@]}" "$POSTGRES/initdb" -D "$T/pg/data" -U nobody -A trust --no-sync >"$T/err" 2>&1 || return 1
	printf '%s\n' "unix_socket_directories='$T/pg'" "listen_addresses=''" fsync=off >>"$T/pg/data/postgresql.conf"
	"${AS[@]}" "$POSTGRES/postgres" -D "$T/pg/data" >"$T/server.log" 2>&1 &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	is_ready() { "$POSTGRES/pg_isready" -q -U nobody -h "$T/pg" || ! kill -0 "$PID"; }
	until_is is_ready && kill -0 "$PID" || return 1
	bench -i -q -s 1 >"$T/err" 2>&1
}
bench() { "${AS[@]}" "$POSTGRES/pgbench" -h "$T/pg" -U nobody "$@" postgres; }

# Attached to the server, whose backends are forked from it with what is in it.
if [ ! -x "$POSTGRES/postgres" ]; then
	skip "postgres" "it is not installed"
elif ! start_postgres; then
	not_ok "postgres starts"
	diag "$T/err"
else
	timeout 100 "$BRACE" record -q -p "$PID" -t nop -e 'sdt_postgresql:query__start' -e 'sdt_postgresql:transaction__commit' \
		-e 'sdt_postgresql:query__parse__start' -o "$T/t.brace" --duration 90s >"$T/out" 2>"$T/err" &
	tracer=$!
	until_is grep -q brace-code "/proc/$PID/maps"
	bench -n -c 2 -j 1 -t 50 >"$T/bench" 2>&1
	equal "pgbench sees no error" "100/100" "$(sed -n 's/^number of transactions actually processed: //p' "$T/bench")"
	kill -INT $tracer
	wait $tracer
	# seven statements a transaction, one of them BEGIN, and what each client asks first
	equal "each statement is a query" yes "$([ "$(calls sdt_postgresql:query__start)" -ge 700 ] && [ "$(calls sdt_postgresql:query__start)" -le 710 ] && echo yes)"
	equal "and is parsed once" "$(calls sdt_postgresql:query__start)" "$(calls sdt_postgresql:query__parse__start)"
	equal "BEGIN to END are transactions" yes "$([ "$(calls sdt_postgresql:transaction__commit)" -ge 100 ] && echo yes)"
	same_text "the server's code is as before" "$PID"
	bench -n -c 1 -t 5 >"$T/bench" 2>&1
	equal "it serves on" "5/5" "$(sed -n 's/^number of transactions actually processed: //p' "$T/bench")"
	kill -INT "$PID"
	equal "list -e knows them, and which cannot be hooked" "57 3" \
		"$("$BRACE" list -e -f "$POSTGRES/postgres" | grep -c sdt_postgresql:) $("$BRACE" list -e -f "$POSTGRES/postgres" |
			grep -c '^sdt_postgresql:.*(1 of 1 places not hooked: branch-target')"
fi
finish
