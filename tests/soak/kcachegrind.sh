#!/bin/bash
# KCachegrind reads `brace export --to callgrind`: the script of `make check`, which skips it without KDE's libraries.
exec bash "$(dirname "$0")/../run/export-kcachegrind.sh"
