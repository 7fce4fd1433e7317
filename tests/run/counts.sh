#!/bin/bash
# Call counts equal to callgrind's, function by function, on real programs: callcounts.py
# says what a call is and how callgrind is asked. Inputs are deterministic, and so must the
# programs be: callgrind itself runs twice, and its two runs have to agree first.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/counts-lib.sh"
LIMIT=300

library() { # PROGRAM PATTERN: the path of a library it is linked with
	ldd "$1" | awk -v p="$2" '$1 ~ p { print $3 }'
}

STDIN=$WORK/query.sql
counted sqlite3 "/usr/bin/sqlite3 $(library /usr/bin/sqlite3 libsqlite3)" sqlite3 -batch :memory:
STDIN=/dev/null
counted gawk /usr/bin/gawk gawk -f "$WORK/count.awk"
counted bash /bin/bash /bin/bash "$WORK/count.bash"
counted perl /usr/bin/perl perl "$WORK/count.pl"
prepare() { head -c 200000 /usr/bin/perl >in; }
counted xz "/usr/bin/xz $(library /usr/bin/xz liblzma)" xz -k -2 -T1 -c in
counted zstd /usr/bin/zstd zstd -q -9 --single-thread -c in
finish
