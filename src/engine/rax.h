/*
 * rax.h
 *	  Radix tree with compressed paths, after antirez' rax, over an arena.
 *
 * Keys are byte strings of 0 to RAX_KEY_MAX bytes in byte order (a prefix
 * comes before what it is a prefix of); each holds a 64-bit value.
 *
 * Locking: none here.  The owner of the Rax sees to it that changes are
 * exclusive and reads shared.
 */
#ifndef STREAM_RAX_H
#define STREAM_RAX_H

#include "arena.h"

#define RAX_KEY_MAX		1024

/* Head of a tree.  All zero bytes are an empty tree. */
typedef struct Rax
{
	EngHandle	root;			/* 0: no node yet */
	uint64_t	nkeys;
	uint64_t	nnodes;			/* blocks in the arena */
} Rax;

typedef enum RaxSeek
{
	RAX_FIRST, RAX_LAST, RAX_EQ, RAX_GT, RAX_GE, RAX_LT, RAX_LE
} RaxSeek;

/* Insert, or set the value of a key that is there.  ENG_OK: new key;
 * ENG_EXISTS: *old (if not NULL) was replaced; ENG_NOMEM and ENG_TOOBIG:
 * nothing changed.  All memory is taken before the first change. */
extern EngStatus rax_insert(Arena *a, Rax *r, const void *key, size_t len,
							uint64_t value, uint64_t *old, ArenaUse use);

/* false: no such key.  Removing never fails for lack of memory (where the
 * merge of nodes finds none, the nodes stay unmerged). */
extern bool rax_remove(Arena *a, Rax *r, const void *key, size_t len, uint64_t *old);

extern bool rax_find(const Arena *a, const Rax *r, const void *key, size_t len, uint64_t *value);

/* Free all nodes; fn, if not NULL, gets every value. */
extern void rax_clear(Arena *a, Rax *r, void (*fn) (void *arg, uint64_t value), void *arg);

/* One element relative to a key.  Returns false when there is none, else
 * fills keyout (RAX_KEY_MAX bytes, may be the same buffer as key; NULL if not
 * wanted), *lenout and *value (each may be NULL).  Stepping through the tree
 * is a seek with RAX_GT (or RAX_LT) from the last key, O(key length). */
extern bool rax_seek(const Arena *a, const Rax *r, RaxSeek op, const void *key, size_t len,
					 uint8_t *keyout, size_t *lenout, uint64_t *value);

/* Note in c what `n` inserts of keys of `len` bytes can allocate at most. */
extern void rax_charge(ArenaCharge *c, size_t len, uint32_t n);

/* Shape of the tree as text, for tests: a compressed run is "ab", a branch
 * is [Ac], a key is marked (); rax_read.c says more.  Writes at most cap bytes,
 * the last a zero, and returns the length of the whole. */
extern size_t rax_shape(const Arena *a, const Rax *r, char *out, size_t cap);

/* Check every invariant; NULL, or which one is broken. */
extern const char *rax_check(const Arena *a, const Rax *r);

#endif							/* STREAM_RAX_H */
