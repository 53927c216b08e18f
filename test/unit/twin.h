/*
 * twin.h
 *	  An arena whose region is mapped at two addresses.
 *
 * twin_flip makes the mapping that was in use inaccessible and lets the
 * caller go on with the other one: a pointer that found its way into the
 * region faults when it is followed.
 *
 * Include it first in a test: it needs more than C11 from the headers.
 */
#ifndef STREAM_TWIN_H
#define STREAM_TWIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"

typedef struct Twin
{
	Arena		arena;			/* the view in use */
	void	   *base[2];
	size_t		size;
	int			at;				/* which of the two it is */
	int			locked;			/* depth; the arena never locks twice */
} Twin;

static void
twin_die(const char *what)
{
	perror(what);
	exit(1);
}

static void
twin_lock(void *arg)
{
	if (((Twin *) arg)->locked++ != 0)
		abort();
}

static void
twin_unlock(void *arg)
{
	if (--((Twin *) arg)->locked != 0)
		abort();
}

static inline void
twin_flip(Twin *t)
{
	if (mprotect(t->base[t->at], t->size, PROT_NONE) != 0)
		twin_die("mprotect");
	t->at = !t->at;
	if (mprotect(t->base[t->at], t->size, PROT_READ | PROT_WRITE) != 0)
		twin_die("mprotect");
	if (arena_open(&t->arena, t->base[t->at], twin_lock, twin_unlock, t) != ENG_OK)
		abort();
}

static inline void
twin_open(Twin *t, size_t size)
{
	int			fd = memfd_create("arena", 0);

	memset(t, 0, sizeof(*t));
	t->size = (size + 4095) / 4096 * 4096;
	if (fd < 0 || ftruncate(fd, (off_t) t->size) != 0)
		twin_die("memfd");
	for (int i = 0; i < 2; i++)
	{
		t->base[i] = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (t->base[i] == MAP_FAILED)
			twin_die("mmap");
	}
	close(fd);
	if (arena_format(t->base[0], size) != ENG_OK)
		abort();
	twin_flip(t);
}

static inline void
twin_close(Twin *t)
{
	for (int i = 0; i < 2; i++)
		munmap(t->base[i], t->size);
}

#endif							/* STREAM_TWIN_H */
