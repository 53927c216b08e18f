/*
 * listpack.c
 *	  Listpack: a list of short strings and integers in one run of bytes.
 *
 * Encodings, by the first byte of an element:
 *
 *	 0xxxxxxx				integer 0 .. 127
 *	 10llllll				string of 0 .. 63 bytes
 *	 110xxxxx x				integer of 13 bits, high bits first
 *	 1110llll l				string of 64 .. 4095 bytes, length high bits first
 *	 F0 llll				string, length u32 LE
 *	 F1 .. F4				integer of 2, 3, 4, 8 bytes LE
 *	 FF						no element: the end of the list
 *
 * Behind the payload stands the backlen, the number of bytes before it, in
 * groups of 7 bits with the highest group first.  All its bytes but the first
 * have the top bit set, so that a reader coming from the right knows where it
 * begins.
 *
 * All multi-byte numbers are put together from bytes: nothing here depends on
 * the byte order or the alignment rules of the machine.
 *
 * Left out on purpose: inserting into and deleting from the middle.  Lists are
 * written once, grow at the end, and are changed in place at most in elements
 * of fixed width.
 */
#include "listpack.h"

#define ENC_STR6		0x80
#define ENC_INT13		0xC0
#define ENC_STR12		0xE0
#define ENC_STR32		0xF0
#define ENC_INT16		0xF1
#define ENC_INT24		0xF2
#define ENC_INT32		0xF3
#define ENC_INT64		0xF4

#define BACKLEN_MAX		5		/* bytes */

static inline void
put_le(uint8_t *p, uint64_t v, int nbytes)
{
	for (int i = 0; i < nbytes; i++)
		p[i] = (uint8_t) (v >> (8 * i));
}

static inline uint64_t
get_le(const uint8_t *p, int nbytes)
{
	uint64_t	v = 0;

	for (int i = 0; i < nbytes; i++)
		v |= (uint64_t) p[i] << (8 * i);
	return v;
}

static inline uint32_t
get_u32(const uint8_t *p)
{
	return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

/* --- backlen --- */

static inline size_t
backlen_size(size_t len)
{
	if (len <= 127)
		return 1;
	if (len <= 16383)
		return 2;
	if (len <= 2097151)
		return 3;
	if (len <= 268435455)
		return 4;
	return BACKLEN_MAX;
}

/* Write the backlen for `len` bytes at p, return its size. */
static inline size_t
backlen_write(uint8_t *p, size_t len)
{
	size_t		n = backlen_size(len);

	for (size_t i = n; i > 0; i--)
	{
		p[i - 1] = (uint8_t) (len & 0x7F) | (i > 1 ? 0x80 : 0);
		len >>= 7;
	}
	return n;
}

/* --- integers and their text --- */

/* Is this text the one way in which an int64 is written in decimal? */
static bool
parse_int(const char *s, size_t len, int64_t *v)
{
	bool		neg;
	uint64_t	u;
	size_t		i;

	if (len == 0 || len > 20)
		return false;
	neg = s[0] == '-';
	i = neg ? 1 : 0;
	if (i == len || s[i] < '0' || s[i] > '9')
		return false;
	if (s[i] == '0')
	{
		*v = 0;
		return len == 1;		/* not "-0", "007" */
	}

	/* 19 digits cannot overflow a uint64; a 20th never fits an int64 */
	if (len - i > 19)
		return false;
	for (u = 0; i < len; i++)
	{
		if (s[i] < '0' || s[i] > '9')
			return false;
		u = u * 10 + (uint64_t) (s[i] - '0');
	}
	if (u > (uint64_t) INT64_MAX + (neg ? 1 : 0))
		return false;
	*v = neg ? -(int64_t) (u - 1) - 1 : (int64_t) u;
	return true;
}

/* Decimal text of v at the end of buf (24 bytes); returns its length. */
static size_t
format_int(int64_t v, char *buf, const char **text)
{
	uint64_t	u = v < 0 ? 0 - (uint64_t) v : (uint64_t) v;
	char	   *p = buf + 24;

	do
	{
		*--p = (char) ('0' + u % 10);
		u /= 10;
	} while (u != 0);
	if (v < 0)
		*--p = '-';
	*text = p;
	return (size_t) (buf + 24 - p);
}

/* Bytes of the shortest encoding of v, without backlen. */
static inline size_t
int_size(int64_t v)
{
	if (v >= 0 && v <= 127)
		return 1;
	if (v >= -4096 && v <= 4095)
		return 2;
	if (v >= INT16_MIN && v <= INT16_MAX)
		return 3;
	if (v >= -8388608 && v <= 8388607)
		return 4;
	if (v >= INT32_MIN && v <= INT32_MAX)
		return 5;
	return 9;
}

/* Bytes of the encoding of a string of len bytes, without backlen. */
static inline size_t
text_size(size_t len)
{
	if (len <= 63)
		return 1 + len;
	if (len <= 4095)
		return 2 + len;
	return 5 + len;
}

/* --- writing --- */

size_t
lp_int_size(int64_t v)
{
	return int_size(v) + 1;
}

size_t
lp_int_write(uint8_t *p, int64_t v)
{
	size_t		n = int_size(v);

	switch (n)
	{
		case 1:
			p[0] = (uint8_t) v;
			break;
		case 2:
			p[0] = (uint8_t) (ENC_INT13 | (((uint64_t) v >> 8) & 0x1F));
			p[1] = (uint8_t) v;
			break;
		case 3:
			p[0] = ENC_INT16;
			put_le(p + 1, (uint64_t) v, 2);
			break;
		case 4:
			p[0] = ENC_INT24;
			put_le(p + 1, (uint64_t) v, 3);
			break;
		case 5:
			p[0] = ENC_INT32;
			put_le(p + 1, (uint64_t) v, 4);
			break;
		default:
			p[0] = ENC_INT64;
			put_le(p + 1, (uint64_t) v, 8);
			break;
	}
	p[n] = (uint8_t) n;
	return n + 1;
}

void
lp_int32_write(uint8_t *p, int32_t v)
{
	p[0] = ENC_INT32;
	put_le(p + 1, (uint32_t) v, 4);
	p[5] = 5;
}

size_t
lp_str_size(const void *s, size_t len)
{
	int64_t		v;
	size_t		n;

	if (parse_int(s, len, &v))
		return lp_int_size(v);
	n = text_size(len);
	return n + backlen_size(n);
}

size_t
lp_str_write(uint8_t *p, const void *s, size_t len)
{
	int64_t		v;
	size_t		head;

	if (parse_int(s, len, &v))
		return lp_int_write(p, v);
	if (len <= 63)
	{
		p[0] = (uint8_t) (ENC_STR6 | len);
		head = 1;
	}
	else if (len <= 4095)
	{
		p[0] = (uint8_t) (ENC_STR12 | len >> 8);
		p[1] = (uint8_t) len;
		head = 2;
	}
	else
	{
		p[0] = ENC_STR32;
		put_le(p + 1, len, 4);
		head = 5;
	}
	if (len > 0)
		memcpy(p + head, s, len);
	return head + len + backlen_write(p + head + len, head + len);
}

void
lp_init(uint8_t *lp)
{
	lp_set_header(lp, LP_EMPTY_SIZE, 0);
	lp[LP_HDR_SIZE] = LP_EOF;
}

size_t
lp_bytes(const uint8_t *lp)
{
	return get_u32(lp);
}

void
lp_set_header(uint8_t *lp, size_t bytes, uint32_t count)
{
	put_le(lp, bytes, 4);
	put_le(lp + 4, count < LP_COUNT_UNKNOWN ? count : LP_COUNT_UNKNOWN, 2);
}

uint32_t
lp_count(const uint8_t *lp)
{
	uint32_t	n = (uint32_t) get_le(lp + 4, 2);

	if (n != LP_COUNT_UNKNOWN)
		return n;
	n = 0;
	for (const uint8_t *p = lp_first(lp); !lp_at_end(p); p = lp_next(p))
		n++;
	return n;
}

void
lp_append(uint8_t *lp, const void *s, size_t len)
{
	size_t		bytes = lp_bytes(lp);
	uint32_t	count = (uint32_t) get_le(lp + 4, 2);

	bytes += lp_str_write(lp + bytes - 1, s, len);
	lp[bytes - 1] = LP_EOF;

	/* going past 65534 makes the count unknown, and so it stays */
	lp_set_header(lp, bytes, count < LP_COUNT_UNKNOWN ? count + 1 : count);
}

/* --- reading --- */

size_t
lp_elem_bytes_long(const uint8_t *p)
{
	size_t		n;

	switch (p[0])
	{
		case ENC_STR32:
			n = 5 + (size_t) get_u32(p + 1);
			return n + backlen_size(n);
		case ENC_INT16:
			return 4;
		case ENC_INT24:
			return 5;
		case ENC_INT32:
			return 6;
		case ENC_INT64:
			return 10;
		default:
			break;
	}
	if (p[0] < ENC_STR12)
		return 3;				/* 13 bits */
	n = 2 + ((size_t) (p[0] & 0x0F) << 8 | p[1]);
	return n + backlen_size(n);
}

uint8_t *
lp_prev(const uint8_t *lp, const uint8_t *p)
{
	size_t		len = 0;
	int			shift = 0;

	if (p == lp + LP_HDR_SIZE)
		return NULL;
	p--;
	while (*p & 0x80)
	{
		len |= (size_t) (*p & 0x7F) << shift;
		shift += 7;
		p--;
	}
	len |= (size_t) *p << shift;
	return (uint8_t *) p - len;
}

/* The number at p; false for a string. */
static bool
get_int(const uint8_t *p, int64_t *v)
{
	if (p[0] < ENC_STR6)
		*v = p[0];
	else if (p[0] < ENC_INT13)
		return false;
	else if (p[0] < ENC_STR12)
	{
		int64_t		u = (int64_t) (p[0] & 0x1F) << 8 | p[1];

		*v = u < 4096 ? u : u - 8192;
	}
	else if (p[0] == ENC_INT16)
		*v = (int16_t) get_le(p + 1, 2);
	else if (p[0] == ENC_INT24)
	{
		int64_t		u = (int64_t) get_le(p + 1, 3);

		*v = u < 8388608 ? u : u - 16777216;
	}
	else if (p[0] == ENC_INT32)
		*v = (int32_t) get_u32(p + 1);
	else if (p[0] == ENC_INT64)
		*v = (int64_t) get_le(p + 1, 8);
	else
		return false;
	return true;
}

/* Where the text of a string element is, and its length. */
static inline const char *
get_text(const uint8_t *p, size_t *len)
{
	if (p[0] < ENC_INT13)
	{
		*len = p[0] & 0x3F;
		return (const char *) p + 1;
	}
	if (p[0] != ENC_STR32)
	{
		*len = (size_t) (p[0] & 0x0F) << 8 | p[1];
		return (const char *) p + 2;
	}
	*len = get_u32(p + 1);
	return (const char *) p + 5;
}

void
lp_get(const uint8_t *p, LpValue *v)
{
	v->is_int = get_int(p, &v->num);
	if (v->is_int)
		v->len = format_int(v->num, v->buf, &v->str);
	else
		v->str = get_text(p, &v->len);
}

int64_t
lp_get_int(const uint8_t *p)
{
	int64_t		v;

	return get_int(p, &v) ? v : 0;
}

bool
lp_equal(const uint8_t *p, const void *s, size_t len)
{
	int64_t		a;
	int64_t		b;
	const char *text;
	size_t		textlen;

	if (get_int(p, &a))
		return parse_int(s, len, &b) && a == b;
	text = get_text(p, &textlen);
	return textlen == len && (len == 0 || memcmp(text, s, len) == 0);
}

/* --- checking --- */

size_t
lp_check_elem(const uint8_t *p, const uint8_t *end, bool canonical)
{
	size_t		room;
	size_t		head;
	size_t		n;				/* encoding and payload */
	size_t		nback;
	uint8_t		backlen[BACKLEN_MAX];
	int64_t		v;

	if (p >= end)
		return 0;
	room = (size_t) (end - p);

	/* how many bytes must be there to know the length? */
	if (p[0] < ENC_INT13)
		head = 1;
	else if (p[0] < ENC_STR32)
		head = 2;
	else if (p[0] == ENC_STR32)
		head = 5;
	else if (p[0] <= ENC_INT64)
		head = 1;
	else
		return 0;
	if (head > room)
		return 0;

	/* the length is below 2^32 + 10, so nothing overflows */
	n = lp_elem_bytes(p);
	if (n > room)
		return 0;
	if (n <= 128)
	{
		/* most are short */
		nback = 1;
		n--;
		if (p[n] != n)
			return 0;
	}
	else
	{
		for (nback = 1; nback < BACKLEN_MAX; nback++)
		{
			if (backlen_size(n - nback) == nback)
				break;
		}
		n -= nback;
		backlen_write(backlen, n);
		if (memcmp(p + n, backlen, nback) != 0)
			return 0;
	}

	if (canonical)
	{
		if (get_int(p, &v))
		{
			if (int_size(v) != n)
				return 0;
		}
		else
		{
			size_t		len;
			const char *text = get_text(p, &len);

			if (text_size(len) != n || parse_int(text, len, &v))
				return 0;
		}
	}
	return n + nback;
}

bool
lp_check_frame(const uint8_t *lp, size_t size)
{
	return size >= LP_EMPTY_SIZE && size <= LP_BYTES_MAX && lp_bytes(lp) == size &&
		lp[size - 1] == LP_EOF;
}

bool
lp_check_count(const uint8_t *lp, uint32_t count, bool canonical)
{
	uint32_t	said = (uint32_t) get_le(lp + 4, 2);

	return said == (count < LP_COUNT_UNKNOWN ? count : LP_COUNT_UNKNOWN) ||
		(!canonical && said == LP_COUNT_UNKNOWN);
}

bool
lp_validate(const uint8_t *lp, size_t size, bool canonical, uint32_t *nelem)
{
	const uint8_t *p;
	const uint8_t *end;			/* the terminator */
	uint32_t	count = 0;

	if (!lp_check_frame(lp, size))
		return false;
	end = lp + size - 1;
	for (p = lp + LP_HDR_SIZE; p < end; count++)
	{
		size_t		n = lp_check_elem(p, end, canonical);

		if (n == 0)
			return false;
		p += n;
	}
	if (!lp_check_count(lp, count, canonical))
		return false;
	if (nelem != NULL)
		*nelem = count;
	return true;
}
