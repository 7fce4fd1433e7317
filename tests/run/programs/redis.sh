#!/bin/bash
# Debian's redis-server on a socket: threads, fork for the snapshot, a Lua script, a shutdown.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/server.sh"
need redis-server
need redis-cli
SOCKET=$T/redis.sock

cli() { redis-cli -s "$SOCKET" "$@"; }
client() {
	for i in $(seq 300); do printf 'SET k%d v%d\r\nLPUSH l %d\r\nZADD z %d m%d\r\nHSET h f%d %d\r\nINCRBY n %d\r\n' \
		"$i" "$i" "$i" $((i * 7919 % 307)) "$i" $((i % 50)) "$i" "$i"; done | cli | cksum
	cli <<'END'
GET k77
LRANGE l 0 5
ZRANGE z 0 10 WITHSCORES
SORT l LIMIT 0 5 DESC
EVAL "local s = 0 for i = 1, 1000 do s = s + i * tonumber(ARGV[1]) end return {s, redis.call('GET', 'n')}" 0 3
BITCOUNT k5
PFADD hll a b c
PFCOUNT hll
SUBSTR k9 0 1
NOSUCH command
XADD s 1-1 a b
XRANGE s - +
OBJECT ENCODING z
END
	cli --intset >/dev/null 2>&1
	redis-cli -s "$SOCKET" bgsave >/dev/null
	until cli info persistence | grep -q 'rdb_bgsave_in_progress:0'; do :; done
	cli info persistence | grep -a 'rdb_last_bgsave_status' | tr -d '\r'
	cli debug digest 2>&1 | cksum
	cli shutdown nosave
}
ready() { [ "$(cli ping 2>/dev/null)" = PONG ]; }

hooked_share 99.4 "$(readlink -f /usr/bin/redis-server)"
served 10000 redis-server --port 0 --unixsocket "$SOCKET" --dir "$RUN_DIR" --logfile log --io-threads 2 --enable-debug-command yes
finish
