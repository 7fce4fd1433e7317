#!/bin/bash
# The long version of tests/run/death.sh: one side is killed at a test point in as many scenarios as
# lttng's own suite has (9,826, each of which must reach its point; of ours somewhat less than half
# are deaths, the others signals), and storms and deaths are repeated.
# BRACE and FIXTURES as for tests/run.
cd "$(dirname "$0")/../run" || exit
SCENARIOS=${SCENARIOS:-25000} KILLER_SECONDS=7200 REACHED_LEAST=${REACHED_LEAST:-23200} exec bash death.sh
