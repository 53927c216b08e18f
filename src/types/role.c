/*
 * role.c
 *	  The SQL type stream.role: a role in a row of the extension's tables.
 *
 * An oid inside, the role's name outside, so that a dump restored elsewhere
 * (where the oids are others) names the same role.  A name that is not there
 * becomes the role that restores, with a warning: better than a restore that
 * stops.  A role that was dropped is shown as its oid.  No role, which in a
 * grant means everybody, is `public`: the server lets no role have that name.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(stream_role_in);
Datum
stream_role_in(PG_FUNCTION_ARGS)
{
	char	   *name = PG_GETARG_CSTRING(0);
	Oid			role;

	if (strcmp(name, "public") == 0)
		PG_RETURN_OID(InvalidOid);
	role = get_role_oid(name, true);
	if (!OidIsValid(role))
	{
		role = GetUserId();
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" does not exist", name),
				 errdetail("The current role takes its place.")));
	}
	PG_RETURN_OID(role);
}

PG_FUNCTION_INFO_V1(stream_role_out);
Datum
stream_role_out(PG_FUNCTION_ARGS)
{
	Oid			role = PG_GETARG_OID(0);
	char	   *name = OidIsValid(role) ? GetUserNameFromId(role, true) : "public";

	PG_RETURN_CSTRING(name ? name : psprintf("%u", role));
}
