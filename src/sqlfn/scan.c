/*
 * scan.c
 *	  xrange and xrevrange in FROM, read as the query asks for rows.
 *
 * The server writes all rows of a function in FROM to a tuple store, on disk
 * when they are many, before it looks at the first.  Here the planner is given
 * a scan of our own for them: rows come straight out of the reader, fields
 * that nobody asked for are not put together, and a LIMIT ends the reading.
 * In the manner of other scans: the planner's path, the plan, its state.
 *
 * What the transaction itself has done to the stream may change while a query
 * or cursor is being read, so if there is anything when the scan begins the
 * function is called as ever and its tuple store is read.  What it does later
 * is not seen, just as if all had been read at the beginning.
 *
 * Left to the server's own scan: WITH ORDINALITY, ROWS FROM with several
 * functions, references to the whole row (locking clauses and UPDATE ... FROM
 * need it too), and volatile arguments, which must not be evaluated again
 * when the scan begins anew.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "sqlfn/sqlfn.h"

#define SCAN_ID			1		/* columns */
#define SCAN_FIELDS		2

typedef struct RangeScan
{
	CustomScanState css;
	FuncExpr   *call;
	Bitmapset  *params;			/* that its arguments depend on */
	bool		wants_fields;
	List	   *args;			/* of ExprState */
	FmgrInfo	function;
	TupleTableSlot *stored_slot;	/* of rows in the tuple store */

	enum
	{
		SCAN_NEW,				/* arguments not evaluated yet */
		SCAN_READ,				/* from the reader */
		SCAN_STORED				/* from the tuple store */
	}			how;
	MemoryContext context;		/* of all below; emptied when it begins with other arguments */
	RangeArgs	range;
	bool		found;			/* there is such a stream */
	Target		target;
	Reader	   *reader;			/* NULL: to be opened, or at its end */
	bool		ended;
	int64		left;			/* rows until count */
	StreamId	id;
	FieldsBuf	fields;
	Tuplestorestate *stored;
} RangeScan;

/* --- planning --- */

static set_rel_pathlist_hook_type next_hook;

static bool
is_range_function(Oid funcid)
{
	FmgrInfo	f;

	/* nearly all other functions are told by these */
	if (funcid < FirstUnpinnedObjectId || !OidIsValid(get_func_support(funcid)))
		return false;
	fmgr_info(funcid, &f);
	return f.fn_addr == stream_xrange || f.fn_addr == stream_xrevrange;
}

/* The columns of rel that a query uses, as pull_varattnos gives them. */
static Bitmapset *
used_columns(const RelOptInfo *rel)
{
	Bitmapset  *used = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &used);
	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rel->relid, &used);
	return used;
}

static bool
uses(const Bitmapset *used, int column)
{
	return bms_is_member(column - FirstLowInvalidHeapAttributeNumber, used);
}

static Node *create_state(CustomScan *plan);
static const CustomScanMethods plan_methods = {"stream range", create_state};

static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *plan = makeNode(CustomScan);
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	RangeTblFunction *f = linitial(rte->functions);
	Oid			types[2];

	types[0] = list_nth_oid(path->custom_private, 0);
	types[1] = list_nth_oid(path->custom_private, 1);
	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = extract_actual_clauses(clauses, false);
	plan->flags = path->flags;
	plan->custom_exprs = list_make1(f->funcexpr);
	plan->custom_private = list_make1(makeBoolean(uses(used_columns(rel), SCAN_FIELDS)));
	for (int i = 0; i < 2; i++)
		plan->custom_scan_tlist = lappend(plan->custom_scan_tlist,
										  makeTargetEntry((Expr *) makeVar(rel->relid, i + 1, types[i], -1, InvalidOid, 0),
														  i + 1, NULL, false));
	plan->methods = &plan_methods;
	return &plan->scan.plan;
}

static const CustomPathMethods path_methods = {"stream range", make_plan, NULL};

static void
add_range_path(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	RangeTblFunction *f;
	FuncExpr   *call;
	Path	   *plain = NULL;
	CustomPath *path;
	TupleDesc	desc;
	ListCell   *lc;

	if (next_hook != NULL)
		next_hook(root, rel, rti, rte);
	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1)
		return;
	f = linitial(rte->functions);
	call = (FuncExpr *) f->funcexpr;
	if (!IsA(call, FuncExpr) || !is_range_function(call->funcid) ||
		contain_volatile_functions((Node *) call->args) || uses(used_columns(rel), 0))
		return;
	foreach(lc, rel->pathlist)
		if (((Path *) lfirst(lc))->pathtype == T_FunctionScan)
			plain = lfirst(lc);
	if (plain == NULL || get_expr_result_type((Node *) call, NULL, &desc) != TYPEFUNC_COMPOSITE ||
		desc->natts != 2)
		return;

	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = plain->param_info;
	path->path.rows = plain->rows;
	path->path.startup_cost = plain->startup_cost;
	/* the same work less the way through the tuple store */
	path->path.total_cost = plain->startup_cost + (plain->total_cost - plain->startup_cost) * 0.75;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make2_oid(TupleDescAttr(desc, 0)->atttypid,
										  TupleDescAttr(desc, 1)->atttypid);
	path->methods = &path_methods;
	add_path(rel, &path->path);
}

/* --- running --- */

static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	RangeScan  *s = (RangeScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	s->call = linitial_node(FuncExpr, plan->custom_exprs);
	s->params = pull_paramids((Expr *) s->call);
	s->wants_fields = boolVal(linitial(plan->custom_private));
	if (ProcedureAclCheck(s->call->funcid, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(s->call->funcid));
	fmgr_info(s->call->funcid, &s->function);
	fmgr_info_set_expr((Node *) s->call, &s->function);
	s->args = ExecInitExprList(s->call->args, &node->ss.ps);
	s->context = AllocSetContextCreate(estate->es_query_cxt, "stream range", ALLOCSET_DEFAULT_SIZES);
	/* the server puts it away after our end, so it must not lie in that context */
	s->stored_slot = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
											&TTSOpsMinimalTuple);
	s->how = SCAN_NEW;
}

static void
evaluate(RangeScan *s, FunctionCallInfo fcinfo)
{
	ExprContext *econtext = s->css.ss.ps.ps_ExprContext;
	ListCell   *lc;
	int			n = 0;

	foreach(lc, s->args)
	{
		fcinfo->args[n].value = ExecEvalExpr(lfirst(lc), econtext, &fcinfo->args[n].isnull);
		n++;
	}
}

/* All rows as the function gives them. */
static void
store(RangeScan *s, FunctionCallInfo fcinfo)
{
	ScanState  *ss = &s->css.ss;
	ReturnSetInfo rsinfo = {.type = T_ReturnSetInfo};
	ExprContext *econtext = CreateExprContext(ss->ps.state);

	rsinfo.econtext = econtext;
	rsinfo.expectedDesc = ss->ss_ScanTupleSlot->tts_tupleDescriptor;
	rsinfo.allowedModes = SFRM_Materialize;
	rsinfo.returnMode = SFRM_Materialize;
	fcinfo->resultinfo = (Node *) &rsinfo;
	(void) FunctionCallInvoke(fcinfo);
	s->stored = rsinfo.setResult;
	FreeExprContext(econtext, true);
}

/* Begin with the arguments as they are now. */
static void
start(RangeScan *s)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);

	InitFunctionCallInfoData(*fcinfo, &s->function, list_length(s->args), s->call->inputcollid, NULL, NULL);
	evaluate(s, fcinfo);
	range_args(fcinfo, &s->range);
	s->found = strm_open_read(s->range.db, s->range.key.name, s->range.key.len, PRIV_SELECT, &s->target);
	s->ended = false;
	s->reader = NULL;
	s->how = SCAN_READ;
	if (s->found && s->target.pend != NULL)
	{
		store(s, fcinfo);
		s->how = SCAN_STORED;
	}
}

/* The next entry's columns into the scan slot; false at the end. */
static bool
read_row(RangeScan *s, TupleTableSlot *slot)
{
	NodeEntry	e;

	if (s->ended)
		return false;
	if (s->reader == NULL)
	{
		s->left = s->found ? s->range.count : 0;
		if (s->left > 0)
			s->reader = reader_open_at(&s->target, s->css.ss.ps.state->es_snapshot,
									   s->range.lo, s->range.hi, s->range.reverse, s->left);
	}
	if (s->left <= 0 || !reader_next(s->reader, &e))
	{
		s->ended = true;
		return false;
	}
	s->left--;
	s->id = e.id;
	slot->tts_values[SCAN_ID - 1] = PointerGetDatum(&s->id);
	slot->tts_isnull[SCAN_ID - 1] = false;
	slot->tts_isnull[SCAN_FIELDS - 1] = !s->wants_fields;
	if (s->wants_fields)
		slot->tts_values[SCAN_FIELDS - 1] = fields_buf_put(&s->fields, &e);
	return true;
}

static bool
stored_row(RangeScan *s, TupleTableSlot *slot)
{
	if (!tuplestore_gettupleslot(s->stored, true, false, s->stored_slot))
		return false;
	slot_getallattrs(s->stored_slot);
	for (int i = 0; i < 2; i++)
	{
		slot->tts_values[i] = s->stored_slot->tts_values[i];
		slot->tts_isnull[i] = s->stored_slot->tts_isnull[i];
	}
	return true;
}

static TupleTableSlot *
next_row(ScanState *ss)
{
	RangeScan  *s = (RangeScan *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	MemoryContext before = MemoryContextSwitchTo(s->context);
	bool		any;

	ExecClearTuple(slot);
	if (s->how == SCAN_NEW)
		start(s);
	any = s->how == SCAN_STORED ? stored_row(s, slot) : read_row(s, slot);
	MemoryContextSwitchTo(before);
	return any ? ExecStoreVirtualTuple(slot) : slot;
}

/* Nothing is checked that could have changed: rows are never locked. */
static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
scan_next(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck);
}

static void
close_reader(RangeScan *s)
{
	if (s->reader != NULL)
		reader_close(s->reader);
	s->reader = NULL;
	s->ended = false;
}

static void
scan_reset(RangeScan *s)
{
	if (s->stored != NULL)
		tuplestore_end(s->stored);
	s->stored = NULL;
	s->reader = NULL;
	s->fields = (FieldsBuf) {0};
	s->how = SCAN_NEW;
	MemoryContextReset(s->context);
}

/* Other parameters: begin with new arguments.  The same: the same rows again,
 * whatever the transaction has done meanwhile. */
static void
scan_again(CustomScanState *node)
{
	RangeScan  *s = (RangeScan *) node;

	/* a parameter of the conditions alone does not change what is read */
	if (bms_overlap(node->ss.ps.chgParam, s->params))
		scan_reset(s);
	else if (s->how == SCAN_STORED)
		tuplestore_rescan(s->stored);
	else
		close_reader(s);
	ExecScanReScan(&node->ss);
}

static void
scan_end(CustomScanState *node)
{
	scan_reset((RangeScan *) node);
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);

	ExplainPropertyText("Function Call",
						deparse_expression((Node *) ((RangeScan *) node)->call, context, es->verbose, false),
						es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "stream range",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_next,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_again,
	.ExplainCustomScan = scan_explain,
};

static Node *
create_state(CustomScan *plan)
{
	RangeScan  *s = (RangeScan *) newNode(sizeof(RangeScan), T_CustomScanState);

	s->css.methods = &exec_methods;
	return (Node *) s;
}

void
strm_scan_init(void)
{
	RegisterCustomScanMethods(&plan_methods);
	next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_range_path;
}
