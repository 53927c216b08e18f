#!/bin/bash
# Installs what is missing on a machine with Debian 12 or 13.
#
#	test/setup.sh build		the compiler, the server and its headers
#	test/setup.sh test		and what the tests need
#	test/setup.sh bench		and what the benchmark compares with
#
# As root, or as a user with sudo.  Where nothing is missing it does nothing
# and needs no network.  Clusters that Debian's packages create are left alone.
#
# The server is the one PG_CONFIG names, or the one this release of Debian has.
# What is missing in a server of one's own making is only told.
set -euo pipefail
cd "$(dirname "$0")/.."

goal=${1:-test}
node_pg=8.13.1					# the version of node-pg the tests run with

wanted=()						# packages to install
need() { wanted+=("$1"); }

# One package a line, asked for when its proof is not there.
have_pkg() { dpkg -s "$1" 2>/dev/null | grep -q '^Status: install ok installed'; }
have_cmd() { command -v "$1" >/dev/null; }
have_file() { compgen -G "$1" >/dev/null; }

PG_CONFIG=${PG_CONFIG:-pg_config}
if "$PG_CONFIG" --pgxs >/dev/null 2>&1; then
	pg=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	bindir=$("$PG_CONFIG" --bindir)
	sharedir=$("$PG_CONFIG" --sharedir)
	pgxs=$("$PG_CONFIG" --pgxs)
else
	case $(. /etc/os-release; echo "${VERSION_ID:-}") in
		13) pg=17 ;;
		*) pg=15 ;;
	esac
	bindir=/usr/lib/postgresql/$pg/bin
	sharedir=/usr/share/postgresql/$pg
	pgxs=/usr/lib/postgresql/$pg/lib/pgxs/src/makefiles/pgxs.mk
fi

# need_extension NAME PACKAGE
need_extension()
{
	if have_file "$sharedir/extension/$1.control"; then
		:
	elif [ "$bindir" = "/usr/lib/postgresql/$pg/bin" ]; then
		need "postgresql-$pg-$2"
	else
		echo "# not in the server of $PG_CONFIG, install by hand: $1"
	fi
}

have_cmd gcc || need gcc
have_cmd make || need make
have_file '/usr/include/*/gnu/libc-version.h' || have_file /usr/include/gnu/libc-version.h || need libc6-dev
have_file "$bindir/postgres" || need "postgresql-$pg"
have_file "$pgxs" || need "postgresql-server-dev-$pg"

if [ "$goal" = test ]; then
	have_cmd clang || need clang
	have_file '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' || need libclang-rt-dev
	perl -MIPC::Run -e 1 2>/dev/null || need libipc-run-perl
	need_extension pgtap pgtap
	need_extension pg_cron cron
	have_cmd python3 || need python3
	/usr/bin/python3 -c 'import psycopg' 2>/dev/null || need python3-psycopg
	/usr/bin/python3 -c 'import psycopg2' 2>/dev/null || need python3-psycopg2
	have_cmd node || need nodejs
	have_cmd npm || need npm
elif [ "$goal" = bench ]; then
	have_cmd redis-server || need redis-server
	have_cmd redis-benchmark || need redis-tools
	need_extension pgq pgq3
	have_file /usr/include/postgresql/libpq-fe.h || need libpq-dev
fi

if [ ${#wanted[@]} -gt 0 ]; then
	if ! have_cmd apt-get; then
		echo "missing, install by hand: ${wanted[*]}" >&2
		exit 1
	fi
	sudo=
	if [ "$(id -u)" -ne 0 ]; then
		have_cmd sudo || { echo "missing: ${wanted[*]}; run as root or install sudo" >&2; exit 1; }
		sudo=sudo
	fi
	echo "# installing: ${wanted[*]}"
	mkdir -p build
	if ! { $sudo apt-get update &&
		$sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends "${wanted[@]}"; } >build/setup.log 2>&1 </dev/null
	then
		tail -n 30 build/setup.log >&2
		exit 1
	fi
fi

# node-pg is in no Debian package; it is kept under build, outside git.
if [ "$goal" = test ] && [ ! -d build/node/node_modules/pg ]; then
	echo "# installing: node-pg $node_pg"
	mkdir -p build/node
	npm install --prefix build/node --no-audit --no-fund --loglevel=error "pg@$node_pg" >build/npm.log 2>&1 </dev/null ||
		{ tail -n 30 build/npm.log >&2; exit 1; }
fi
