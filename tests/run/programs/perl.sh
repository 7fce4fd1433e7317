#!/bin/bash
# Debian's perl: die is longjmp; fork, a child, destructors, regular expressions.
. "$(dirname "$0")/lib.sh"
need perl
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0

program /usr/bin/perl 50000 perl "$WORK/prog.pl"
finish
