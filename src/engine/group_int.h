/*
 * group_int.h
 *	  What the files group*.c share.
 */
#ifndef STREAM_GROUP_INT_H
#define STREAM_GROUP_INT_H

#include "group.h"
#include "stream.h"

/* Step to the group after `g` (NULL: the first); NULL: no more. */
extern StreamGroup *groups_step(const Arena *a, const Stream *s, const StreamGroup *g);

/* In a group that delivers in order: drop the gap that `id` is in, if there is
 * one and it has no live entry from `bound` on. */
extern void group_drop_empty_gap(Arena *a, const Stream *s, StreamGroup *g, StreamId id, StreamId bound);

/* Remove a record, if it is there, and take it from its owner. */
extern bool group_remove_record(Arena *a, StreamGroup *g, StreamId id);

/* Free all that belongs to a group, and itself. */
extern void group_free(Arena *a, StreamGroup *g);

static inline void
number_to_key(uint32_t number, uint8_t key[4])
{
	for (int i = 0; i < 4; i++)
		key[i] = (uint8_t) (number >> (24 - 8 * i));
}

#endif							/* STREAM_GROUP_INT_H */
