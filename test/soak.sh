#!/bin/bash
# Runs the tests again and again, each round with a new seed, until one fails.
#
#	test/soak.sh SECONDS [STAGE...]		no new round after so many seconds
#	TESTS="019_model 024_exactly_once" test/soak.sh 3600 tap
#
# Prints the seed before each round.  The gate (test/run.sh) has one fixed
# seed, so that the same tree gives the same choices; this is where new ones
# are drawn.
set -uo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:?seconds to run}
shift

for ((round = 1; SECONDS < seconds || round == 1; round++)); do
	seed=$((RANDOM << 15 | RANDOM))
	echo "round $round, SEED=$seed"
	SEED=$seed "$ROOT/test/run.sh" "$@" >"$ROOT/build/soak.log" 2>&1 || {
		tail -n 60 "$ROOT/build/soak.log"
		echo "failed in round $round: SEED=$seed test/run.sh $*"
		exit 1
	}
	tail -n 1 "$ROOT/build/soak.log"
done
