/*
 * stream_int.h
 *	  What the files stream*.c share.
 */
#ifndef STREAM_STREAM_INT_H
#define STREAM_STREAM_INT_H

#include "stream.h"

/* A node in its place.  Pointers into the arena hold until the next change. */
typedef struct NodePos
{
	EngHandle	h;
	StreamNode *n;
	StreamId	master;
} NodePos;

/* One node relative to an id; op as in rax_seek. */
static inline bool
node_seek(const Arena *a, const Stream *s, RaxSeek op, StreamId id, NodePos *pos)
{
	uint8_t		key[RAX_KEY_MAX];
	uint64_t	value;

	sid_to_key(id, key);
	if (!rax_seek(a, &s->nodes, op, key, 16, key, NULL, &value))
		return false;
	pos->h = value;
	pos->n = arena_ptr(a, value);
	pos->master = sid_from_key(key);
	return true;
}

#endif							/* STREAM_STREAM_INT_H */
