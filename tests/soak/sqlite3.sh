#!/bin/bash
# sqlite's own suite (Tcl). It needs sqlite built into a Tcl interpreter, which is built from
# Debian's source package: every function of that one binary is hooked.
. "$(dirname "$0")/lib.sh"
need tclsh
source_of sqlite3
FIXTURE=$SOURCES/sqlite3/bld/testfixture
TESTS=${SUITE_TESTS:-select1 select2 select3 select4 select5 select6 select7 select8 select9 selectA selectB selectC
	insert insert2 update delete join join2 join3 where where2 where7 index index2 expr func func2 trigger1 trigger2
	view subquery in in2 like minmax null date cast collate1 collate2 aggnested with1 with2 window1 window2 window3
	savepoint trans trans2 vacuum pragma attach fkey1 fkey2 json101 upsert1 alter alter2
	blob boundary1 between case distinct distinctagg enc enc2 exists limit misc1 misc2 misc3 misc5 rowid schema sort
	table temptable types types2 types3 unique vtab1 wal wal2 malloc3}

build() {
	mkdir -p bld && cd bld && ../configure --with-tcl=/usr/lib/tcl8.6 && nice make testfixture
}
built "$SOURCES/sqlite3" bld/testfixture build

verdicts() {
	awk '/^(! )?[^ ]+\.\.\. *Ok$/ { sub(/\.\.\. *Ok$/, ""); print "passed", $0 }
		/^! .* expected:/ { print "failed", $2 }
		/ Omitted|^Skipping/ { print "skipped", $0 }' "$1.out"
}

for test in $TESTS; do
	[ -e "$SOURCES/sqlite3/test/$test.test" ] || continue
	suite "sqlite $test" 1 10000 --mode block -- "$FIXTURE" "$SOURCES/sqlite3/test/$test.test" --verbose=1
done
finish
