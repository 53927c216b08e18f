/*
 * grant.c
 *	  xgrant, xrevoke, xowner, xgrant_default, xrevoke_default.
 *
 * Whom: a role, or everybody (PUBLIC), which as a regrole is written `-`.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/syscache.h"

#include "journal/journal.h"
#include "sqlfn/sqlfn.h"

/* A regrole may be any number; a new grant must be somebody's. */
static void
check_role(Oid role)
{
	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role with OID %u does not exist", role)));
}

static uint32
arg_privileges(FunctionCallInfo fcinfo, int n)
{
	text	   *t;
	uint32		mask;

	arg_not_null(fcinfo, n, "privileges");
	t = PG_GETARG_TEXT_PP(n);
	mask = strm_privileges_mask(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
	if (mask == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized privileges \"%.*s\"", (int) VARSIZE_ANY_EXHDR(t), VARDATA_ANY(t)),
				 errhint("Name some of SELECT, INSERT, UPDATE and DELETE, separated by commas, or ALL.")));
	return mask;
}

/* InvalidOid: everybody. */
static Oid
arg_grantee(FunctionCallInfo fcinfo, int n, bool give)
{
	Oid			role;

	arg_not_null(fcinfo, n, "grantee");
	role = PG_GETARG_OID(n);
	/* what a dropped role has left can be taken away */
	if (give && OidIsValid(role))
		check_role(role);
	return role;
}

static Datum
change_grant(FunctionCallInfo fcinfo, const char *command, bool give)
{
	Db		   *db = strm_use(command, true);
	KeyArg		key = arg_key(fcinfo, 0);
	uint32		mask = arg_privileges(fcinfo, 1);
	Oid			grantee = arg_grantee(fcinfo, 2, give);

	strm_regrant(db, key.name, key.len, give ? GRANT_GIVE : GRANT_TAKE, grantee, mask);
	PG_RETURN_VOID();
}

/*
 * xgrant(key, privileges, grantee), xrevoke(key, privileges, grantee): by the
 * owner.  22023, 42704, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xgrant);
Datum
stream_xgrant(PG_FUNCTION_ARGS)
{
	return change_grant(fcinfo, "xgrant()", true);
}

PG_FUNCTION_INFO_V1(stream_xrevoke);
Datum
stream_xrevoke(PG_FUNCTION_ARGS)
{
	return change_grant(fcinfo, "xrevoke()", false);
}

/*
 * xowner(key, new_owner): by the owner, as ALTER TABLE ... OWNER TO: he must be
 * able to become the new one, who must have CREATE on the schema.
 */
PG_FUNCTION_INFO_V1(stream_xowner);
Datum
stream_xowner(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xowner()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	Oid			owner;

	arg_not_null(fcinfo, 1, "new_owner");
	owner = PG_GETARG_OID(1);
	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the owner of a stream must be a role")));
	check_role(owner);
	if (!superuser())
	{
		CheckCanSetRole(GetUserId(), owner);
		if (NamespaceAclCheck(strm_schema_oid(), owner, ACL_CREATE) != ACLCHECK_OK)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied to own stream \"%.*s\"", (int) key.len, key.name),
					 errhint("The new owner needs the CREATE privilege on schema stream.")));
	}
	strm_regrant(db, key.name, key.len, GRANT_OWNER, owner, 0);
	PG_RETURN_VOID();
}

static Datum
change_default(FunctionCallInfo fcinfo, const char *command, bool give)
{
	uint32		mask;
	Oid			grantee;
	Oid			owner = PG_ARGISNULL(2) ? GetUserId() : PG_GETARG_OID(2);

	(void) strm_use(command, true);
	mask = arg_privileges(fcinfo, 0);
	grantee = arg_grantee(fcinfo, 1, give);
	if (give)
		check_role(owner);
	if (!has_privs_of_role(GetUserId(), owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to change default privileges"),
				 errdetail("They are those of another role's streams.")));
	strm_default_change(owner, grantee, give ? mask : 0, give ? 0 : mask);
	PG_RETURN_VOID();
}

/*
 * xgrant_default(privileges, grantee, owner), xrevoke_default(privileges,
 * grantee, owner): grants that streams the owner makes from now on begin with.
 */
PG_FUNCTION_INFO_V1(stream_xgrant_default);
Datum
stream_xgrant_default(PG_FUNCTION_ARGS)
{
	return change_default(fcinfo, "xgrant_default()", true);
}

PG_FUNCTION_INFO_V1(stream_xrevoke_default);
Datum
stream_xrevoke_default(PG_FUNCTION_ARGS)
{
	return change_default(fcinfo, "xrevoke_default()", false);
}
