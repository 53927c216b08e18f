# What the scripts of test/ share: private clusters under build/, and a server
# that never runs as root.  Sourced by bash.
#
# A cluster NAME lives in the folder run_dir NAME gives: build/NAME, or a folder
# under /tmp that build/NAME links to where the server's user cannot get into the
# checkout (root's home, say) or where the path is too long for a socket's name.
#
# Root runs everything server-like as $SERVER_USER.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
LOG=$BUILD/log
# The newest of Debian's servers that we support, if none is named.
PG_CONFIG=${PG_CONFIG:-$(compgen -G '/usr/lib/postgresql/1[5-8]/bin/pg_config' | sort | tail -n 1 | grep . || echo pg_config)}
BINDIR=$("$PG_CONFIG" --bindir)
PGXS_SRC=$(dirname "$("$PG_CONFIG" --pgxs)")/..
SERVER_USER=${SERVER_USER:-postgres}
SOCKET_DIR_MAX=80				# of the 107 bytes a socket's path may have

# The environment of whoever calls must not point the tests at another server.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGSERVICE PGOPTIONS PGDATA PGPASSWORD
export PGUSER=postgres
# LANG too: PostgreSQL's test modules take LC_ALL away.
export LC_ALL=C.UTF-8 LANG=C.UTF-8

mkdir -p "$LOG"

die()
{
	echo "$*" >&2
	exit 1
}

# Runs a command as the user of the server.
as_server()
{
	if [ "$(id -u)" -eq 0 ]; then
		HOME=/tmp setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" --init-groups "$@"
	else
		"$@"
	fi
}

# Runs a command with the rights to install.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Prints the folder of a cluster, made if it is not there.
run_dir()
{
	local dir=$BUILD/$1

	if [ -L "$dir" ] && [ ! -d "$dir" ]; then rm "$dir"; fi
	if [ ! -d "$dir" ]; then
		if [ ${#dir} -le $SOCKET_DIR_MAX ] && as_server test -x "$BUILD"; then
			mkdir "$dir"
		else
			ln -s "$(mktemp -d /tmp/stream.XXXXXX)" "$dir"
		fi
		if [ "$(id -u)" -eq 0 ]; then chown "$SERVER_USER" "$dir/."; fi
	fi
	(cd "$dir" && pwd -P)
}

# Removes it, the server stopped first.
wipe_dir()
{
	local dir=$BUILD/$1

	[ -d "$dir" ] || { rm -f "$dir"; return 0; }
	cluster_stop "$(cd "$dir" && pwd -P)"
	rm -rf "$(cd "$dir" && pwd -P)" "$dir"
}

# cluster_start DIR [CONFIG-LINE...]: a cluster in DIR/data, its socket in DIR.
cluster_start()
{
	local dir=$1
	shift

	cd "$dir"
	if [ ! -f data/PG_VERSION ]; then
		as_server "$BINDIR/initdb" -D data -U postgres -A trust -E UTF8 --no-locale -N >initdb.log 2>&1 ||
			{ cat initdb.log >&2; die "initdb failed"; }
		{
			cat "$ROOT/test/stream.conf"
			echo "unix_socket_directories = '$dir'"
			[ $# -eq 0 ] || printf '%s\n' "$@"
		} | as_server tee -a data/postgresql.conf >/dev/null
	fi
	# The pipe of whoever reads our output must not be held open by the server.
	as_server "$BINDIR/pg_ctl" -D data -l "$dir/server.log" -w -t 60 -s start </dev/null >pg_ctl.log 2>&1 ||
		{ cat pg_ctl.log >&2; tail -n 30 server.log >&2; die "the server does not start"; }
	cd "$ROOT"
}

cluster_stop()
{
	local dir=$1 mode=${2:-fast}

	if [ -f "$dir/data/postmaster.pid" ]; then
		(cd "$dir" && as_server "$BINDIR/pg_ctl" -D data -m "$mode" -w -t 60 -s stop) || true
	fi
}

# Builds and installs the extension of this tree.
build_and_install()
{
	make -C "$ROOT" -s -j"$(nproc)" all >"$LOG/build.log" 2>&1 ||
		{ tail -n 60 "$LOG/build.log" >&2; die "the build failed"; }
	as_root make -C "$ROOT" -s install PG_CONFIG="$PG_CONFIG" >"$LOG/install.log" 2>&1 ||
		{ tail -n 30 "$LOG/install.log" >&2; die "the installation failed"; }
}
