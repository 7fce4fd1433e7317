#!/bin/bash
# sqlite3 with many random queries of a fixed seed. Each query checks itself, by an identity: the
# rows for which a condition is true, false and null are all the rows there are. And each result
# must be the untraced run's. sqlite's own test suite is run by tests/soak.
. "$(dirname "$0")/lib.sh"
need sqlite3
QUERIES=${QUERIES:-150}

# Text: "query N|all rows|rows in three parts|a fingerprint of them".
verdicts() {
	awk -F '|' '/^query/ { print $2 == $3 && NF == 4 ? "passed" : "failed", $0 }' "$1.out"
}

"$HERE/suites/queries.awk" -v queries="$QUERIES" </dev/null >"$T/queries.sql"
STDIN=$T/queries.sql
suite sqlite3 "$QUERIES" 1000000 --mode block -L 'libsqlite3*' -- sqlite3 -batch
finish
