/*
 * stream_read.c
 *	  A stream: looking at it.
 *
 * Nodes are stepped through by seeks in the tree; live counts of nodes that
 * lie wholly in a range are taken from the node, so that only the nodes at its
 * ends are walked.  No node is without a live entry, but a node may begin and
 * end with dead ones.
 *
 * Locking: as said in stream.h; nothing here changes anything.
 */
#include "stream_int.h"
#include "group.h"

/* The first node whose last id, dead or alive, is not below id. */
static bool
node_from(const Arena *a, const Stream *s, StreamId id, NodePos *pos)
{
	return (node_seek(a, s, RAX_LE, id, pos) && sid_cmp(pos->n->last, id) >= 0) ||
		node_seek(a, s, RAX_GT, id, pos);
}

bool
stream_exists(const Arena *a, const Stream *s, StreamId id)
{
	NodePos		pos;
	NodeEntry	e;

	return node_seek(a, s, RAX_LE, id, &pos) && sid_cmp(pos.n->last, id) >= 0 &&
		node_find(pos.n->lp, pos.master, id, &e) && !e.deleted;
}

/* Live entries of one node in a range. */
static uint64_t
count_in_node(const NodePos *pos, StreamId start, StreamId stop)
{
	NodeIter	it;
	NodeEntry	e;
	uint64_t	n = 0;

	node_iter(&it, pos->n->lp, pos->master, false, false);
	while (node_next(&it, &e) && sid_cmp(e.id, stop) <= 0)
	{
		if (sid_cmp(e.id, start) >= 0)
			n++;
	}
	return n;
}

uint64_t
stream_count(const Arena *a, const Stream *s, StreamId start, StreamId stop)
{
	NodePos		pos;
	uint64_t	n = 0;
	bool		more;

	if (s->length == 0 || sid_cmp(start, stop) > 0)
		return 0;
	if (sid_cmp(start, s->first_id) <= 0 && sid_cmp(stop, s->last_id) >= 0)
		return s->length;
	for (more = node_from(a, s, start, &pos);
		 more && sid_cmp(pos.master, stop) <= 0;
		 more = node_seek(a, s, RAX_GT, pos.master, &pos))
	{
		if (sid_cmp(pos.master, start) >= 0 && sid_cmp(pos.n->last, stop) <= 0)
			n += pos.n->live;
		else
			n += count_in_node(&pos, start, stop);
	}
	return n;
}

bool
stream_nth(const Arena *a, const Stream *s, uint64_t n, StreamId *id)
{
	NodePos		pos;
	NodeIter	it;
	NodeEntry	e;
	bool		more;

	if (n >= s->length)
		return false;
	for (more = node_seek(a, s, RAX_FIRST, STREAMID_MIN, &pos);
		 more && n >= pos.n->live;
		 more = node_seek(a, s, RAX_GT, pos.master, &pos))
		n -= pos.n->live;
	if (!more)
		return false;
	node_iter(&it, pos.n->lp, pos.master, false, false);
	do
	{
		if (!node_next(&it, &e))
			return false;
	} while (n-- > 0);
	*id = e.id;
	return true;
}

/* The first live entry of a node that is not below id, or reverse the last
 * not above it. */
static bool
first_in_node(const NodePos *pos, StreamId id, bool reverse, StreamId *found)
{
	NodeIter	it;
	NodeEntry	e;

	node_iter(&it, pos->n->lp, pos->master, reverse, false);
	while (node_next(&it, &e))
	{
		int			cmp = sid_cmp(e.id, id);

		if (reverse ? cmp <= 0 : cmp >= 0)
		{
			*found = e.id;
			return true;
		}
	}
	return false;
}

bool
stream_first_from(const Arena *a, const Stream *s, StreamId id, StreamId *found)
{
	NodePos		pos;

	if (!node_from(a, s, id, &pos))
		return false;
	if (first_in_node(&pos, id, false, found))
		return true;
	/* only dead ones there; the next node has live ones */
	return node_seek(a, s, RAX_GT, pos.master, &pos) &&
		first_in_node(&pos, id, false, found);
}

bool
stream_last_upto(const Arena *a, const Stream *s, StreamId id, StreamId *found)
{
	NodePos		pos;

	if (!node_seek(a, s, RAX_LE, id, &pos))
		return false;
	if (first_in_node(&pos, id, true, found))
		return true;
	return node_seek(a, s, RAX_LT, pos.master, &pos) &&
		first_in_node(&pos, id, true, found);
}

void
stream_approx_bound(const Arena *a, const Stream *s, uint64_t excess, StreamId minid,
					uint64_t limit, StreamId *bound)
{
	NodePos		pos;
	uint64_t	gone = 0;
	bool		more;

	*bound = STREAMID_MIN;
	for (more = node_seek(a, s, RAX_FIRST, STREAMID_MIN, &pos);
		 more;
		 more = node_seek(a, s, RAX_GT, pos.master, &pos))
	{
		StreamId	next = pos.n->last;

		gone += pos.n->live;
		if (gone > excess || (limit > 0 && gone > limit) ||
			sid_cmp(pos.n->last, minid) >= 0 || !sid_next(&next))
			break;
		*bound = next;
	}
}

const StreamNode *
stream_node_at(const Arena *a, const Stream *s, StreamId id, bool reverse, StreamId *master)
{
	NodePos		pos;

	if (!(reverse ? node_seek(a, s, RAX_LE, id, &pos) : node_from(a, s, id, &pos)))
		return NULL;
	*master = pos.master;
	return pos.n;
}

void
stream_each_node(const Arena *a, const Stream *s,
				 bool (*fn) (void *arg, StreamId master, const StreamNode *n), void *arg)
{
	NodePos		pos;
	bool		more;

	for (more = node_seek(a, s, RAX_FIRST, STREAMID_MIN, &pos);
		 more;
		 more = node_seek(a, s, RAX_GT, pos.master, &pos))
	{
		if (!fn(arg, pos.master, pos.n))
			break;
	}
}

/* --- checking --- */

/* What was seen of the nodes so far. */
typedef struct Sums
{
	uint64_t	nodes;
	uint64_t	length;
	uint64_t	bytes;
	StreamId	first;			/* first live entry */
	StreamId	last;			/* last id of the node before */
} Sums;

static const char *
check_node(const Arena *a, const Stream *s, const NodePos *pos, Sums *sums)
{
	const StreamNode *n = pos->n;
	size_t		bytes = lp_bytes(n->lp);
	StreamId	first;
	StreamId	last;

	if (sizeof(StreamNode) + bytes > arena_room(a, pos->h))
		return "a node is larger than its block";
	if (!node_validate(n->lp, bytes, pos->master))
		return "a node is not well-formed";
	if (n->live != node_live(n->lp) || n->dead != node_dead(n->lp))
		return "a node's counts differ from those in its listpack";
	if (!node_bounds(n->lp, pos->master, &first, &last))
		return "a node has no live entry";
	if (sid_cmp(n->last, node_last(n->lp, pos->master)) != 0)
		return "a node's last id is wrong";
	if (sums->nodes > 0 && sid_cmp(pos->master, sums->last) <= 0)
		return "two nodes overlap";
	if (n->version == 0 || n->version > s->version || n->saved > n->version)
		return "a node's version is wrong";
	if (n->live + n->dead > 1 && sizeof(StreamNode) + bytes > NODE_BYTES_MAX)
		return "a node of several entries is too large";
	if (sums->nodes++ == 0)
		sums->first = first;
	sums->length += n->live;
	sums->bytes += bytes;
	sums->last = n->last;
	return NULL;
}

const char *
stream_check(const Arena *a, const Stream *s)
{
	const char *problem = rax_check(a, &s->nodes);
	Sums		sums = {0};
	NodePos		pos;
	StreamId	last;
	bool		more;

	if (problem != NULL)
		return problem;
	for (more = node_seek(a, s, RAX_FIRST, STREAMID_MIN, &pos);
		 more;
		 more = node_seek(a, s, RAX_GT, pos.master, &pos))
	{
		problem = check_node(a, s, &pos, &sums);
		if (problem != NULL)
			return problem;
	}
	if (sums.nodes != s->nodes.nkeys)
		return "the tree's number of keys is wrong";
	if (sums.length != s->length)
		return "the stream's length is not that of its nodes";
	if (sums.bytes != s->bytes)
		return "the stream's bytes are not those of its nodes";
	if (sid_cmp(sums.first, s->first_id) != 0)
		return "the stream's first id is wrong";
	/* dead ones may be, where XSETID has lowered it */
	if (s->length > 0 && stream_last_upto(a, s, STREAMID_MAX, &last) && sid_cmp(last, s->last_id) > 0)
		return "an entry is above the stream's last id";
	if (sid_cmp(s->max_deleted_id, s->last_id) > 0)
		return "the greatest deleted id is above the stream's last id";
	problem = idmp_check(a, &s->idmp);
	return problem != NULL ? problem : groups_check(a, s);
}
