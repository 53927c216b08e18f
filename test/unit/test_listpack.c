/*
 * test_listpack.c
 *	  The listpack: every encoding and every size of backlen at its limits, the
 *	  examples of docs/formats.md, lists at random against an array of strings,
 *	  and what the checking reader must refuse.
 */
#include "listpack.h"
#include "unit.h"

/* --- encodings --- */

/* Encoding and reading back of one element; its bytes without backlen. */
static void
check_one(const char *s, size_t len, size_t want, bool is_int)
{
	size_t		size = lp_str_size(s, len);
	uint8_t    *lp = malloc(LP_EMPTY_SIZE + size);
	size_t		back = want <= 127 ? 1 : want <= 16383 ? 2 : want <= 2097151 ? 3 : want <= 268435455 ? 4 : 5;
	uint8_t    *p;
	uint32_t	n = 0;
	LpValue		v;

	CHECK_EQ(size, want + back);
	lp_init(lp);
	lp_append(lp, s, len);
	p = lp_first(lp);
	CHECK_EQ(lp_bytes(lp), LP_EMPTY_SIZE + size);
	CHECK_EQ(lp_count(lp), 1);
	CHECK_EQ(lp_elem_bytes(p), size);
	CHECK_EQ(lp_check_elem(p, p + size, true), size);
	CHECK(lp_check_elem(p, p + size - 1, false) == 0);
	CHECK(lp_validate(lp, lp_bytes(lp), true, &n) && n == 1);
	lp_get(p, &v);
	CHECK_EQ(v.is_int, is_int);
	CHECK_EQ(v.len, len);
	CHECK(v.len == len && memcmp(v.str, s, len) == 0);
	CHECK(lp_equal(p, s, len));
	CHECK(!lp_equal(p, "no such", 7));
	CHECK(lp_at_end(lp_next(p)));
	CHECK(lp_prev(lp, lp_next(p)) == p);
	CHECK(lp_prev(lp, p) == NULL);
	if (is_int)
	{
		CHECK_EQ(lp_get_int(p), v.num);
		CHECK_EQ(lp_int_size(v.num), size);
	}
	else
		CHECK_EQ(lp_get_int(p), 0);
	free(lp);
}

static void
check_int(int64_t v, size_t want)
{
	char		buf[24];

	check_one(buf, (size_t) sprintf(buf, "%" PRId64, v), want, true);
}

static void
test_integers(void)
{
	static const struct
	{
		int64_t		v;
		size_t		want;
	}			t[] = {
		{0, 1}, {1, 1}, {127, 1}, {128, 2}, {-1, 2}, {4095, 2}, {-4096, 2},
		{4096, 3}, {-4097, 3}, {INT16_MAX, 3}, {INT16_MIN, 3},
		{INT16_MAX + 1, 4}, {INT16_MIN - 1, 4}, {8388607, 4}, {-8388608, 4},
		{8388608, 5}, {-8388609, 5}, {INT32_MAX, 5}, {INT32_MIN, 5},
		{(int64_t) INT32_MAX + 1, 9}, {(int64_t) INT32_MIN - 1, 9}, {INT64_MAX, 9}, {INT64_MIN, 9},
		{1000000000000000000, 9}, {-1000000000000000000, 9},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		check_int(t[i].v, t[i].want);
	for (int64_t v = -9000; v <= 9000; v++)
		check_int(v, v >= 0 && v <= 127 ? 1 : v >= -4096 && v <= 4095 ? 2 : 3);
}

/* Text that looks like a number but is not the one way to write it. */
static void
test_not_integers(void)
{
	static const char *const t[] = {
		"-", "-0", "00", "007", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "19.8", "-01", "--1",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616",
		"10000000000000000000", "99999999999999999999", "-10000000000000000000", "123456789012345678901",
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		check_one(t[i], strlen(t[i]), 1 + strlen(t[i]), false);
	check_one("1\0", 2, 3, false);
}

static void
test_strings(void)
{
	static const size_t lens[] = {
		0, 1, 62, 63, 64, 65, 124, 125, 126, 127, 128, 4094, 4095, 4096,
		16377, 16378, 16379, 2097145, 2097146, 2097147,
	};
	size_t		most = 2097147;
	char	   *s;

	/* the last step of the backlen takes a quarter of a gigabyte */
	if (getenv("ACCURATE") != NULL)
		most = 268435451;
	s = malloc(most);
	memset(s, 'x', most);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		check_one(s, lens[i], lens[i] + (lens[i] <= 63 ? 1 : lens[i] <= 4095 ? 2 : 5), false);
	for (size_t len = most - 1; most > 2097147 && len <= most; len++)
		check_one(s, len, len + 5, false);
	free(s);
}

static void
test_int32(void)
{
	static const int32_t t[] = {0, 1, -1, 127, 65536, INT32_MAX, INT32_MIN};
	uint8_t		p[LP_INT32_SIZE];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
	{
		lp_int32_write(p, t[i]);
		CHECK_EQ(lp_get_int(p), (int64_t) t[i]);
		CHECK_EQ(lp_elem_bytes(p), LP_INT32_SIZE);
		CHECK_EQ(lp_check_elem(p, p + sizeof(p), false), LP_INT32_SIZE);
		CHECK_EQ(lp_check_elem(p, p + sizeof(p), true) != 0, t[i] > 8388607 || t[i] < -8388608);
	}
}

/* --- the examples of docs/formats.md --- */

static void
check_bytes(const uint8_t *lp, const uint8_t *want, size_t size)
{
	CHECK_EQ(lp_bytes(lp), size);
	CHECK(lp_bytes(lp) == size && memcmp(lp, want, size) == 0);
	CHECK(lp_validate(want, size, true, NULL));
}

static void
test_examples(void)
{
	static const uint8_t list[] = {
		0x1E, 0x00, 0x00, 0x00, 0x06, 0x00,
		0x85, 'h', 'e', 'l', 'l', 'o', 0x06,
		0x2A, 0x01,
		0xDF, 0xFF, 0x02,
		0xF1, 0x10, 0x27, 0x03,
		0x80, 0x01,
		0x83, '0', '0', '7', 0x04,
	0xFF};
	static const uint8_t fields[] = {
		0x1C, 0x00, 0x00, 0x00, 0x04, 0x00,
		0x84, 't', 'e', 'm', 'p', 0x05,
		0x84, '1', '9', '.', '8', 0x05,
		0x84, 'r', 'o', 'o', 'm', 0x05,
		0xC0 + 3, 0xE8, 0x02,
	0xFF};
	uint8_t		lp[600];
	char		s[200];
	uint8_t    *p;

	lp_init(lp);
	check_bytes(lp, (const uint8_t *) "\x07\x00\x00\x00\x00\x00\xFF", 7);

	lp_append(lp, "hello", 5);
	lp_append(lp, "42", 2);
	lp_append(lp, "-1", 2);
	lp_append(lp, "10000", 5);
	lp_append(lp, "", 0);
	lp_append(lp, "007", 3);
	check_bytes(lp, list, sizeof(list));

	lp_init(lp);
	lp_append(lp, "temp", 4);
	lp_append(lp, "19.8", 4);
	lp_append(lp, "room", 4);
	lp_append(lp, "1000", 4);
	check_bytes(lp, fields, sizeof(fields));

	/* a string of 200 bytes: two bytes of length, two of backlen */
	memset(s, 'x', sizeof(s));
	CHECK_EQ(lp_str_write(lp, s, sizeof(s)), 204);
	p = lp;
	CHECK(p[0] == 0xE0 && p[1] == 0xC8 && p[2] == 'x' && p[201] == 'x');
	CHECK(p[202] == 0x01 && p[203] == 0xCA);
}

/* --- the count --- */

static void
test_count(void)
{
	uint8_t    *lp = malloc(LP_EMPTY_SIZE + 2 * 70000);
	uint32_t	n;

	lp_init(lp);
	for (uint32_t i = 1; i <= 65540; i++)
	{
		lp_append(lp, "7", 1);
		if (i >= 65530)
		{
			CHECK_EQ(lp_count(lp), i);
			CHECK_EQ(lp[4] | lp[5] << 8, i < LP_COUNT_UNKNOWN ? i : LP_COUNT_UNKNOWN);
			CHECK(lp_validate(lp, lp_bytes(lp), true, &n) && n == i);
		}
	}
	lp_set_header(lp, lp_bytes(lp), 65534);
	CHECK(!lp_validate(lp, lp_bytes(lp), false, NULL));

	/* "not known" is allowed for a short list too, but is not canonical */
	lp_init(lp);
	lp_append(lp, "7", 1);
	lp_set_header(lp, lp_bytes(lp), LP_COUNT_UNKNOWN);
	CHECK_EQ(lp_count(lp), 1);
	CHECK(lp_validate(lp, lp_bytes(lp), false, NULL));
	CHECK(!lp_validate(lp, lp_bytes(lp), true, NULL));
	free(lp);
}

/* --- against an array of strings --- */

static size_t
random_string(char *buf, size_t most)
{
	size_t		len = unit_below(unit_one_in(8) ? most : 70);

	if (unit_one_in(3))
		return (size_t) sprintf(buf, "%" PRId64, (int64_t) (unit_rand() >> unit_below(64)));
	for (size_t i = 0; i < len; i++)
		buf[i] = unit_one_in(3) ? (char) unit_rand() : (char) unit_between('0', '9');
	return len;
}

static void
test_random(void)
{
	enum
	{
		MOST = 5000, COUNT = 50
	};
	char	   *str[COUNT];
	size_t		len[COUNT];
	uint8_t    *lp = malloc(LP_EMPTY_SIZE + COUNT * (MOST + 16));
	int			count = (int) unit_below(COUNT + 1);
	uint8_t    *p;
	uint32_t	n;
	LpValue		v;

	lp_init(lp);
	for (int i = 0; i < count; i++)
	{
		str[i] = malloc(MOST + 32);
		len[i] = random_string(str[i], MOST);
		lp_append(lp, str[i], len[i]);
	}
	CHECK_EQ(lp_count(lp), count);
	CHECK(lp_validate(lp, lp_bytes(lp), true, &n) && n == (uint32_t) count);

	p = lp_first(lp);
	for (int i = 0; i < count; i++, p = lp_next(p))
	{
		lp_get(p, &v);
		CHECK(v.len == len[i] && memcmp(v.str, str[i], len[i]) == 0);
		for (int k = 0; k < count; k++)
			CHECK_EQ(lp_equal(p, str[k], len[k]), len[i] == len[k] && memcmp(str[i], str[k], len[i]) == 0);
	}
	CHECK(lp_at_end(p));
	for (int i = count - 1; i >= 0; i--)
	{
		p = lp_prev(lp, p);
		lp_get(p, &v);
		CHECK(v.len == len[i] && memcmp(v.str, str[i], len[i]) == 0);
	}
	CHECK(lp_prev(lp, p) == NULL);

	for (int i = 0; i < count; i++)
		free(str[i]);
	free(lp);
}

/* --- what must be refused --- */

/* Read everything in a list that passed. */
static void
read_all(const uint8_t *lp)
{
	uint8_t    *p;
	uint64_t	sum = 0;
	LpValue		v;

	for (p = lp_first(lp); !lp_at_end(p); p = lp_next(p))
	{
		lp_get(p, &v);
		for (size_t i = 0; i < v.len; i++)
			sum += (uint8_t) v.str[i];
	}
	while ((p = lp_prev(lp, p)) != NULL)
		sum += *p;
	CHECK(sum != 1 || lp_count(lp) > 0);
}

static void
test_broken(void)
{
	uint8_t		lp[600];
	char		big[300];
	size_t		size;
	int			passed = 0;

	memset(big, 'b', sizeof(big));
	lp_init(lp);
	lp_append(lp, "hello", 5);
	lp_append(lp, "4000", 4);
	lp_append(lp, "-30000", 6);
	lp_append(lp, big, sizeof(big));
	lp_append(lp, "123456789012", 12);
	size = lp_bytes(lp);

	/* every shorter and a longer size, in a block of just that size */
	for (size_t n = 0; n <= size + 1; n++)
	{
		uint8_t    *copy = malloc(n + 1);

		memset(copy, LP_EOF, n + 1);
		memcpy(copy, lp, n < size ? n : size);
		if (n >= 4)
			CHECK_EQ(lp_validate(copy, n, true, NULL), n == size);
		else
			CHECK(!lp_validate(copy, n, true, NULL));
		if (n >= LP_EMPTY_SIZE && n < size)
		{
			lp_set_header(copy, n, 5);
			copy[n - 1] = LP_EOF;
			CHECK(!lp_validate(copy, n, false, NULL));
		}
		free(copy);
	}

	/* every byte changed to every value */
	for (size_t i = 0; i < size; i++)
	{
		uint8_t    *copy = malloc(size);

		memcpy(copy, lp, size);
		for (int b = 0; b < 256; b++)
		{
			copy[i] = (uint8_t) b;
			if (lp_validate(copy, size, false, NULL))
			{
				read_all(copy);
				passed++;
			}
		}
		free(copy);
	}
	CHECK(passed > 0);
}

/* Elements that are sound, but not the canonical ones. */
static void
test_not_canonical(void)
{
	static const struct
	{
		uint8_t		bytes[8];
		size_t		size;
	}			t[] = {
		{{0x82, '4', '2', 0x03}, 4},	/* a number as a string */
		{{0xC0, 0x2A, 0x02}, 3},	/* 42 in 13 bits */
		{{0xF1, 0x2A, 0x00, 0x03}, 4},	/* in 16 */
		{{0xF2, 0x2A, 0x00, 0x00, 0x04}, 5},
		{{0xF3, 0x2A, 0x00, 0x00, 0x00, 0x05}, 6},
		{{0xE0, 0x01, 'x', 0x03}, 4},	/* short strings with long heads */
		{{0xF0, 0x01, 0x00, 0x00, 0x00, 'x', 0x06}, 7},
		{{0xE0, 0x00, 0x02}, 3},
	};
	static const uint8_t bad[] = {0xF5, 0xF6, 0xF9, 0xFE, 0xFF};
	uint8_t		none[8] = {0};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
	{
		CHECK_EQ(lp_check_elem(t[i].bytes, t[i].bytes + t[i].size, false), t[i].size);
		CHECK_EQ(lp_check_elem(t[i].bytes, t[i].bytes + t[i].size, true), 0);
	}
	CHECK(lp_equal(t[0].bytes, "42", 2));
	CHECK(lp_equal(t[5].bytes, "x", 1));
	for (size_t i = 0; i < sizeof(bad); i++)
	{
		none[0] = bad[i];
		CHECK_EQ(lp_check_elem(none, none + sizeof(none), false), 0);
	}
	CHECK_EQ(lp_check_elem(none, none, false), 0);
}

int
main(void)
{
	unit_begin("listpack");
	test_integers();
	test_not_integers();
	test_strings();
	test_int32();
	test_examples();
	test_count();
	test_broken();
	test_not_canonical();
	for (int i = unit_scale(200); i > 0; i--)
		test_random();
	return unit_end();
}
