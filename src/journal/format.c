/*
 * format.c
 *	  The bytes of a transaction in the journal.
 *
 * Little endian throughout, no padding:
 *
 *	payload:	format u8 = 1 | number of streams u32 | set ...
 *	set:		stream id i64 | chunks u32 | deletions u32 | trim-to id
 *				| pairs u32 | headers u32
 *				| chunk ... | deleted id ... | pair ... | header ...
 *	chunk:		first id | bytes u32 | new-run u8 | listpack (engine/node.h)
 *	pair:		id of the entry | producer 16 bytes | iid 16 bytes
 *	header:		chunks u32 | deletions u32 | pairs u32 before it
 *				| last id | entries added u64 | greatest deleted id
 *				| node bytes u32 | node entries u32
 *				| idmp duration u32 | idmp maxsize u32
 *	id:			ms u64 | seq u64			trim-to 0-0: no trim
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
payload_put_id(PayloadSink *sink, StreamId id)
{
	uint8		b[16];

	sink->put(sink, b, put_id(b, id) - b);
}

void
payload_put_head(PayloadSink *sink, uint32 nstreams)
{
	uint8		b[5];

	sink->put(sink, b, put_uint(put_uint(b, JOURNAL_FORMAT, 1), nstreams, 4) - b);
}

void
payload_put_set(PayloadSink *sink, const StreamSet *set)
{
	uint8		b[40];
	uint8	   *p = put_uint(b, (uint64) set->stream_id, 8);

	p = put_uint(p, set->nchunks, 4);
	p = put_uint(p, set->ndels, 4);
	p = put_id(p, set->trim_to);
	p = put_uint(p, set->npairs, 4);
	p = put_uint(p, set->nheaders, 4);
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
	payload_put_id(sink, pair->id);
	sink->put(sink, pair->key.producer, IDMP_DIGEST);
	sink->put(sink, pair->key.iid, IDMP_DIGEST);
}

void
payload_put_header(PayloadSink *sink, const SetHeader *header)
{
	const StreamHeader *h = &header->header;
	uint8		b[68];
	uint8	   *p = put_uint(b, header->chunks, 4);

	p = put_uint(p, header->dels, 4);
	p = put_uint(p, header->pairs, 4);
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

bool
payload_get_id(PayloadReader *r, StreamId *id)
{
	return get_uint(r, 8, &id->ms) && get_uint(r, 8, &id->seq);
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
	if (!payload_get_id(r, &pair->id) || r->end - r->p < 2 * IDMP_DIGEST)
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
		payload_get_id(r, &h->last_id) && get_uint(r, 8, &h->entries_added) &&
		payload_get_id(r, &h->max_deleted_id) &&
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
	uint64		nchunks;
	uint64		ndels;

	if (!get_uint(r, 8, &id) || !get_uint(r, 4, &nchunks) || !get_uint(r, 4, &ndels) ||
		!payload_get_id(r, &set->trim_to) ||
		!get_u32(r, &set->npairs) || !get_u32(r, &set->nheaders))
		return false;
	set->stream_id = (int64) id;
	set->nchunks = (uint32) nchunks;
	set->ndels = (uint32) ndels;
	return true;
}

bool
payload_get_chunk(PayloadReader *r, ChunkHead *head, const uint8 **lp)
{
	uint64		bytes;
	uint64		new_run;
	StreamId	first;
	StreamId	last;

	if (!payload_get_id(r, &head->first) || !get_uint(r, 4, &bytes) || !get_uint(r, 1, &new_run) ||
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
