#!/bin/bash
# Tests wait for what they need, with a deadline; they never sleep for a time
# that is hoped to be long enough.  (pgbench's \sleep, the pace of a load, is none.)
set -euo pipefail
cd "$(dirname "$0")/.."

found=$(grep -nP '(?<!\\)\b(pg_sleep\w*|u?sleep|setTimeout)\b' -r test/t test/perl test/drivers test/specs test/pgtap sql \
	--include='*.pl' --include='*.pm' --include='*.py' --include='*.js' --include='*.spec' --include='*.sql' || true)
if [ -n "$found" ]; then
	echo "$found"
	exit 1
fi
echo "ok waits"
