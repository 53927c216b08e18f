/*
 * names.c
 *	  What names mean to this transaction.
 *
 * Others see a name as the registry has it until this transaction has
 * committed.  What it does to names itself, by dropping, renaming, and making
 * streams under names that it has freed so, is a list in the order of the
 * calls; the newest change of a name says which stream it leads to here, or
 * that it leads nowhere.  A savepoint rollback cuts the end of the list.
 *
 * Each name on the list has a holder: the place that the registry leads to
 * from it.  This transaction has that to itself (Part.exclusive), so nobody
 * else gives the name a meaning meanwhile: who comes to it waits there, and
 * looks again.  The holder is the stream that had the name, or for a name that
 * led nowhere a provisional one that is there for that only.  At pre-commit
 * the list says for each holder who inherits its name, and for each stream
 * what it is to be called; both are changed when their sets are merged, the
 * name by its holder's, so that who sees the transaction finds it done.
 *
 * The list is searched from its end while it is short, and has an index once
 * it is not.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "xact/xact.h"

#define FEW_CHANGES		16		/* up to so many, the list is searched */

static NameChange *changes;		/* in the context of the pending lists, as all here */
static int	nchanges;
static int	changes_cap;

typedef struct NewestChange
{
	uint32		hash;			/* hash key */
	int			at;				/* the newest change of such a name, the next in its `before`; or -1 */
} NewestChange;

static HTAB *newest;			/* once there are more than a few */

const NameChange *
names_find(const char *name, uint32 len)
{
	uint32		hash;
	int			i = nchanges - 1;

	if (nchanges == 0)
		return NULL;
	hash = hash_bytes((const unsigned char *) name, len);
	if (newest != NULL)
	{
		NewestChange *e = hash_search(newest, &hash, HASH_FIND, NULL);

		i = e != NULL ? e->at : -1;
	}
	while (i >= 0)
	{
		const NameChange *c = &changes[i];

		if (c->hash == hash && c->len == len && memcmp(c->name, name, len) == 0)
			return c;
		i = newest != NULL ? c->before : i - 1;
	}
	return NULL;
}

static void
index_change(HTAB *index, int i)
{
	bool		found;
	NewestChange *e = hash_search(index, &changes[i].hash, HASH_ENTER, &found);

	changes[i].before = found ? e->at : -1;
	e->at = i;
}

/* Room for one more. */
static void
make_room(void)
{
	if (nchanges == changes_cap)
	{
		int			cap = changes_cap == 0 ? FEW_CHANGES : 2 * changes_cap;

		changes = changes == NULL ? MemoryContextAllocHuge(pend_context(), cap * sizeof(NameChange))
			: repalloc_huge(changes, cap * sizeof(NameChange));
		changes_cap = cap;
	}
	if (nchanges == FEW_CHANGES && newest == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(uint32), .entrysize = sizeof(NewestChange), .hcxt = pend_context()};
		HTAB	   *index = hash_create("stream names", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

		for (int i = 0; i < nchanges; i++)
			index_change(index, i);
		newest = index;
	}
}

void
names_change(const char *name, uint32 len, Pend *holder, int64 id)
{
	char	   *copy;

	(void) pend_prepare(holder, 0); /* so that it hears of the end of this subtransaction */
	make_room();
	copy = MemoryContextAlloc(pend_context(), Max(len, 1));
	memcpy(copy, name, len);
	changes[nchanges] = (NameChange) {
		holder, id, GetCurrentSubTransactionId(), -1,
		hash_bytes((const unsigned char *) name, len), len, copy
	};
	if (newest != NULL)
		index_change(newest, nchanges);
	nchanges++;
	holder->nnames++;
}

void
names_leave(const Target *t)
{
	const NameChange *c = names_find(t->name, t->len);

	names_change(t->name, t->len, c != NULL ? c->holder : t->pend, 0);
}

void
names_sub_commit(SubTransactionId sub, SubTransactionId parent)
{
	for (int i = nchanges - 1; i >= 0 && changes[i].sub == sub; i--)
		changes[i].sub = parent;
}

void
names_sub_abort(SubTransactionId sub)
{
	while (nchanges > 0 && changes[nchanges - 1].sub == sub)
	{
		NameChange *c = &changes[--nchanges];

		c->holder->nnames--;
		if (newest != NULL)
			((NewestChange *) hash_search(newest, &c->hash, HASH_FIND, NULL))->at = c->before;
		pfree(unconstify(char *, c->name));
	}
}

void
names_forget(void)
{
	changes = NULL;
	nchanges = changes_cap = 0;
	newest = NULL;
}

void
names_settle(void)
{
	for (int i = nchanges - 1; i >= 0; i--)
	{
		NameChange *c = &changes[i];
		Pend	   *p = c->id != 0 ? pend_find_id(c->id) : NULL;

		if (names_find(c->name, c->len) != c || p == c->holder)
			continue;
		if (p != NULL && pend_is_empty(p))
			p = NULL;			/* its making came to nothing */
		c->holder->leaves = true;
		c->holder->heir = p;
		if (p != NULL && !strm_bears_name(p->ss, c->name, c->len))
		{
			p->new_name = c->name;
			p->new_len = c->len;
		}
	}
}
