#!/bin/bash
# A private PostgreSQL cluster under pgbench, a new connection (a fork) for each transaction in one
# part: no money appears or vanishes, and every transaction is in the history.
. "$(dirname "$0")/lib.sh"
. "$HERE/programs/server.sh"
BIN=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
need "$BIN/pgbench"
TRANSACTIONS=${TRANSACTIONS:-100}
PORT=5432 # of the socket's name only

# postgres refuses root: root becomes nobody, who may not be allowed into the build's folder.
AS=()
mkdir "$T/bin" "$T/socket"
cp "$BRACE" "$(dirname "$BRACE")/libbrace-agent.so" "$T/bin/"
if [ "$(id -u)" -eq 0 ]; then
	AS=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$T")
	chown nobody: "$T" "$T/bin" "$T/socket"
fi
{ echo '#!/bin/bash'; echo "exec ${AS[*]} $T/bin/brace \"\$@\""; } >"$T/bin/as-user"
{ echo '#!/bin/bash'; echo "[ \$(id -u) -ne 0 ] || set -- ${AS[*]} \"\$@\""; echo 'exec "$@" 2>log'; } >"$T/bin/user"
chmod +x "$T/bin/as-user" "$T/bin/user"
BRACE=$T/bin/as-user

prepare() {
	[ ${#AS[@]} -eq 0 ] || chown nobody: "$RUN_DIR"
	"${AS[@]}" "$BIN/initdb" -D "$RUN_DIR/data" -U nobody -A trust --no-sync
	echo "unix_socket_directories='$T/socket'
listen_addresses=''
fsync=off" >>"$RUN_DIR/data/postgresql.conf"
}

bench() { "${AS[@]}" "$BIN/pgbench" -h "$T/socket" -p $PORT -U nobody "$@" postgres >"$T/bench.log" 2>&1 || tail -n 5 "$T/bench.log"; }
sql() { "${AS[@]}" "$BIN/psql" -h "$T/socket" -p $PORT -U nobody -At postgres -c "$1"; }
client() {
	bench -i -q -s 1
	bench -n -c 4 -j 2 -t "$TRANSACTIONS"
	bench -n -c 4 -j 2 -t "$((TRANSACTIONS / 4))" -C
	bench -n -c 4 -j 2 -t "$TRANSACTIONS" -M prepared -S
	sql 'SELECT count(*) FROM pgbench_history'
	sql 'SELECT (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(abalance) FROM pgbench_accounts)'
	sql 'SELECT (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)'
	sql 'SELECT (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(bbalance) FROM pgbench_branches)'
	sql "SELECT md5(string_agg(v::text, ',')) FROM (SELECT sqrt(i) * ln(i) AS v FROM generate_series(1, 5000) i ORDER BY i % 97, i) x"
	sql 'SELECT 1/0' 2>&1
	sql 'VACUUM FULL pgbench_tellers; ANALYZE' 2>&1
	kill -INT "$(head -n 1 "$RUN_DIR/data/postmaster.pid")"
}
ready() { "$BIN/pg_isready" -q -U nobody -h "$T/socket" -p $PORT; }

served 1000000 "$T/bin/user" "$BIN/postgres" -D "$RUN_DIR/data"
printf '%s\n' $((TRANSACTIONS * 5)) t t t >"$T/truth"
head -n 4 "$T/plain.out" | diff - "$T/truth" >"$T/check.log"
result "$((TRANSACTIONS * 5)) transactions, and the balances agree" $? "$T/check.log"
finish
