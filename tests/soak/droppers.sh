#!/bin/bash
# Servers of root's that give their user up, wholly traced by root: nginx, whose workers become
# www-data, and postgres, which runuser makes its own user's before it is executed. What clients get
# is the same as untraced; every worker's records are in the file, as its new user's.
. "$(dirname "$0")/../run/programs/lib.sh"
. "$HERE/programs/server.sh"
[ "$(id -u)" -eq 0 ] || { printf '1..0 # SKIP only root has rights to give up\n'; exit 0; }
LIMIT=${LIMIT_SERVER:-600}
BIN=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
need nginx
need curl
need runuser
need "$BIN/pgbench"
PORT=$((20000 + $$ % 20000))
WORKERS=4
chmod 755 "$T" # other users read and execute what is here

# note_workers USER: the processes of the server that are this user's now. Several calls add up.
note_workers() { ps -o pid= -o user:32= --ppid "$MASTER" | awk -v user="$1" '$2 == user { print $1 }' >>"$T/workers"; }

# dropped NAME LEAST TIMES: of each that was noted there are LEAST records, in TIMES threads of that
# number (one before it was another user's, one after), and the sum of all threads' is what the
# trace has.
dropped() {
	sort -un "$T/workers" >"$T/noted"
	"$BRACE" info --json "$T/trace" >"$T/info"
	awk -v least="$2" -v times="$3" 'NR == FNR { wanted[$1] = 1; n++; next }
		/"type":"thread"/ {
			match($0, /"pid":[0-9]+/); pid = substr($0, RSTART + 6, RLENGTH - 6)
			seen[pid]++
			match($0, /"records":[0-9]+/); has[pid] += substr($0, RSTART + 10, RLENGTH - 10)
			all += substr($0, RSTART + 10, RLENGTH - 10)
		}
		/"type":"trace"/ { match($0, /"records":[0-9]+/); total = substr($0, RSTART + 10, RLENGTH - 10) }
		END {
			for (pid in wanted) if (has[pid] < least || seen[pid] < times) {
				print "worker " pid " has " has[pid] + 0 " records in " seen[pid] + 0 " threads"
				bad = 1
			}
			if (all != total) { print all " records of threads, " total " in all"; bad = 1 }
			if (!n) { print "no worker was seen"; bad = 1 }
			exit bad
		}' "$T/noted" "$T/info" >"$T/check.log"
	status=$?
	result "$1: $(wc -l <"$T/noted") workers, each with its records in the file" $status "$T/check.log"
	! grep -q 'stopped recording\|went on without' "$T/summary"
	result "$1: none was let go" $? "$T/summary"
}

both() { # NAME CALLS LEAST TIMES COMMAND...
	local name=$1 calls=$2 least=$3 times=$4
	shift 4
	serve "$T/plain" "$@"
	rm -f "$T/workers" "$T/trace"
	serve "$T/traced" "$BRACE" record --mode block -o "$T/trace" -- "$@"
	split_summary
	same_results "$name: clients get the same"
	nothing_lost "$name: nothing lost" "$calls"
	dropped "$name" "$least" "$times"
}

# --- nginx: workers by setuid and setgid; new ones at each reload
prepare() {
	mkdir -p html logs tmp
	chmod 755 "$RUN_DIR"
	seq 1 20000 >html/numbers
	cat >nginx.conf <<-END
		user www-data;
		worker_processes $WORKERS;
		pid $RUN_DIR/nginx.pid;
		error_log $RUN_DIR/logs/error.log;
		events { worker_connections 64; }
		http {
			access_log $RUN_DIR/logs/access.log;
			client_body_temp_path tmp/a; proxy_temp_path tmp/b; fastcgi_temp_path tmp/c; uwsgi_temp_path tmp/d; scgi_temp_path tmp/e;
			server { listen 127.0.0.1:$PORT; root $RUN_DIR/html; location /hello { return 200 "hello \$request_method\n"; } }
		}
	END
}

ready() { curl -sS -o /dev/null "http://127.0.0.1:$PORT/hello"; }

# All workers of this round are there, and nobody of an earlier one.
await_workers() {
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		[ "$(ps -o user:32= --ppid "$MASTER" | grep -cx www-data)" -ne $WORKERS ] || return 0
		sleep 0.05
	done
	echo 'the workers are not as many as they should be'
}

client() {
	local url=http://127.0.0.1:$PORT round
	MASTER=$(cat "$RUN_DIR/nginx.pid")
	for round in 1 2 3; do
		await_workers
		note_workers www-data
		curl -sS "$url/hello" "$url/numbers" | cksum
		for _ in $(seq 200); do printf 'url = "%s/numbers"\noutput = /dev/null\nwrite-out = "%%{http_code} "\n' "$url"; done | curl -sS --no-progress-meter -Z -K - 2>&1 | cksum
		[ $round -eq 3 ] || kill -HUP "$MASTER"
	done
	kill -QUIT "$MASTER"
}
both nginx 10000 100 2 nginx -p "$RUN_DIR/" -c nginx.conf -g 'daemon off;'

# --- postgres: another user's from its first call on; a backend for each connection
mkdir "$T/socket"
chown postgres: "$T/socket"
as() { runuser -u postgres -- "$@"; }
prepare() {
	chown postgres: "$RUN_DIR"
	as "$BIN/initdb" -D "$RUN_DIR/data" -A trust --no-sync
	printf '%s\n' "unix_socket_directories='$T/socket'" "listen_addresses=''" fsync=off >>"$RUN_DIR/data/postgresql.conf"
}
ready() { "$BIN/pg_isready" -q -h "$T/socket"; }
bench() { as "$BIN/pgbench" -h "$T/socket" "$@" postgres >"$T/bench.log" 2>&1 || tail -n 5 "$T/bench.log"; }
sql() { as "$BIN/psql" -h "$T/socket" -At postgres -c "$1"; }
client() {
	MASTER=$(head -n 1 "$RUN_DIR/data/postmaster.pid")
	bench -i -q -s 1
	note_workers postgres
	sql 'SELECT pg_backend_pid()' >>"$T/workers"
	bench -n -c 4 -j 2 -t 100
	bench -n -c 4 -j 2 -t 25 -C
	sql 'SELECT pg_backend_pid()' >>"$T/workers"
	sql 'SELECT count(*) FROM pgbench_history'
	sql 'SELECT (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(bbalance) FROM pgbench_branches)'
	sql 'SELECT 1/0' 2>&1
	kill -INT "$MASTER"
}
# shellcheck disable=SC2016 # for the shell that is started
both postgres 1000000 100 1 sh -c 'exec runuser -u postgres -- "$0" -D "$1" 2>log' "$BIN/postgres" "$RUN_DIR/data"
finish
