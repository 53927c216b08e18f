/*
 * idtext.c
 *	  Reading and writing the text of an entry id.
 */
#include "types/idtext.h"

/*
 * Read decimal digits up to the end or a dash; false: none, another byte, or
 * more than 64 bits.
 */
static bool
parse_u64(const char **s, const char *end, uint64_t *v)
{
	const char *p = *s;
	uint64_t	n = 0;

	if (p == end || *p == '-')
		return false;
	for (; p < end && *p != '-'; p++)
	{
		unsigned	digit = (unsigned char) *p - '0';

		if (digit > 9)
			return false;
		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*s = p;
	*v = n;
	return true;
}

bool
idtext_parse(const char *s, size_t len, StreamId *id, bool *has_seq)
{
	const char *end = s + len;

	if (len > IDTEXT_IN_MAX || !parse_u64(&s, end, &id->ms))
		return false;
	id->seq = 0;
	*has_seq = s < end;
	if (!*has_seq)
		return true;
	s++;						/* the dash */
	return parse_u64(&s, end, &id->seq) && s == end;
}

size_t
idtext_print_u64(uint64_t v, char *buf)
{
	char		rev[20];
	size_t		n = 0;

	do
	{
		rev[n++] = (char) ('0' + v % 10);
		v /= 10;
	} while (v != 0);
	for (size_t i = 0; i < n; i++)
		buf[i] = rev[n - 1 - i];
	buf[n] = '\0';
	return n;
}

size_t
idtext_print(StreamId id, char buf[IDTEXT_OUT_MAX])
{
	size_t		n = idtext_print_u64(id.ms, buf);

	buf[n++] = '-';
	return n + idtext_print_u64(id.seq, buf + n);
}
