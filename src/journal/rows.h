/*
 * rows.h
 *	  Columns of the journal tables.
 */
#ifndef STREAM_JOURNAL_ROWS_H
#define STREAM_JOURNAL_ROWS_H

enum
{
	Anum_journal_num = 1,
	Anum_journal_piece_set,
	Anum_journal_piece,
	Anum_journal_crc,
	Anum_journal_bytes,
	Natts_journal = Anum_journal_bytes
};

/* columns of stream.catalog */
enum
{
	Anum_catalog_id = 1,
	Anum_catalog_name,
	Anum_catalog_owner,
	Anum_catalog_node_max_bytes,
	Anum_catalog_node_max_entries,
	Natts_catalog = Anum_catalog_node_max_entries
};

/* columns of stream.privilege */
enum
{
	Anum_privilege_stream_id = 1,
	Anum_privilege_grantee,
	Anum_privilege_privileges,
	Natts_privilege = Anum_privilege_privileges
};

/* columns of stream.default_privilege */
enum
{
	Anum_default_privilege_owner = 1,
	Anum_default_privilege_grantee,
	Anum_default_privilege_privileges,
	Natts_default_privilege = Anum_default_privilege_privileges
};

#endif							/* STREAM_JOURNAL_ROWS_H */
