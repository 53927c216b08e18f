#!/bin/bash
# The main job on real data: a week of earthquakes goes into a table and a stream.
#
#	test/demo.sh start		builds, installs, runs the demo; the cluster stays up
#	test/demo.sh stop
set -euo pipefail
source "$(dirname "$0")/lib.sh"

if [ "${1:-start}" = stop ]; then
	wipe_dir demo
	exit 0
fi

psql_demo()
{
	"$BINDIR/psql" -X -q -h "$RUN" -d quakes -v ON_ERROR_STOP=1 -P pager=off -P footer=off "$@"
}

# until_true WHAT QUERY: waits until the query says t.
until_true()
{
	local i
	for ((i = 0; i < 500; i++)); do
		[ "$(psql_demo -Atc "$2")" != t ] || return 0
		read -rt 0.02 <> <(:) || true
	done
	die "waited in vain for $1"
}

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }

echo "Building and installing the extension."
build_and_install

wipe_dir demo
RUN=$(run_dir demo)
echo "Starting a private cluster in $RUN (unix socket only)."
cluster_start "$RUN" "fsync = on" "log_min_messages = warning"
"$BINDIR/psql" -X -q -h "$RUN" -d postgres -c "CREATE DATABASE quakes"

say "1. A week of earthquakes goes into a table and, in the same transactions, into a stream"
psql_demo -e -f "$ROOT/test/demo/load.sql" <"$ROOT/test/data/earthquakes.csv"

say "2. Reading"
psql_demo -e -f "$ROOT/test/demo/read.sql"

say "3. A reader that follows the stream and remembers how far it has come"
psql_demo -e -f "$ROOT/test/demo/follow.sql"

say "4. What is rolled back was never there"
psql_demo -e -f "$ROOT/test/demo/rollback.sql"

say "5. Trimming: the stream keeps the last days, the table everything"
psql_demo -e -f "$ROOT/test/demo/trim.sql"

say "6. kill -9"
echo "The answers to a handful of questions before:"
psql_demo -f "$ROOT/test/demo/answers.sql" | tee "$BUILD/demo-before"
echo "Somebody has a transaction open that has added an entry and deleted others …"
exec {pipe}> >(psql_demo -At >/dev/null 2>&1 || true)
echo "BEGIN; SELECT xadd('quakes', '{\"mag\":\"9.9\",\"place\":\"never happened\"}'), xtrim('quakes', 0); SELECT 'open';" >&$pipe
until_true "the open transaction" "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
pid=$(head -n 1 "$RUN/data/postmaster.pid")
echo "… when the server is killed:  kill -9 $pid"
kill -9 "$pid"
exec {pipe}>&-
# The dead server is gone, and its last processes let go of its memory, in a moment.
for ((i = 0; i < 500; i++)); do
	kill -0 "$pid" 2>/dev/null || break
	read -rt 0.02 <> <(:) || true
done
for ((i = 0; i < 500; i++)); do
	(cluster_start "$RUN") >/dev/null 2>&1 && break
	read -rt 0.1 <> <(:) || true
done
echo "The server is started again.  The answers now:"
psql_demo -f "$ROOT/test/demo/answers.sql" | tee "$BUILD/demo-after"
cmp -s "$BUILD/demo-before" "$BUILD/demo-after" || die "the answers differ"
echo "They are the same."

say "7. Two workers share the earthquakes; one of them dies in the middle"
psql_demo -e -f "$ROOT/test/demo/group.sql"
# The shell between keeps what this one says of a child that was killed.
(psql_demo -e -f "$ROOT/test/demo/dies.sql" >"$BUILD/demo-bert" || true) 2>/dev/null &
bert=$!
until_true "bert" "SELECT count(*) = 1 FROM stream.consumers"
echo "-- While bert is at work, anna is too:"
psql_demo -e -c "CALL work('anna')"
wait $bert
cat "$BUILD/demo-bert"
until_true "the end of bert's session" "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'idle in transaction')"
psql_demo -e -f "$ROOT/test/demo/reclaim.sql"
psql_demo -e -f "$ROOT/test/demo/once.sql" | tee "$BUILD/demo-once"
grep -q '| t$' "$BUILD/demo-once" || die "not every earthquake was counted once"
say "Every earthquake was counted once, whoever died"

say "Try it yourself; the cluster stays up"
cat <<END
  $BINDIR/psql -h $RUN -U postgres quakes

for instance:

  SELECT * FROM xrevrange('quakes', count => 3);
  SELECT xadd('quakes', fields('place', 'my desk', 'mag', 0.1));
  SELECT * FROM stream.groups;
  SELECT * FROM xread('quakes', '\$', block => '1 minute');    -- and an xadd in a second psql

Stop it and remove it with:  make demo-stop
END
