#!/bin/bash
# Where a marker's semaphore is says the file. It is raised if it is data of this file: what else is
# mapped there, brace leaves alone, also if it is writable.
. "$(dirname "$0")/attach-lib.sh"
truncate -s 4096 "$T/shared"
start misled "$FIXTURES/misled" "$T/shared"
attach -e 'sdt_misled:*' --duration 300ms
[ "$(cat "$T/attach.status")" -eq 0 ] && "$BRACE" replay "$T/trace" | grep -qw here
result "the marker is recorded" $? "$T/summary"
ends_right "memory that is shared with others was not written to" misled "$PID"
cmp "$T/shared" <(head -c 4096 /dev/zero) >"$T/differences" 2>&1
result "nor the file behind it" $? "$T/differences"
finish
