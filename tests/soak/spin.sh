#!/bin/bash
# Larger worlds of the session memory's model: half an hour at most for each.
LARGER=1 exec bash "$(dirname "$0")/../run/spin.sh"
