/*
 * fuzz_listpack.c
 *	  The checking reader of listpacks on any bytes, and reading what passed.
 *
 * Input: a byte of options, then the listpack.  Unless an option says not to,
 * total and terminator are put right first, so that most inputs get past them.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined, with src/engine.
 */
#include <stdlib.h>

#include "listpack.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPT_CANONICAL	1
#define OPT_RAW			2
#define OPT_COUNT		4		/* keep the count of the input */

#define MUST(cond) \
	do { if (!(cond)) abort(); } while (0)

/* Every element: stepped over, read, compared, and written again. */
static void
read_all(const uint8_t *lp, size_t size, uint32_t count, bool canonical)
{
	uint8_t    *copy = malloc(LP_EMPTY_SIZE);
	uint8_t    *p;
	uint32_t	n = 0;
	LpValue		v;

	lp_init(copy);
	for (p = lp_first(lp); !lp_at_end(p); p = lp_next(p))
	{
		size_t		bytes = lp_bytes(copy);

		lp_get(p, &v);
		MUST(lp_equal(p, v.str, v.len));
		MUST(v.is_int || lp_get_int(p) == 0);
		MUST(lp_check_elem(p, lp + size, canonical) == lp_elem_bytes(p));
		copy = realloc(copy, bytes + lp_str_size(v.str, v.len));
		lp_append(copy, v.str, v.len);
		MUST(lp_bytes(copy) == bytes + lp_str_size(v.str, v.len));
		n++;
	}
	MUST(n == count && lp_count(lp) == count);
	MUST(p == lp + size - 1);
	while ((p = lp_prev(lp, p)) != NULL)
		n--;
	MUST(n == 0);

	/* the canonical form is a list of its own, and has the same elements */
	MUST(lp_validate(copy, lp_bytes(copy), true, &n) && n == count);
	if (canonical)
		MUST(lp_bytes(copy) == size && memcmp(copy, lp, size) == 0);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *lp;
	uint8_t		options;
	uint32_t	count;

	if (size-- == 0)
		return 0;
	options = *data++;
	lp = malloc(size > 0 ? size : 1);
	if (size > 0)
		memcpy(lp, data, size);
	if (size >= LP_EMPTY_SIZE && !(options & OPT_RAW))
	{
		count = (uint32_t) lp[4] | (uint32_t) lp[5] << 8;
		lp_set_header(lp, size, options & OPT_COUNT ? count : LP_COUNT_UNKNOWN);
		lp[size - 1] = LP_EOF;
	}
	if (lp_validate(lp, size, options & OPT_CANONICAL, &count))
		read_all(lp, size, count, options & OPT_CANONICAL);
	else if (options & OPT_CANONICAL && lp_validate(lp, size, false, &count))
		read_all(lp, size, count, false);
	free(lp);
	return 0;
}
