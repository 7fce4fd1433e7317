#!/bin/bash
# nginx with two workers under wrk: each response of many thousands is looked at.
. "$(dirname "$0")/lib.sh"
. "$HERE/programs/server.sh"
need nginx
need wrk
need curl
PORT=$((20000 + $$ % 20000))
SECONDS_EACH=${SECONDS_EACH:-3}

prepare() {
	mkdir -p html tmp logs
	seq 1 300 >html/numbers
	cat >nginx.conf <<END
user $(id -un);
worker_processes 2;
pid $RUN_DIR/nginx.pid;
error_log $RUN_DIR/logs/error.log;
events { worker_connections 256; }
http {
	access_log $RUN_DIR/logs/access.log;
	client_body_temp_path tmp/a; proxy_temp_path tmp/b; fastcgi_temp_path tmp/c; uwsgi_temp_path tmp/d; scgi_temp_path tmp/e;
	keepalive_requests 50;
	server {
		listen 127.0.0.1:$PORT;
		root $RUN_DIR/html;
		location ~ ^/re/(.*)\$ { return 200 "got \$1 \$request_method\n"; }
		location /missing { return 404 "none\n"; }
		location /proxied/ { proxy_pass http://127.0.0.1:$PORT/re/; }
	}
}
END
}

# How many there were differs from run to run and is shown; that all were right must not.
client() {
	local report=$T/wrk.report
	wrk -t2 -c24 -d"${SECONDS_EACH}s" -s "$HERE/suites/wrk.lua" "http://127.0.0.1:$PORT" >"$report" 2>&1
	sed -n 's/^responses: /# nginx responses: /p' "$report" >&3
	sed -n 's/^verdict: //p' "$report"
	kill -QUIT "$(cat "$RUN_DIR/nginx.pid")"
}
ready() { curl -sS -o /dev/null "http://127.0.0.1:$PORT/numbers"; }

exec 3>&1
served 10000 nginx -p "$RUN_DIR/" -c nginx.conf -g 'daemon off;'
grep -qx 'all responses right, no errors' "$T/plain.out"
result "wrk saw right responses only" $? "$T/plain.out"
finish
