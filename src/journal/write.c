/*
 * write.c
 *	  Writing a transaction into the journal.
 *
 * A payload that fits one row is written as one row, with its number.  A
 * larger one is cut into pieces, written as they fill, before the transaction
 * has a number: others wait for a numbered transaction, and should not wait
 * for a long write.  The numbered row says how many pieces belong to it and
 * carries the checksum of the whole.
 *
 *	num		piece_set	piece			crc			bytes
 *	NULL	s			0, 1, 2 ...		NULL		a piece of set s
 *	n		s or 0		pieces before	of all		the rest
 *
 * Rows are never longer than a page allows and never compressed or moved out
 * of line (the column's storage is plain).
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/hio.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"

#include "journal/journal.h"
#include "journal/rows.h"

static void
write_row(JournalWriter *w, bool numbered, uint64 number)
{
	Datum		values[Natts_journal];
	bool		nulls[Natts_journal] = {false};
	HeapTuple	tuple;

	SET_VARSIZE(&w->piece, VARHDRSZ + w->used);

	values[Anum_journal_num - 1] = Int64GetDatum((int64) number);
	nulls[Anum_journal_num - 1] = !numbered;
	values[Anum_journal_piece_set - 1] = Int64GetDatum(w->piece_set);
	values[Anum_journal_piece - 1] = Int32GetDatum(w->npieces);
	values[Anum_journal_crc - 1] = Int32GetDatum((int32) w->crc);
	nulls[Anum_journal_crc - 1] = !numbered;
	values[Anum_journal_bytes - 1] = PointerGetDatum(&w->piece);

	tuple = heap_form_tuple(RelationGetDescr(w->rel), values, nulls);
	heap_insert(w->rel, tuple, GetCurrentCommandId(true), 0, w->bulk);
	heap_freetuple(tuple);
}

static void
put(PayloadSink *sink, const void *data, Size len)
{
	JournalWriter *w = (JournalWriter *) sink;

	COMP_CRC32C(w->crc, data, len);
	while (len > 0)
	{
		Size		n = Min(len, JOURNAL_PIECE - w->used);

		if (n == 0)
		{
			if (w->piece_set == 0)
			{
				w->piece_set = (int64) pg_atomic_fetch_add_u64(&w->db->next_piece_set, 1);
				w->bulk = GetBulkInsertState();
			}
			write_row(w, false, 0);
			w->npieces++;
			w->used = 0;
			continue;
		}
		memcpy(w->piece.data + w->used, data, n);
		w->used += n;
		data = (const char *) data + n;
		len -= n;
	}
}

void
journal_begin(JournalWriter *w, Db *db)
{
	w->sink.put = put;
	w->db = db;
	w->rel = strm_table_open(strm_journal_oid(), RowExclusiveLock);
	w->bulk = NULL;
	w->piece_set = 0;
	w->npieces = 0;
	w->used = 0;
	INIT_CRC32C(w->crc);
}

void
journal_finish(JournalWriter *w, uint64 number)
{
	FIN_CRC32C(w->crc);
	write_row(w, true, number);
	if (w->bulk != NULL)
		FreeBulkInsertState(w->bulk);
	table_close(w->rel, NoLock);
}
