#!/bin/bash
# Debian's gawk, not PIE.
. "$(dirname "$0")/lib.sh"
need gawk

program /usr/bin/gawk 20000 gawk -f "$WORK/text.awk"
finish
