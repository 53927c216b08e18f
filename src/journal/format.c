/*
 * format.c
 *	  The bytes of a transaction in the journal.
 *
 * Little endian throughout, no padding:
 *
 *	payload:	format u8 = 1 | number of streams u32 | set ...
 *	set:		stream id i64 | parts u8, a bit each of those that follow:
 *				chunks u32 | deletions u32 | trim-to id | trim-keep id | pairs u32
 *				| headers u32 | operations on groups u32
 *				| chunk ... | deletion ... | pair ... | header ... | operation ...
 *	chunk:		first id | bytes u32 | new-run u8 | listpack (engine/node.h)
 *	pair:		id of the entry | producer 16 bytes | iid 16 bytes
 *	deletion:	id | flags u8 (STREAM_DEL_... of engine/stream.h)
 *	header:		chunks u32 | deletions u32 | pairs u32 | operations u32 before it
 *				| last id | entries added u64 | greatest deleted id
 *				| node bytes u32 | node entries u32
 *				| idmp duration u32 | idmp maxsize u32
 *	operation:	engine/group.h
 *	id:			ms u64 | seq u64
 *
 * Reading trusts nothing: every length is checked against what is left, and
 * a chunk's listpack goes through node_validate.
 */
#include "postgres.h"

#include "journal/journal.h"

/* Bytes put together here go to the sink in one. */
static uint8 *
put_uint(uint8 *p, uint64 v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8) (v >> (8 * i));
	return p + bytes;
}

static uint8 *
put_id(uint8 *p, StreamId id)
{
	return put_uint(put_uint(p, id.ms, 8), id.seq, 8);
}

void
payload_put_del(PayloadSink *sink, const SetDel *del)
{
	uint8		b[17];

	sink->put(sink, b, put_uint(put_id(b, del->id), del->flags, 1) - b);
}

void
payload_put_head(PayloadSink *sink, uint32 nstreams)
{
	uint8		b[5];

	sink->put(sink, b, put_uint(put_uint(b, JOURNAL_FORMAT, 1), nstreams, 4) - b);
}

/* The parts of a set, in their order; only those that are there are written. */
#define SET_CHUNKS		1
#define SET_DELS		2
#define SET_TRIM_TO		4
#define SET_TRIM_KEEP	8
#define SET_PAIRS		16
#define SET_HEADERS		32
#define SET_GOPS		64
#define SET_PARTS		127

static uint8
set_parts(const StreamSet *set)
{
	return (set->nchunks > 0 ? SET_CHUNKS : 0) | (set->ndels > 0 ? SET_DELS : 0) |
		(sid_is_zero(set->trim_to) ? 0 : SET_TRIM_TO) |
		(sid_is_zero(set->trim_keep) ? 0 : SET_TRIM_KEEP) |
		(set->npairs > 0 ? SET_PAIRS : 0) | (set->nheaders > 0 ? SET_HEADERS : 0) |
		(set->ngops > 0 ? SET_GOPS : 0);
}

void
payload_put_set(PayloadSink *sink, const StreamSet *set)
{
	uint8		b[61];
	uint8	   *p = put_uint(b, (uint64) set->stream_id, 8);
	uint8		parts = set_parts(set);

	p = put_uint(p, parts, 1);
	if (parts & SET_CHUNKS)
		p = put_uint(p, set->nchunks, 4);
	if (parts & SET_DELS)
		p = put_uint(p, set->ndels, 4);
	if (parts & SET_TRIM_TO)
		p = put_id(p, set->trim_to);
	if (parts & SET_TRIM_KEEP)
		p = put_id(p, set->trim_keep);
	if (parts & SET_PAIRS)
		p = put_uint(p, set->npairs, 4);
	if (parts & SET_HEADERS)
		p = put_uint(p, set->nheaders, 4);
	if (parts & SET_GOPS)
		p = put_uint(p, set->ngops, 4);
	sink->put(sink, b, p - b);
}

void
payload_put_chunk(PayloadSink *sink, const ChunkHead *head, const uint8 *lp)
{
	uint8		b[21];
	uint8	   *p = put_id(b, head->first);

	p = put_uint(p, head->bytes, 4);
	p = put_uint(p, head->new_run ? 1 : 0, 1);
	sink->put(sink, b, p - b);
	sink->put(sink, lp, head->bytes);
}

void
payload_put_pair(PayloadSink *sink, const SetPair *pair)
{
	uint8		b[16];

	sink->put(sink, b, put_id(b, pair->id) - b);
	sink->put(sink, pair->key.producer, IDMP_DIGEST);
	sink->put(sink, pair->key.iid, IDMP_DIGEST);
}

void
payload_put_header(PayloadSink *sink, const SetHeader *header)
{
	const StreamHeader *h = &header->header;
	uint8		b[72];
	uint8	   *p = put_uint(b, header->chunks, 4);

	p = put_uint(p, header->dels, 4);
	p = put_uint(p, header->pairs, 4);
	p = put_uint(p, header->gops, 4);
	p = put_id(p, h->last_id);
	p = put_uint(p, h->entries_added, 8);
	p = put_id(p, h->max_deleted_id);
	p = put_uint(p, h->node_max_bytes, 4);
	p = put_uint(p, h->node_max_entries, 4);
	p = put_uint(p, h->idmp_duration, 4);
	p = put_uint(p, h->idmp_maxsize, 4);
	sink->put(sink, b, p - b);
}

/* --- reading --- */

static bool
get_uint(PayloadReader *r, int bytes, uint64 *v)
{
	if (r->end - r->p < bytes)
		return false;
	*v = 0;
	for (int i = 0; i < bytes; i++)
		*v |= (uint64) r->p[i] << (8 * i);
	r->p += bytes;
	return true;
}

static bool
get_id(PayloadReader *r, StreamId *id)
{
	return get_uint(r, 8, &id->ms) && get_uint(r, 8, &id->seq);
}

bool
payload_get_del(PayloadReader *r, SetDel *del)
{
	uint64		flags;

	if (!get_id(r, &del->id) || !get_uint(r, 1, &flags) ||
		(flags & ~(uint64) (STREAM_DEL_KEEPREF | STREAM_DEL_TRIM)) != 0)
		return false;
	del->flags = (uint32) flags;
	return true;
}

bool
payload_get_gop(PayloadReader *r, Gop *op)
{
	size_t		bytes = gop_read(op, r->p, r->end - r->p);

	r->p += bytes;
	return bytes > 0;
}

static bool
get_u32(PayloadReader *r, uint32 *v)
{
	uint64		wide;

	if (!get_uint(r, 4, &wide))
		return false;
	*v = (uint32) wide;
	return true;
}

bool
payload_get_pair(PayloadReader *r, SetPair *pair)
{
	if (!get_id(r, &pair->id) || r->end - r->p < 2 * IDMP_DIGEST)
		return false;
	memcpy(pair->key.producer, r->p, IDMP_DIGEST);
	memcpy(pair->key.iid, r->p + IDMP_DIGEST, IDMP_DIGEST);
	r->p += 2 * IDMP_DIGEST;
	return true;
}

bool
payload_get_header(PayloadReader *r, SetHeader *header)
{
	StreamHeader *h = &header->header;

	return get_u32(r, &header->chunks) && get_u32(r, &header->dels) && get_u32(r, &header->pairs) &&
		get_u32(r, &header->gops) &&
		get_id(r, &h->last_id) && get_uint(r, 8, &h->entries_added) &&
		get_id(r, &h->max_deleted_id) &&
		get_u32(r, &h->node_max_bytes) && get_u32(r, &h->node_max_entries) &&
		get_u32(r, &h->idmp_duration) && get_u32(r, &h->idmp_maxsize) &&
		stream_header_valid(h);
}

bool
payload_get_head(PayloadReader *r, uint32 *nstreams)
{
	uint64		format;
	uint64		n;

	if (!get_uint(r, 1, &format) || format != JOURNAL_FORMAT || !get_uint(r, 4, &n))
		return false;
	*nstreams = (uint32) n;
	return true;
}

bool
payload_get_set(PayloadReader *r, StreamSet *set)
{
	uint64		id;
	uint64		parts;

	memset(set, 0, sizeof(*set));
	if (!get_uint(r, 8, &id) || !get_uint(r, 1, &parts) || parts > SET_PARTS)
		return false;
	set->stream_id = (int64) id;
	return (!(parts & SET_CHUNKS) || get_u32(r, &set->nchunks)) &&
		(!(parts & SET_DELS) || get_u32(r, &set->ndels)) &&
		(!(parts & SET_TRIM_TO) || get_id(r, &set->trim_to)) &&
		(!(parts & SET_TRIM_KEEP) || get_id(r, &set->trim_keep)) &&
		(!(parts & SET_PAIRS) || get_u32(r, &set->npairs)) &&
		(!(parts & SET_HEADERS) || get_u32(r, &set->nheaders)) &&
		(!(parts & SET_GOPS) || get_u32(r, &set->ngops)) &&
		set_parts(set) == parts;
}

bool
payload_get_chunk(PayloadReader *r, ChunkHead *head, const uint8 **lp)
{
	uint64		bytes;
	uint64		new_run;
	StreamId	first;
	StreamId	last;

	if (!get_id(r, &head->first) || !get_uint(r, 4, &bytes) || !get_uint(r, 1, &new_run) ||
		new_run > 1 || (uint64) (r->end - r->p) < bytes)
		return false;
	head->bytes = (uint32) bytes;
	head->new_run = new_run == 1;
	*lp = r->p;
	r->p += bytes;
	return node_validate(*lp, head->bytes, head->first) &&
		node_dead(*lp) == 0 && node_bounds(*lp, head->first, &first, &last) &&
		sid_cmp(first, head->first) == 0;
}
