/*
 * peers.c
 *	  What the benchmark needs of a client and pgbench and redis-benchmark do
 *	  not do: consumers of a Redis group, which acknowledge the ids they were
 *	  given, and the time until somebody who waits is woken.
 *
 *	peers consume SOCKET KEY GROUP CLIENTS COUNT ACK SECONDS
 *		CLIENTS processes read COUNT entries at a time, and acknowledge them if
 *		ACK is 1, for so many seconds or until there are none; prints entries a
 *		second.  An acknowledgement and the next read go out together.
 *	peers wake stream|notify|select CONNINFO TIMES
 *	peers wake redis SOCKET TIMES
 *		one connection waits, another adds; prints median and 99th percentile
 *		of the microseconds from sending the add to having the entry.
 *
 * The two connections of `wake` belong to one process, so that no other one has
 * to be woken for the measure.  Errors end the program.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#define IDS_MAX 1000
#define ID_SIZE 48

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static double
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

/* --- Redis, as far as it is needed --- */

typedef struct Redis
{
	int			fd;
	char		buf[1 << 16];
	size_t		at;
	size_t		len;
	char		ids[IDS_MAX][ID_SIZE];	/* of the entries of the last reply */
	int			nids;
} Redis;

static Redis *
redis_connect(const char *path)
{
	Redis	   *r = calloc(1, sizeof(Redis));
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	r->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(r->fd, (struct sockaddr *) &addr, sizeof(addr)) != 0)
		die(path, strerror(errno));
	return r;
}

static void
redis_send(Redis *r, const char *command, size_t len)
{
	while (len > 0)
	{
		ssize_t		n = write(r->fd, command, len);

		if (n < 0)
			die("write", strerror(errno));
		command += n;
		len -= n;
	}
}

static int
redis_byte(Redis *r)
{
	if (r->at == r->len)
	{
		ssize_t		n = read(r->fd, r->buf, sizeof(r->buf));

		if (n <= 0)
			die("read", n == 0 ? "connection closed" : strerror(errno));
		r->at = 0;
		r->len = n;
	}
	return (unsigned char) r->buf[r->at++];
}

/*
 * Read a reply.  Those of XREAD and XREADGROUP are lists of streams (depth 1) of
 * lists of entries (3), which begin with their ids.  Returns an integer reply.
 */
static long
redis_reply(Redis *r, int depth, int nth)
{
	char		line[512];
	size_t		n = 0;
	int			type = redis_byte(r);
	int			c;
	long		value;

	while ((c = redis_byte(r)) != '\n')
		if (n < sizeof(line) - 1)
			line[n++] = c;
	line[n] = '\0';
	value = strtol(line, NULL, 10);
	if (depth == 0)
		r->nids = 0;
	switch (type)
	{
		case '-':
			die("Redis", line);
			break;
		case '*':
			for (long i = 0; i < value; i++)
				redis_reply(r, depth + 1, i);
			break;
		case '$':
			for (long i = 0; i < value + 2 && value >= 0; i++)
			{
				c = redis_byte(r);
				if (depth == 4 && nth == 0 && r->nids < IDS_MAX && i < ID_SIZE)
					r->ids[r->nids][i] = i < value ? c : '\0';
			}
			if (depth == 4 && nth == 0 && r->nids < IDS_MAX)
				r->nids++;
			break;
	}
	return value;
}

static long
consumer(const char *path, const char *key, const char *group, int me, int count, int ack, double until)
{
	Redis	   *r = redis_connect(path);
	char		command[IDS_MAX * ID_SIZE + 512];
	long		taken = 0;
	int			n = 0;

	do
	{
		bool		acks = ack && r->nids > 0;

		n = 0;
		if (acks)
		{
			n = snprintf(command, sizeof(command), "XACK %s %s", key, group);
			for (int i = 0; i < r->nids; i++)
				n += snprintf(command + n, sizeof(command) - n, " %s", r->ids[i]);
			n += snprintf(command + n, sizeof(command) - n, "\r\n");
		}
		n += snprintf(command + n, sizeof(command) - n, "XREADGROUP GROUP %s c%d COUNT %d STREAMS %s >\r\n", group, me, count, key);
		redis_send(r, command, n);
		if (acks)
			redis_reply(r, -10, 0);
		redis_reply(r, 0, 0);
		taken += r->nids;
	} while (r->nids > 0 && now_us() < until);
	return taken;
}

static void
consume(char **arg)
{
	int			clients = atoi(arg[3]);
	double		begin = now_us();
	double		until = begin + atof(arg[6]) * 1e6;
	long		taken = 0;
	int			fds[2];

	if (pipe(fds) != 0)
		die("pipe", strerror(errno));
	for (int i = 0; i < clients; i++)
	{
		if (fork() == 0)
		{
			long		mine = consumer(arg[0], arg[1], arg[2], i, atoi(arg[4]), atoi(arg[5]), until);

			_exit(write(fds[1], &mine, sizeof(mine)) != sizeof(mine));
		}
	}
	for (int i = 0; i < clients; i++)
	{
		long		theirs;
		int			status;

		wait(&status);
		if (status != 0 || read(fds[0], &theirs, sizeof(theirs)) != sizeof(theirs))
			die("consume", "a consumer has failed");
		taken += theirs;
	}
	printf("%.0f\n", taken * 1e6 / (now_us() - begin));
}

/* --- waking --- */

static void
wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, 10000) != 1)
		die("poll", "nobody was woken");
}

static PGconn *
pg_connect(const char *conninfo)
{
	PGconn	   *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		die("connect", PQerrorMessage(conn));
	return conn;
}

static void
pg_run(PGconn *conn, const char *sql)
{
	PGresult   *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		die(sql, PQerrorMessage(conn));
	PQclear(res);
}

/* Until the answer to what was sent is there: one row, its first column to id. */
static void
pg_finish(PGconn *conn, char *id)
{
	PGresult   *res;

	while (PQisBusy(conn))
	{
		wait_readable(PQsocket(conn));
		PQconsumeInput(conn);
	}
	while ((res = PQgetResult(conn)) != NULL)
	{
		if (PQresultStatus(res) != PGRES_COMMAND_OK && PQntuples(res) != 1)
			die("wake", PQresultStatus(res) == PGRES_TUPLES_OK ? "not one entry" : PQerrorMessage(conn));
		snprintf(id, ID_SIZE, "%s", PQgetvalue(res, 0, 0));
		PQclear(res);
	}
}

static void
pg_send(PGconn *conn, const char *name, const char *parameter)
{
	if (!PQsendQueryPrepared(conn, name, parameter != NULL, &parameter, NULL, NULL, 0))
		die(name, PQerrorMessage(conn));
}

static void
pg_prepare(PGconn *conn, const char *name, const char *sql)
{
	PGresult   *res = PQprepare(conn, name, sql, 0, NULL);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		die(sql, PQerrorMessage(conn));
	PQclear(res);
}

/*
 * Let the reader fall asleep, and not in step with anything.  Should it still be
 * awake it finds the entry nevertheless: it reads after an id.
 */
static void
pause_a_little(void)
{
	usleep(2000 + rand() % 2000);
}

static double
wake_stream(PGconn *reader, PGconn *writer, char *last)
{
	double		begin;
	double		end;

	pg_send(reader, "read", last);
	pause_a_little();
	begin = now_us();
	pg_send(writer, "add", NULL);
	pg_finish(reader, last);
	end = now_us();
	pg_finish(writer, last);
	return end - begin;
}

static double
wake_notify(PGconn *reader, PGconn *writer, bool and_select)
{
	PGnotify   *note;
	double		begin;
	double		end;
	char		id[ID_SIZE];

	pause_a_little();
	begin = now_us();
	pg_send(writer, "add", NULL);
	while ((note = PQnotifies(reader)) == NULL)
	{
		wait_readable(PQsocket(reader));
		PQconsumeInput(reader);
	}
	PQfreemem(note);
	if (and_select)
	{
		pg_send(reader, "read", NULL);
		pg_finish(reader, id);
	}
	end = now_us();
	pg_finish(writer, id);
	return end - begin;
}

static double
wake_redis(Redis *reader, Redis *writer)
{
	static const char add[] = "XADD wake * data x\r\n";
	char		read[100];
	double		begin;
	double		end;

	snprintf(read, sizeof(read), "XREAD BLOCK 0 STREAMS wake %s\r\n", reader->nids > 0 ? reader->ids[0] : "0");
	redis_send(reader, read, strlen(read));
	pause_a_little();
	begin = now_us();
	redis_send(writer, add, strlen(add));
	redis_reply(reader, 0, 0);
	end = now_us();
	redis_reply(writer, -10, 0);
	return end - begin;
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
wake(char **arg)
{
	const char *kind = arg[0];
	int			times = atoi(arg[2]);
	double	   *us = malloc(times * sizeof(double));
	bool		with_redis = strcmp(kind, "redis") == 0;
	bool		with_stream = strcmp(kind, "stream") == 0;
	Redis	   *rr = NULL;
	Redis	   *rw = NULL;
	PGconn	   *reader = NULL;
	PGconn	   *writer = NULL;
	char		last[ID_SIZE] = "0-0";

	if (with_redis)
	{
		rr = redis_connect(arg[1]);
		rw = redis_connect(arg[1]);
	}
	else
	{
		reader = pg_connect(arg[1]);
		writer = pg_connect(arg[1]);
		if (with_stream)
		{
			pg_run(writer, "SELECT stream.xdrop('wake'), stream.xcreate('wake')");
			pg_prepare(reader, "read", "SELECT id, fields FROM stream.xread('wake', $1, block => '10 s')");
			pg_prepare(writer, "add", "SELECT stream.xadd('wake', '*', 'data', 'x')");
		}
		else
		{
			pg_run(reader, "LISTEN wake");
			pg_run(writer, "CREATE OR REPLACE FUNCTION pg_temp.add() RETURNS void LANGUAGE plpgsql AS "
				   "'BEGIN INSERT INTO queue(payload) VALUES (''{}''); NOTIFY wake; END'");
			pg_prepare(reader, "read", "SELECT id, payload FROM queue ORDER BY id DESC LIMIT 1");
			pg_prepare(writer, "add", "SELECT pg_temp.add()");
		}
	}
	for (int i = -10; i < times; i++)
	{
		double		t = with_redis ? wake_redis(rr, rw) : with_stream ? wake_stream(reader, writer, last) :
			wake_notify(reader, writer, strcmp(kind, "select") == 0);

		if (i >= 0)
			us[i] = t;
	}
	qsort(us, times, sizeof(double), compare);
	printf("%.0f %.0f\n", us[times / 2], us[times - 1 - times / 100]);
}

int
main(int argc, char **argv)
{
	if (argc == 9 && strcmp(argv[1], "consume") == 0)
		consume(argv + 2);
	else if (argc == 5 && strcmp(argv[1], "wake") == 0)
		wake(argv + 2);
	else
		die(argv[0], "see the head of its source");
	return 0;
}
