/*
 * gen.h
 *	  Fields lists for tests: made from text, and at random.
 *
 * Include it after unit.h.
 */
#ifndef STREAM_GEN_H
#define STREAM_GEN_H

#include "listpack.h"

/* A fields list from names and values, NULL at the end; the caller frees it. */
UNIT_FUNC uint8_t *
gen_list(const char *const *strs)
{
	size_t		size = LP_EMPTY_SIZE;
	uint8_t    *lp;

	for (int i = 0; strs[i] != NULL; i++)
		size += lp_str_size(strs[i], strlen(strs[i]));
	lp = malloc(size);
	lp_init(lp);
	for (int i = 0; strs[i] != NULL; i++)
		lp_append(lp, strs[i], strlen(strs[i]));
	return lp;
}

#define GEN(...)	gen_list((const char *const[]) {__VA_ARGS__, NULL})

/* A random string in buf (room for most + 24 bytes); returns its length. */
UNIT_FUNC size_t
gen_string(char *buf, size_t most)
{
	size_t		len = 0;

	switch (unit_below(6))
	{
		case 0:
			break;				/* empty */
		case 1:
			return (size_t) sprintf(buf, "%" PRId64,
									(int64_t) (unit_rand() >> unit_below(64)) * (unit_one_in(2) ? 1 : -1));
		case 2:
			/* nearly a number */
			return (size_t) sprintf(buf, "%s%u%s", unit_one_in(2) ? "0" : "-",
									(unsigned) unit_below(1000), unit_one_in(2) ? " " : "");
		case 3:
			len = unit_below(most + 1);
			break;
		default:
			len = unit_below(most < 12 ? most + 1 : 12);
			break;
	}
	for (size_t i = 0; i < len; i++)
		buf[i] = unit_one_in(8) ? (char) unit_rand() : (char) unit_between('a', 'z');
	return len;
}

/*
 * A random fields list; the caller frees it.  `schema` picks the names: equal
 * schemas give equal names.
 */
UNIT_FUNC uint8_t *
gen_fields(unsigned schema, size_t most)
{
	unsigned	n = schema % 4 + 1;
	char	   *buf = malloc(most + 24);
	uint8_t    *lp = malloc(LP_EMPTY_SIZE + n * (32 + most + 48));

	lp_init(lp);
	for (unsigned i = 0; i < n; i++)
	{
		char		name[24];
		size_t		len;

		/* names repeat in some schemas, are numbers in others */
		len = (size_t) sprintf(name, schema % 3 == 0 ? "%u" : "f%u", schema + i / (schema % 2 + 1));
		lp_append(lp, name, len);
		len = gen_string(buf, most);
		lp_append(lp, buf, len);
	}
	free(buf);
	return lp;
}

#endif							/* STREAM_GEN_H */
