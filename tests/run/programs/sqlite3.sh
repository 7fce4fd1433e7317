#!/bin/bash
# Debian's sqlite3 on a file, running the queries of work/query.sql.
. "$(dirname "$0")/lib.sh"
need sqlite3
STDIN=$WORK/query.sql

program /usr/bin/sqlite3 500 sqlite3 -batch db.sqlite
hooked_share 99.4 "$(ldd /usr/bin/sqlite3 | awk '/libsqlite3/ { print $3 }')"
same "same with libsqlite3 alone opened" -L libsqlite3.so.0 -- sqlite3 -batch db.sqlite
nothing_lost "nothing lost from libsqlite3" 1000000
finish
