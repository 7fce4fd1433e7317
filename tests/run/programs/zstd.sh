#!/bin/bash
# Debian's zstd: threads, round trip, checksum.
. "$(dirname "$0")/lib.sh"
need zstd
prepare() { head -c 3000000 /usr/bin/perl >in; zstd -q -T1 in -o ready.zst; }

program /usr/bin/zstd 1000 zstd -q -T2 -9 in -c
same "same when it decompresses" -- zstd -q -d ready.zst -c
same "same benchmark of itself" -- zstd -q -t ready.zst
finish
