#!/bin/bash
# Part of git's own t/ from Debian's source package, run against Debian's git. Only the suite's
# helper is built. The shell, git and all it starts are traced: thousands of short processes.
. "$(dirname "$0")/lib.sh"
need git
source_of git
SCRIPTS=${SUITE_SCRIPTS:-t0000 t0001 t0003 t0008 t0020 t0021 t0027 t1006 t1300 t1400 t2013 t3200 t3400 t3404 t3700 t3903
	t4013 t4015 t4202 t5300 t5500 t5510 t5601 t6012 t6030 t7004 t7102 t7201 t7400 t7508 t7600 t7810 t9300}
export GIT_TEST_INSTALLED=/usr/bin GIT_TEST_OPTS=''
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

make_helper() { # the directory of templates is all that the suite looks for besides
	local with=(NO_CURL=1 NO_OPENSSL=1 NO_TCLTK=1 NO_GETTEXT=1 NO_PERL=1 NO_PYTHON=1 NO_EXPAT=1 CFLAGS=-O1)

	nice make -j2 "${with[@]}" t/helper/test-tool GIT-BUILD-OPTIONS && make "${with[@]}" -C templates
}
built "$SOURCES/git" templates/blt/description make_helper

verdicts() { tap_verdicts "$SCRIPT" <"$1.out" | sed 's/ \*\*\*$//'; }

for number in $SCRIPTS; do
	SCRIPT=$(basename "$SOURCES/git/t/$number"-*.sh)
	suite "git $number" 1 10000 --mode stream -- sh -c \
		"cd '$SOURCES/git/t' && exec ./'$SCRIPT' --root='$RUN_DIR/trash' --no-chain-lint"
done
finish
