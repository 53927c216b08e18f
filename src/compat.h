/*
 * compat.h
 *	  The differences between PostgreSQL 15, 16, 17 and 18 that matter here.
 *
 * One comment a shim, saying what changed and when.  No other file tests
 * PG_VERSION_NUM.
 */
#ifndef STREAM_COMPAT_H
#define STREAM_COMPAT_H

#include "postgres.h"
#include "access/transam.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "utils/wait_event.h"

/* 16 moved the varlena macros out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 18 moved what EXPLAIN writes out of commands/explain.h. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif

/* 18 put pg_noreturn, before the declaration, in the place of pg_attribute_noreturn(). */
#if PG_VERSION_NUM < 180000
#define pg_noreturn		__attribute__((noreturn))
#endif

/* 17 no longer knows the error that old_snapshot_threshold raised. */
#if PG_VERSION_NUM >= 170000
#define ERRCODE_SNAPSHOT_TOO_OLD	MAKE_SQLSTATE('7', '2', '0', '0', '0')
#endif

/* 18 asks whether a deferrable primary key will do. */
#if PG_VERSION_NUM >= 180000
#define PrimaryKeyIndex(rel)	RelationGetPrimaryKeyIndex(rel, false)
#else
#define PrimaryKeyIndex(rel)	RelationGetPrimaryKeyIndex(rel)
#endif

/* 16 lets a semantic action of the JSON parser fail softly. */
#if PG_VERSION_NUM >= 160000
typedef JsonParseErrorType JsonActionResult;
#define JSON_ACTION_DONE	return JSON_SUCCESS
#else
typedef void JsonActionResult;
#define JSON_ACTION_DONE	return
#endif

/* 17 added the place where to put the lexer. */
#if PG_VERSION_NUM >= 170000
#define JsonLexer(json, len) \
	makeJsonLexContextCstringLen(NULL, (json), (len), GetDatabaseEncoding(), true)
#else
#define JsonLexer(json, len) \
	makeJsonLexContextCstringLen((char *) (json), (int) (len), GetDatabaseEncoding(), true)
#endif

/* 16 renamed pgprocno's uses; 17 made it the macro GetNumberFromPGProc. */
#if PG_VERSION_NUM >= 170000
#define MyProcNo()		MyProcNumber
#else
#define MyProcNo()		(MyProc->pgprocno)
#endif

/* 17 moved the shared transaction counters behind TransamVariables. */
#if PG_VERSION_NUM >= 170000
#define SharedNextXid()	(TransamVariables->nextXid)
#else
#define SharedNextXid()	(ShmemVariableCache->nextXid)
#endif

/* 17 lets extensions name their wait events; before, all are "Extension". */
#if PG_VERSION_NUM >= 170000
#define NamedWaitEvent(name)	WaitEventExtensionNew(name)
#else
#define NamedWaitEvent(name)	((uint32) PG_WAIT_EXTENSION)
#endif

/* 16 replaced the per-kind aclcheck functions by object_aclcheck. */
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#define NamespaceAclCheck(nsp, role, mode)	object_aclcheck(NamespaceRelationId, nsp, role, mode)
#define ProcedureAclCheck(proc, role, mode)	object_aclcheck(ProcedureRelationId, proc, role, mode)
#else
#define NamespaceAclCheck(nsp, role, mode)	pg_namespace_aclcheck(nsp, role, mode)
#define ProcedureAclCheck(proc, role, mode)	pg_proc_aclcheck(proc, role, mode)
#endif

/* 16 split the membership that lets one give objects away from the one that inherits. */
#if PG_VERSION_NUM >= 160000
#define CheckCanSetRole(member, role)	check_can_set_role(member, role)
#else
#define CheckCanSetRole(member, role)	check_is_member_of_role(member, role)
#endif

/* 17 lets LockHeldByMe count stronger locks too. */
#if PG_VERSION_NUM >= 170000
#define HeldByMe(tag, mode)	LockHeldByMe(tag, mode, false)
#else
#define HeldByMe(tag, mode)	LockHeldByMe(tag, mode)
#endif

#endif							/* STREAM_COMPAT_H */
