#!/bin/bash
# Debian's nginx with a master and a worker on loopback: what a client gets is the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/server.sh"
need nginx
need curl
PORT=$((20000 + $$ % 20000))

prepare() {
	mkdir -p html tmp logs
	seq 1 20000 >html/numbers
	echo '<h1>page</h1>' >html/index.html
	cat >nginx.conf <<END
user $(id -un);
worker_processes 1;
pid $RUN_DIR/nginx.pid;
error_log $RUN_DIR/logs/error.log;
events { worker_connections 64; }
http {
	access_log $RUN_DIR/logs/access.log;
	client_body_temp_path tmp/a; proxy_temp_path tmp/b; fastcgi_temp_path tmp/c; uwsgi_temp_path tmp/d; scgi_temp_path tmp/e;
	gzip on; gzip_types *; gzip_min_length 10;
	server {
		listen 127.0.0.1:$PORT;
		root $RUN_DIR/html;
		location /moved { return 301 /index.html; }
		location ~ ^/re/(.*)\$ { return 200 "got \$1 \$request_method\n"; }
	}
}
END
}

client() {
	local url=http://127.0.0.1:$PORT
	for path in / /numbers /missing /moved /re/abc%20d '/re/x?y=1'; do
		curl -sS -o - -w '%{http_code} %{content_type} %{size_download}\n' "$url$path" | cksum
		curl -sS --compressed "$url$path" | cksum
	done
	curl -sS -r 100-5000 "$url/numbers" | cksum
	for _ in $(seq 40); do printf 'url = "%s/numbers"\noutput = /dev/null\nwrite-out = "%%{http_code} "\n' "$url"; done | curl -sS -K -
	kill -HUP "$(cat "$RUN_DIR/nginx.pid")"
	curl -sS --retry 20 --retry-connrefused --retry-delay 1 "$url/numbers" | cksum
	kill -QUIT "$(cat "$RUN_DIR/nginx.pid")"
}
ready() { curl -sS -o /dev/null "http://127.0.0.1:$PORT/"; }

hooked_share 99.4 /usr/sbin/nginx
served 2000 nginx -p "$RUN_DIR/" -c nginx.conf -g 'daemon off;'
finish
