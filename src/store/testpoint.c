/*
 * testpoint.c
 *	  Places where a test can make the server crash.
 *
 * The setting stream.test_point names one; the backend that comes to it kills
 * itself with SIGKILL, which no handler can soften: the postmaster restarts
 * the server from its log.  Off, a point costs one test of a byte.
 *
 * Points: xact-numbered, xact-journaled, xact-committed, xact-merged,
 * store-before-merge-apply.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "store/store.h"

char	   *strm_test_point = NULL;

void
strm_test_point_hit(const char *name)
{
	if (strcmp(strm_test_point, name) == 0)
		kill(getpid(), SIGKILL);
}
