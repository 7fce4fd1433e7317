#!/bin/bash
# gcc's cc1 (39,000 functions, not PIE): the assembly it writes must not differ.
. "$(dirname "$0")/lib.sh"
need gcc
CC1=$(gcc -print-prog-name=cc1)
prepare() { gcc -E -D_GNU_SOURCE "$HERE/../targets/arguments.c" -o unit.i; }

program "$CC1" 100000 "$CC1" -quiet -O2 -std=gnu11 unit.i -o -
same "same through the driver, which execs" -- gcc -O1 -c unit.i -o unit.o
finish
