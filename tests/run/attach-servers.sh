#!/bin/bash
# Servers under load, attached to and left CYCLES times meanwhile: their clients see no error, the
# results are right, and the text is the files' again. SERVERS: which. With SPEED=1, which only a
# quiet machine can answer: afterwards they do as much in a second of processor time as before.
. "$(dirname "$0")/attach-lib.sh"
CYCLES=${CYCLES:-4}
SERVERS=${SERVERS:-redis nginx}
CHUNKS=${CHUNKS:-2} # of load before and after
SPEED=${SPEED:-0}
PORT=$((20000 + $$ % 20000))
mkdir "$T/www"
seq 1 300 >"$T/www/numbers"

# --- the servers: start_X, chunk_X (a piece of load: prints "work N", how many requests it was, and "wrong ..." if 
# something was), pids_X, end_X (prints what was wrong in the end) ---------------------------------
background() {
	"$@" >"$T/server.log" 2>&1 &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
}

until_ready() {
	is_ready() { "$@" >/dev/null 2>&1 || ! kill -0 "$PID"; }
	until_is is_ready "$@" && kill -0 "$PID"
}

REDIS="$T/redis.sock"
start_redis() {
	background redis-server --port 0 --unixsocket "$REDIS" --save '' --io-threads 2
	until_ready redis-cli -s "$REDIS" ping
}
chunk_redis() {
	redis-benchmark -q -s "$REDIS" -n 10000 -c 20 -P 4 INCR count 2>&1 | tr '\r' '\n' >"$T/redis.chunk"
	redis-benchmark -q -s "$REDIS" -n 5000 -c 20 RPUSH queue x 2>&1 | tr '\r' '\n' >>"$T/redis.chunk"
	echo work 15000
	grep -i 'err\|fail\|refused' "$T/redis.chunk" | sed 's/^/wrong /'
	echo >>"$T/redis.chunks"
}
pids_redis() { echo "$PID"; }
end_redis() {
	local n
	n=$(wc -l <"$T/redis.chunks")
	[ "$(redis-cli -s "$REDIS" get count)" = $((n * 10000)) ] || echo "wrong count"
	[ "$(redis-cli -s "$REDIS" llen queue)" = $((n * 5000)) ] || echo "wrong length"
	redis-cli -s "$REDIS" shutdown nosave
}

start_nginx() {
	mkdir -p "$T/nginx/tmp" "$T/nginx/logs"
	cat >"$T/nginx/nginx.conf" <<-END
		user $(id -un);
		worker_processes 2;
		daemon off;
		pid $T/nginx/nginx.pid;
		error_log $T/nginx/logs/error.log;
		events { worker_connections 256; }
		http {
			access_log off;
			client_body_temp_path tmp/a; proxy_temp_path tmp/b; fastcgi_temp_path tmp/c; uwsgi_temp_path tmp/d;
			scgi_temp_path tmp/e;
			server {
				listen 127.0.0.1:$PORT;
				root $T/www;
				location /proxied/ { proxy_pass http://127.0.0.1:$PORT/; }
			}
		}
	END
	background nginx -p "$T/nginx/" -c nginx.conf
	until_ready curl -sSf "http://127.0.0.1:$PORT/numbers"
}
wrk_chunk() { wrk -t2 -c16 -d1s -s "$WORK/right.lua" "$1" 2>&1 | grep '^work\|^wrong\|rror'; }
chunk_nginx() {
	wrk_chunk "http://127.0.0.1:$PORT/numbers"
	wrk_chunk "http://127.0.0.1:$PORT/proxied/numbers" | grep -v work
}
pids_nginx() { echo "$PID $(pgrep -P "$PID")" | xargs | tr ' ' ,; }
end_nginx() {
	grep -a 'alert\|emerg\|crit' "$T/nginx/logs/error.log" | sed 's/^/wrong /'
	kill -QUIT "$PID"
}

start_caddy() {
	background env HOME="$T" caddy file-server --root "$T/www" --listen "127.0.0.1:$((PORT + 1))"
	until_ready curl -sSf "http://127.0.0.1:$((PORT + 1))/numbers"
}
chunk_caddy() { wrk_chunk "http://127.0.0.1:$((PORT + 1))/numbers"; }
pids_caddy() { echo "$PID"; }
end_caddy() {
	grep -a 'panic\|fatal' "$T/server.log" | sed 's/^/wrong /'
	kill -TERM "$PID"
}

start_python() {
	/usr/bin/python3 "$WORK/threads.py" >"$T/python.out" 2>"$T/server.log" &
	PID=$!
	ON_EXIT+=("kill -KILL $PID")
	until_ready grep -q work "$T/python.out"
}
chunk_python() {
	local seen
	seen=$(wc -l <"$T/python.out")
	until [ "$(wc -l <"$T/python.out")" -gt $((seen + 2)) ] || ! kill -0 "$PID"; do sleep 0.1; done
	tail -n +$((seen + 1)) "$T/python.out"
}
pids_python() { echo "$PID"; }
end_python() {
	kill -TERM "$PID"
	wait "$PID" || echo "wrong status $?"
	[ "$(tail -n 1 "$T/python.out")" = right ] || tail -n 1 "$T/python.out" | sed 's/^/wrong /'
}

# postgres refuses root: root becomes nobody. A backend is forked for each client.
POSTGRES=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
AS=()
[ "$(id -u)" -ne 0 ] || AS=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$T")
start_postgres() {
	mkdir "$T/pg"
	[ ${#AS[@]} -eq 0 ] || chown nobody: "$T" "$T/pg"
	"${AS[@]}" "$POSTGRES/initdb" -D "$T/pg/data" -U nobody -A trust --no-sync >"$T/initdb.log" 2>&1 || return 1
	printf '%s\n' "unix_socket_directories='$T/pg'" "listen_addresses=''" fsync=off >>"$T/pg/data/postgresql.conf"
	background "${AS[@]}" "$POSTGRES/postgres" -D "$T/pg/data"
	until_ready "$POSTGRES/pg_isready" -q -U nobody -h "$T/pg"
	pgbench -i -q -s 1 >"$T/pgbench.log" 2>&1
}
pgbench() { "${AS[@]}" "$POSTGRES/pgbench" -h "$T/pg" -U nobody "$@" postgres; }
sql() { "${AS[@]}" "$POSTGRES/psql" -h "$T/pg" -U nobody -At postgres -c "$1"; }
chunk_postgres() {
	pgbench -n -c 4 -j 2 -T 3 >"$T/pg.chunk" 2>&1 || echo "wrong: pgbench failed"
	sed -n 's/^number of transactions actually processed: /work /p' "$T/pg.chunk"
	grep -i 'error\|fatal\|abort' "$T/pg.chunk" | sed 's/^/wrong /'
	sed -n 's/^number of transactions actually processed: //p' "$T/pg.chunk" >>"$T/pg.chunks"
}
pids_postgres() { echo "$PID $(pgrep -P "$PID")" | xargs | tr ' ' ,; }
end_postgres() {
	[ "$(sql 'SELECT count(*) FROM pgbench_history')" = "$(awk '{ n += $1 } END { print n }' "$T/pg.chunks")" ] || echo "wrong history"
	[ "$(sql 'SELECT (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(abalance) FROM pgbench_accounts)')" = t ] &&
		[ "$(sql 'SELECT (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)')" = t ] &&
		[ "$(sql 'SELECT (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(bbalance) FROM pgbench_branches)')" = t ] ||
		echo "wrong balances"
	grep -a 'PANIC\|terminated by signal' "$T/server.log" | sed 's/^/wrong /'
	kill -INT "$PID"
}

# --- the test -------------------------------------------------------------------------------------
KINDS=("" "-L *" "-t function" "--max-graph-depth 4" "--mode overwrite -L *" "--threshold 50us")

# A process may end between its being listed and being attached to: then once more.
cycle() {
	local try
	for try in 1 2 3 4 5; do
		set -f
		# shellcheck disable=SC2086 # words
		timeout -k 5 "$LIMIT" "$BRACE" record -p "$("pids_$1")" --duration $(($2 * 7 % 40 + 10))ms ${KINDS[$2 % ${#KINDS[@]}]} \
			-o "$T/trace" >"$T/attach.out" 2>"$T/summary" && break
		set +f
		[ "$try" -lt 5 ] && grep -q 'no process\|No such process' "$T/summary" || return 1
	done
	set +f
	! grep 'could not be left' "$T/summary"
}

# processor PIDS: ticks that they and their children have used.
processor() {
	local pid
	for pid in $(echo "$1" | tr , ' '); do cat "/proc/$pid/stat" 2>/dev/null; done |
		sed 's/.*) //' | awk '{ n += $12 + $13 + $14 + $15 } END { print n + 0 }'
}

# chunks NAME N: N pieces of load; leaves in $DONE how much work was done in a second of processor
# time.
chunks() {
	local i pids ticks
	pids=$("pids_$1")
	ticks=$(processor "$pids")
	for ((i = 0; i < $2; i++)); do "chunk_$1"; done >"$T/chunks"
	grep -v '^work ' "$T/chunks" >>"$T/wrong"
	DONE=$(awk -v ticks="$(($(processor "$pids") - ticks))" '/^work / { n += $2 }
		END { printf "%.0f", n * 100 / (ticks ? ticks : 1) }' "$T/chunks")
}

load_on() { until [ -e "$T/enough" ]; do "chunk_$1" | grep -v '^work ' >>"$T/wrong"; done; }

same_texts() {
	local pid
	for pid in $("pids_$1" | tr , ' '); do
		"$FIXTURES/same_text" "$pid" || [ ! -d "/proc/$pid" ] || return 1
	done
}

server() {
	local name=$1 before after i failed=0 load
	: >"$T/wrong"
	rm -f "$T/enough"
	if ! "start_$name"; then
		not_ok "$name starts"
		diag "$T/server.log"
		return
	fi
	chunks "$name" 1 # to warm up
	chunks "$name" "$CHUNKS"
	before=$DONE
	load_on "$name" &
	load=$!
	for ((i = 0; i < CYCLES && !failed; i++)); do cycle "$name" "$i" || failed=1; done
	: >"$T/enough"
	wait "$load"
	result "$name: attached and left $i of $CYCLES times under load" "$failed" "$T/summary"
	check_that "$name: its text is the files'" same_texts "$name"
	for ((i = 0; i < (SPEED ? 5 : 1); i++)); do # what slows it for good does so each time; what others do on the machine does not
		chunks "$name" "$CHUNKS"
		after=$DONE
		[ "$after" -le $((before * 2 / 3)) ] || break
	done
	"end_$name" >>"$T/wrong" 2>&1
	result "$name: no error, and the results are right" "$(wc -l <"$T/wrong")" "$T/wrong"
	printf '# %s: %s in a second of processor time before, %s after\n' "$name" "$before" "$after"
	[ "$SPEED" -eq 0 ] || check_that "$name: as fast afterwards as before" [ "$after" -gt $((before * 2 / 3)) ]
	wait "$PID"
}

for name in $SERVERS; do
	case $name in
	postgres) program=$POSTGRES/postgres ;;
	redis) program=redis-server ;;
	python) program=/usr/bin/python3 ;;
	*) program=$name ;;
	esac
	if command -v "$program" >/dev/null; then server "$name"; else skip "$name" "is not installed"; fi
done
finish
