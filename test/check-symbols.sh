#!/bin/bash
# The library exports only what the server looks up by name: server libraries
# share one symbol space, and others may hold a rax or a listpack too.
set -euo pipefail

symbols=$(nm --dynamic --defined-only "$1" | awk '{ print $NF }')
stray=$(grep -Ev '^(_PG_init|Pg_magic_func|pg_finfo_[a-z0-9_]+|stream_[a-z0-9_]+|_init|_fini)$' <<<"$symbols" || true)
if [ -n "$stray" ]; then
	echo "exported but not meant to be:"
	echo "$stray"
	exit 1
fi
grep -q '^_PG_init$' <<<"$symbols" || { echo "_PG_init is not exported"; exit 1; }
echo "ok symbols - $(wc -l <<<"$symbols") exported"
