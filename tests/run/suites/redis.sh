#!/bin/bash
# redis-server under redis-benchmark, two I/O threads, snapshots while it runs (fork): afterwards
# the values are what that many requests must have made. Its own suite is run by tests/soak.
. "$(dirname "$0")/lib.sh"
. "$HERE/programs/server.sh"
need redis-server
need redis-benchmark
SOCKET=$T/redis.sock
REQUESTS=${REQUESTS:-8000}

cli() { redis-cli -s "$SOCKET" "$@"; }
load() { redis-benchmark -q -s "$SOCKET" -n "$REQUESTS" -c 20 "$@" 2>&1 | grep -ai 'error\|fail'; }
client() {
	load -P 8 -t set,get,lpush,sadd,hset
	load -P 8 INCR count
	load -P 8 RPUSH queue one
	load -P 16 LPOP queue
	load APPEND text x
	cli bgsave >/dev/null
	load -P 8 INCRBY count 2
	load -P 8 EVAL 'return redis.call("ZINCRBY", KEYS[1], ARGV[1], "m")' 1 z 3
	until cli info persistence | grep -q 'rdb_bgsave_in_progress:0'; do :; done
	cli info persistence | grep -a rdb_last_bgsave_status | tr -d '\r'
	cli get count
	cli llen mylist
	cli llen queue
	cli strlen text
	cli zscore z m
	cli get key:__rand_int__ | cksum
	cli debug digest | cksum
	cli shutdown nosave
}
ready() { [ "$(cli ping 2>/dev/null)" = PONG ]; }

served 100000 redis-server --port 0 --unixsocket "$SOCKET" --dir "$RUN_DIR" --logfile log --io-threads 2 \
	--enable-debug-command yes
printf '%s\n' rdb_last_bgsave_status:ok $((REQUESTS * 3)) "$REQUESTS" 0 "$REQUESTS" $((REQUESTS * 3)) >"$T/truth"
head -n 6 "$T/plain.out" | diff - "$T/truth" >"$T/check.log"
result "the values are those of $REQUESTS requests each" $? "$T/check.log"
finish
