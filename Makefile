# stream: Redis Streams in SQL.
#
#	make demo		installs what is missing, builds, shows the main job on real data
#	make test		installs what is missing, builds, runs every test
#	make			builds; the rest of the targets is told by `make help`
#
# The version stands in stream.control and nowhere else.

EXTENSION = stream
MODULE_big = stream
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" stream.control)

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*/*.c)))

# The install script is the parts of src/ext in the order of their names;
# released upgrade scripts (stream--A--B.sql) are installed as they are.
UPGRADES = $(wildcard src/ext/stream--*--*.sql)
EXT_PARTS = $(filter-out $(UPGRADES),$(sort $(wildcard src/ext/*.sql)))
EXT_SCRIPT = stream--$(EXTVERSION).sql

DATA = $(UPGRADES)
DATA_built = $(EXT_SCRIPT)

# `make installcheck` runs these against a server that preloads the library.
REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=build/isolation

PG_CPPFLAGS = -Isrc -DSTREAM_VERSION='"$(EXTVERSION)"'
PG_CFLAGS = -std=gnu11 -MMD -MP $(WERROR)

# Only what the server looks up by name leaves the library.  (-fvisibility=hidden
# would hide the SQL functions too: before PostgreSQL 16 their declarations do not
# say that they are exported.)
SHLIB_LINK = -Wl,--version-script=exports.map

EXTRA_CLEAN = build exports.map $(OBJS:.o=.d) $(wildcard src/*/*.bc)

# Inlining into JIT code is not worth a second compilation of every file.
override with_llvm = no

# The newest of Debian's servers that we support, if none is named.
PG_CONFIG ?= $(lastword pg_config $(sort $(wildcard /usr/lib/postgresql/1[5-8]/bin/pg_config)))
export PG_CONFIG

.DEFAULT_GOAL := all

# Where no server headers are installed yet only the targets that install them work.
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
else
all install installcheck:
	@echo 'No pg_config and PGXS: run test/setup.sh build (Debian), or set PG_CONFIG.' >&2; exit 1
clean:
	rm -rf $(EXTRA_CLEAN) $(OBJS) stream.so $(EXT_SCRIPT)
endif

-include $(OBJS:.o=.d)

# Everything depends on the version and on the flags.
$(OBJS): stream.control Makefile

stream.so: exports.map
exports.map: $(OBJS)
	@{ echo '{ global: _PG_init; Pg_magic_func; strm_*_main;'; \
		nm $(OBJS) | sed -n 's/.* T pg_finfo_\(.*\)/\1; pg_finfo_\1;/p'; \
		echo 'local: *; };'; } > $@

$(EXT_SCRIPT): $(EXT_PARTS) stream.control
	cat $(EXT_PARTS) > $@

# --- commands -----------------------------------------------------------

help:
	@sed -n 's/^## //p' Makefile

## make demo           the main job on real data, in a private cluster that stays up
demo:
	@test/setup.sh build
	@test/demo.sh start

## make demo-stop      stops the cluster of the demo
demo-stop:
	@test/demo.sh stop

## make test           all tests; STAGES="regress tap" and TESTS="xact 003_crash" choose
test:
	@test/setup.sh test
	@test/run.sh $(STAGES)

## make soak           tests with a new seed each round for SOAK seconds; STAGES and TESTS as above
SOAK = 3600
soak:
	@test/setup.sh test
	@test/soak.sh $(SOAK) $(STAGES)

## make unit           tests of the engine, no server; SEED=n repeats a run
unit:
	$(MAKE) -C test/unit run

## make fuzz           each fuzzer for FUZZ_TIME seconds
FUZZ_TIME = 30
fuzz:
	$(MAKE) -C test/fuzz run FUZZ_TIME=$(FUZZ_TIME)

## make bench          measures beside tables, a table queue and Redis
bench:
	@test/setup.sh bench
	@test/bench/bench.sh $(BENCH)

## make sizes          what large values, transactions and numbers of streams cost
sizes:
	@test/setup.sh build
	@test/bench/sizes.sh $(SIZES)

## make check-all      what needs neither server nor installation
check-all: check-engine check-layers check-symbols check-waits

ENGINE_CC = $(firstword $(wildcard /usr/bin/gcc) $(CC))
check-engine:
	@for f in src/engine/*.c; do \
		$(ENGINE_CC) -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only $$f || exit 1; \
	done
	@echo "ok engine compiles alone"

check-layers:
	@test/check-layers.sh

check-symbols: stream.so
	@test/check-symbols.sh stream.so

check-waits:
	@test/check-waits.sh

# Private servers are stopped before their folders go.
clean: stop-private
stop-private:
	@test/clusters.sh wipe

.PHONY: help demo demo-stop test soak unit fuzz bench sizes check-all check-engine check-layers check-symbols \
	check-waits stop-private
