#!/bin/bash
# Debian's bash: subshells by the hundred (fork without exec), traps, jobs, pipes.
. "$(dirname "$0")/lib.sh"

program /bin/bash 50000 /bin/bash "$WORK/shell.bash"
finish
