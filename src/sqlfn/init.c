/*
 * init.c
 *	  Loading the library: settings, shared memory, callbacks.
 *
 * Not preloaded, the library can still be loaded (pg_upgrade and CREATE
 * EXTENSION do): then it takes no memory and every function refuses with a
 * hint.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "journal/journal.h"
#include "sqlfn/sqlfn.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static void
define_settings(void)
{
	DefineCustomIntVariable("stream.memory",
							"Shared memory for streams.",
							"All streams of all databases live in it.",
							&strm_memory_mb, 256, 8, INT_MAX / 2,
							PGC_POSTMASTER, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("stream.node_max_bytes",
							"Greatest size of a node in streams made from now on.",
							"An entry larger than that has a node of its own. 0 is the greatest possible.",
							&strm_node_max_bytes, 4096, 0, NODE_BYTES_MAX,
							PGC_USERSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
	DefineCustomIntVariable("stream.node_max_entries",
							"Greatest number of entries of a node in streams made from now on.",
							"0 is the greatest possible.",
							&strm_node_max_entries, 100, 0, NODE_ENTRIES_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("stream.test_point",
							   "Where the server is made to crash, for tests.",
							   NULL, &strm_test_point, "",
							   PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	MarkGUCPrefixReserved("stream");
}

void
_PG_init(void)
{
	if (process_shared_preload_libraries_in_progress)
	{
		define_settings();
		strm_shmem_init();
	}
	else if (!strm_shmem_ready())
		return;
	strm_tables_init();
	strm_xact_init();
	strm_lifecycle_init();
	strm_scan_init();
}
