#!/bin/bash
# Programs that scribble over the session memory, 40 of each kind and mode.
SEEDS=40 exec bash "$(dirname "$0")/../run/hostile.sh"
