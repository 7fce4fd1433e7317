#!/bin/bash
# Debian's xz: a round trip, with threads, compared by checksum.
. "$(dirname "$0")/lib.sh"
need xz
prepare() { head -c 3000000 /usr/bin/perl >in; }
# shellcheck disable=SC2016 # $ is for the shell inside
round='xz -k -2 in && xz -k -T2 --block-size=500000 -c in >in2.xz && xz -dc in.xz | cmp - in && xz -dc in2.xz | cksum && cksum <in.xz && xz -lv in2.xz && xz -t in2.xz'

program /usr/bin/xz 100 xz -k -v -2 --stdout "$HERE/lib.sh"
same "same round trip from a shell, threads and pipes" -- sh -c "$round"
finish
