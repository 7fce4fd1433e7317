#!/bin/bash
# redis's own suite (Tcl) from Debian's source package against Debian's redis-server: the whole
# harness runs under brace, every server that it starts is traced, with its forks.
. "$(dirname "$0")/lib.sh"
need redis-server
need tclsh
source_of redis
export LIMIT=900
UNITS="unit/dump unit/auth unit/protocol unit/keyspace unit/scan unit/info unit/type/string unit/type/incr
	unit/type/list unit/type/set unit/type/zset unit/type/hash unit/type/stream unit/sort unit/expire unit/other
	unit/multi unit/quit unit/acl unit/scripting unit/pubsub unit/bitops unit/bitfield unit/geo unit/hyperloglog
	unit/lazyfree unit/introspection-2 unit/tracking unit/aofrw integration/rdb integration/aof
	integration/replication-psync integration/logging"
ONLY=()
for unit in ${SUITE_UNITS:-$UNITS}; do ONLY+=(--single "$unit"); done

prepare() {
	cp -r "$SOURCES/redis/tests" "$SOURCES/redis/redis.conf" "$SOURCES/redis/sentinel.conf" .
	mkdir src
	ln -s /usr/bin/redis-* src/
	cp -r "$SOURCES/redis/src/commands" src/
}

verdicts() {
	sed 's/\x1b\[[0-9;]*m//g' "$1.out" | awk '
		/^\[ok\]: / { sub(/^\[ok\]: /, ""); sub(/ \([0-9]+ ms\)$/, ""); print "passed", $0; next }
		/^\[(err|exception|timeout)\]: / { print "failed", $0 }
		/^\[(skip|ignore)\]: / { print "skipped", $0 }'
}

suite redis 300 10000000 --mode stream -- tclsh tests/test_helper.tcl "${ONLY[@]}" --clients 1 \
	--baseport $((21000 + $$ % 8000))
finish
