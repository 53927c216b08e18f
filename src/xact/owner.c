/*
 * owner.c
 *	  Names of the owners of pending records, outside the lock.
 *
 * Records name their owner by number.  A name is looked up under the lock once
 * a call, copied into a buffer, and kept.
 */
#include "postgres.h"

#include "xact/group.h"

typedef struct KnownName
{
	uint32		number;			/* hash key */
	uint32		len;
	char	   *name;			/* NULL: there is no such consumer */
} KnownName;

const char *
owner_name(NameCache *cache, const GroupTarget *gt, const GroupPend *gp, uint32 number, int own,
		   uint32 *len)
{
	char		buffer[GROUP_NAME_MAX];
	KnownName  *known;
	bool		found;

	if (number == 0)
	{
		if (own < 0 || gp == NULL)
			return NULL;
		*len = gp->consumers[own].len;
		return gp->consumers[own].name;
	}
	if (cache->names == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(uint32), .entrysize = sizeof(KnownName), .hcxt = CurrentMemoryContext};

		cache->names = hash_create("stream consumers", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	known = hash_search(cache->names, &number, HASH_ENTER, &found);
	if (!found)
	{
		const Consumer *c = NULL;
		const StreamGroup *g;

		known->name = NULL;
		known->len = 0;
		if (strm_lock(gt->t.ss, gt->t.id, LW_SHARED))
		{
			g = group_find(&StrmArena, &gt->t.ss->stream, gt->name, gt->len);
			c = g != NULL ? group_consumer_numbered(&StrmArena, g, number) : NULL;
			if (c != NULL)
			{
				known->len = c->name_len;
				memcpy(buffer, c->name, c->name_len);
			}
			strm_unlock(gt->t.ss);
		}
		if (c != NULL)
			known->name = memcpy(palloc(Max(1, known->len)), buffer, known->len);
	}
	*len = known->len;
	return known->name;
}
