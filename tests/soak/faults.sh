#!/bin/bash
# The long version of tests/run/faults.sh: every place in brace that calls the system fails, in
# every scenario. BRACE and FIXTURES as for tests/run.
cd "$(dirname "$0")/../run" || exit
FAULTS='' exec bash faults.sh
