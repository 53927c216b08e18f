/*
 * unit.h
 *	  Harness of the unit tests: one program a test file, no server needed.
 *
 *	  int
 *	  main(void)
 *	  {
 *		  unit_begin("rax");
 *		  ...CHECK(cond)... CHECK_EQ(got, want)... unit_rand()...
 *		  return unit_end();
 *	  }
 *
 * A failed check is printed with its place and the test goes on; after
 * UNIT_FAIL_MAX of them it stops.  unit_end prints "ok NAME - N checks", or
 * what failed and the seed, and returns the exit status.
 *
 * Random numbers come from one generator.  Its seed is taken from the
 * environment variable SEED, else from the clock; it is printed on failure
 * (and at the start with VERBOSE set), so that a run can be repeated.  With
 * ACCURATE set, unit_scale gives ten times the rounds.
 *
 * Include it in one file a program: everything is static.
 */
#ifndef STREAM_UNIT_H
#define STREAM_UNIT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT_FAIL_MAX	10

static struct
{
	const char *name;
	uint64_t	seed;
	uint64_t	rng;
	uint64_t	checks;
	uint64_t	failed;
}			unit;

/* Not every test uses every function here. */
#define UNIT_FUNC		__attribute__((unused)) static

/* splitmix64: any seed is a good one. */
UNIT_FUNC uint64_t
unit_rand(void)
{
	uint64_t	z = (unit.rng += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 .. n-1 */
UNIT_FUNC uint64_t
unit_below(uint64_t n)
{
	return n == 0 ? 0 : unit_rand() % n;
}

/* lo .. hi, both included */
UNIT_FUNC uint64_t
unit_between(uint64_t lo, uint64_t hi)
{
	return lo + unit_below(hi - lo + 1);
}

/* true once in n times */
UNIT_FUNC bool
unit_one_in(uint64_t n)
{
	return unit_below(n) == 0;
}

/* Number of rounds for a random test. */
UNIT_FUNC int
unit_scale(int rounds)
{
	return getenv("ACCURATE") != NULL ? rounds * 10 : rounds;
}

UNIT_FUNC void
unit_begin(const char *name)
{
	const char *s = getenv("SEED");

	unit.name = name;
	if (s != NULL)
		unit.seed = strtoull(s, NULL, 0);
	else
	{
		struct timespec ts;

		timespec_get(&ts, TIME_UTC);
		unit.seed = (uint64_t) ts.tv_sec * 1000000007u + (uint64_t) ts.tv_nsec;
	}
	unit.rng = unit.seed;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("VERBOSE") != NULL)
		printf("# %s SEED=%" PRIu64 "\n", name, unit.seed);
}

UNIT_FUNC int
unit_end(void)
{
	if (unit.failed != 0)
	{
		printf("not ok %s - %" PRIu64 " of %" PRIu64 " checks failed, repeat with SEED=%" PRIu64 "\n",
			   unit.name, unit.failed, unit.checks, unit.seed);
		return 1;
	}
	printf("ok %s - %" PRIu64 " checks\n", unit.name, unit.checks);
	return 0;
}

UNIT_FUNC void
unit_failed(const char *file, int line)
{
	unit.failed++;
	printf("# at %s:%d\n", file, line);
	if (unit.failed >= UNIT_FAIL_MAX)
		exit(unit_end());
}

UNIT_FUNC bool
unit_check(bool good, const char *what, const char *file, int line)
{
	unit.checks++;
	if (!good)
	{
		printf("# failed: %s\n", what);
		unit_failed(file, line);
	}
	return good;
}

UNIT_FUNC bool
unit_check_eq(uint64_t got, uint64_t want, const char *what, const char *file, int line)
{
	unit.checks++;
	if (got != want)
	{
		printf("# failed: %s: got %" PRIu64 " (%" PRId64 "), want %" PRIu64 " (%" PRId64 ")\n",
			   what, got, (int64_t) got, want, (int64_t) want);
		unit_failed(file, line);
	}
	return got == want;
}

UNIT_FUNC bool
unit_check_str(const char *got, const char *want, const char *what, const char *file, int line)
{
	unit.checks++;
	if (strcmp(got, want) != 0)
	{
		printf("# failed: %s:\n#   got  %s\n#   want %s\n", what, got, want);
		unit_failed(file, line);
		return false;
	}
	return true;
}

UNIT_FUNC bool
unit_check_sound(const char *problem, const char *what, const char *file, int line)
{
	unit.checks++;
	if (problem != NULL)
	{
		printf("# failed: %s: %s\n", what, problem);
		unit_failed(file, line);
	}
	return problem == NULL;
}

/* All are expressions with the value "it was good". */
#define CHECK(cond) \
	unit_check((cond), #cond, __FILE__, __LINE__)
/* two integers */
#define CHECK_EQ(got, want) \
	unit_check_eq((uint64_t) (got), (uint64_t) (want), #got " == " #want, __FILE__, __LINE__)
/* two strings */
#define CHECK_STR(got, want) \
	unit_check_str((got), (want), #got, __FILE__, __LINE__)
/* two runs of bytes */
#define CHECK_MEM(got, want, len) \
	unit_check(memcmp((got), (want), (len)) == 0, #got " has the bytes of " #want, __FILE__, __LINE__)
/* a function that returns NULL or what is wrong, such as arena_check */
#define CHECK_SOUND(call) \
	unit_check_sound((call), #call, __FILE__, __LINE__)

#endif							/* STREAM_UNIT_H */
