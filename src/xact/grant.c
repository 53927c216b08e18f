/*
 * grant.c
 *	  Privileges: asking for them, changing them.
 *
 * A stream has an owner and grants.  The owner may do everything, and so may
 * the members of an owning role and superusers; a grant names a role, or
 * everybody, and some of SELECT, INSERT, UPDATE, DELETE.  pg_read_all_data and
 * pg_write_all_data count as they do for tables.
 *
 * A change of the rights is an operation like others: on the stream's list,
 * seen by its own transaction at once, cut by a savepoint rollback, merged at
 * commit.  It is not in the journal, rows of stream.catalog and
 * stream.privilege are its durable form.  One transaction at a time changes a
 * stream's rights; another waits for it and looks again.  So from the call on
 * what is committed of the rights stays as it is, and what they are to be can
 * be made from it at pre-commit.
 *
 * A role that was dropped is nobody: its grants are of no effect, and a stream
 * it owned is the superusers' until one of them gives it to another.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "journal/journal.h"
#include "xact/xact.h"

/* --- asking --- */

bool
strm_allowed(Oid role, const Rights *r, uint32 need)
{
	bool		any = need == PRIV_ANY;
	uint32		have = 0;

	if (has_privs_of_role(role, r->owner))
		return true;
	if (need & PRIV_OWNER)
		return false;
	if (any)
		need = PRIV_ALL;
	for (uint32 i = 0; i < r->n; i++)
	{
		const StreamGrant *g = &r->grant[i];

		if ((g->mask & need & ~have) != 0 && (!OidIsValid(g->role) || has_privs_of_role(role, g->role)))
			have |= g->mask;
	}
	if (any && have != 0)
		return true;
	if ((need & ~have & PRIV_SELECT) && has_privs_of_role(role, ROLE_PG_READ_ALL_DATA))
		have |= PRIV_SELECT;
	if ((need & ~have & PRIV_WRITES) && has_privs_of_role(role, ROLE_PG_WRITE_ALL_DATA))
		have |= PRIV_WRITES;
	return any ? have != 0 : (need & ~have) == 0;
}

void
pend_rights(const Pend *p, Rights *r)
{
	for (int i = 0; i < p->ngrants; i++)
	{
		const GrantChange *c = &p->grants[i];

		switch (c->kind)
		{
			case GRANT_GIVE:
				strm_rights_give(r, c->role, c->mask);
				break;
			case GRANT_TAKE:
				strm_rights_take(r, c->role, c->mask);
				break;
			case GRANT_OWNER:
				r->owner = c->role;
				break;
		}
	}
}

uint32
pend_needs(const Pend *p)
{
	uint32		need = 0;

	if (p->nchunks > 0 || p->npairs > 0)
		need |= PRIV_INSERT;
	if (p->ndels > 0 || p->ntrims > 0)
		need |= PRIV_DELETE;
	if (p->ngops > 0)
		need |= PRIV_UPDATE;
	if (p->ngrants > 0 || p->nheaders > 0 || p->nnames > 0 || p->made || p->dropped)
		need |= PRIV_OWNER;
	return need;
}

/* --- changing --- */

void
strm_regrant(Db *db, const char *name, uint32 len, GrantKind kind, Oid role, uint32 mask)
{
	Target		t;

	for (;;)
	{
		TransactionId xid;
		bool		same;
		Pend	   *p;

		if (!strm_open_write(db, name, len, PRIV_OWNER, &t))
			strm_raise_missing(name, len);
		p = t.pend;
		(void) pend_prepare_grant(p);
		if (!strm_op_lock(&t, p, GetActiveSnapshot()))
			continue;
		xid = strm_part_other(p->ss, p->part, PART_GRANTING);
		/* is the caller still the owner? */
		same = p->checked_version == pg_atomic_read_u32(&p->ss->rights_version);
		if (TransactionIdIsValid(xid) || !same)
			pend_let_go(p);
		else
			STRM_PTR(Part, p->part)->granting = true;
		strm_unlock(p->ss);
		if (TransactionIdIsValid(xid))
			XactLockTableWait(xid, NULL, NULL, XLTW_None);
		else if (same)
		{
			pend_add_grant(p, kind, role, mask);
			return;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* --- at pre-commit --- */

/* Keep the rights with the Pend until the set is built. */
static void
keep(Pend *p, const Rights *r)
{
	Rights	   *kept = MemoryContextAlloc(TopTransactionContext, sizeof(Rights));

	*kept = *r;
	kept->grant = MemoryContextAllocHuge(TopTransactionContext, Max(1, r->n) * sizeof(StreamGrant));
	if (r->n > 0)
		memcpy(kept->grant, r->grant, r->n * sizeof(StreamGrant));
	p->rights = kept;
}

void
strm_settle_rights(Pend *p)
{
	static Rights r;
	SharedStream *ss = p->ss;
	Oid			owner = InvalidOid;

	if (p->create)
	{
		r.owner = p->made_by;
		r.n = 0;
		strm_defaults_read(p->made_by, &r);
		pend_rights(p, &r);
		strm_catalog_insert(p->id, p->new_name != NULL ? p->new_name : STRM_PTR(char, ss->name),
							p->new_name != NULL ? p->new_len : ss->name_len, r.owner,
							ss->stream.node_max_bytes, ss->stream.node_max_entries);
		if (r.n > 0)
			strm_privilege_write(p->id, &r);
		keep(p, &r);
		return;
	}
	if (OidIsValid(p->made_by) || p->ngrants > 0)
		strm_rights_read(ss, &r);
	if (OidIsValid(p->made_by) && !strm_allowed(p->made_by, &r, pend_needs(p)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for stream \"%.*s\"",
						(int) ss->name_len, STRM_PTR(char, ss->name)),
				 errdetail("Another role created the stream meanwhile.")));
	if (p->ngrants > 0)
	{
		Oid			before = r.owner;

		pend_rights(p, &r);
		if (r.owner != before)
			owner = r.owner;
		strm_privilege_write(p->id, &r);
		keep(p, &r);
	}
	if (OidIsValid(owner) || p->new_name != NULL)
		strm_catalog_change(p->id, p->new_name, p->new_len, owner);
}
