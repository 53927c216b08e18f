#!/bin/bash
# The library exports only what the server looks up by name: server libraries
# share one symbol space, and others may hold a rax or a listpack too.
set -euo pipefail

symbols=$(nm --dynamic --defined-only "$1" | awk '{ print $NF }')

# Each function of SQL comes with its pg_finfo_ and is named stream_.
stray=$(awk '/^(_PG_init|Pg_magic_func|strm_[a-z0-9_]+_main|_init|_fini)$/ { next }
	sub(/^pg_finfo_/, "") { info[$0] = 1; next }
	{ fn[$0] = 1 }
	END {
		for (f in fn) if (!(f in info) || f !~ /^stream_/) print f
		for (f in info) if (!(f in fn)) print "pg_finfo_" f
	}' <<<"$symbols")
if [ -n "$stray" ]; then
	echo "exported but not meant to be:"
	echo "$stray"
	exit 1
fi
grep -q '^_PG_init$' <<<"$symbols" || { echo "_PG_init is not exported"; exit 1; }
echo "ok symbols - $(wc -l <<<"$symbols") exported"
