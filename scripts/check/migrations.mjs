// Rejects migrations that lock a possibly large table for long, or that break the previous version, which keeps running
// while instances are replaced. Prints the file of each such statement and what to write instead. Postgres' own parser
// reads the statements; those missing from the lists below are rejected, too. A breaking change may follow once no
// running version needs the old schema; the migration's first line is then
// `-- Second half of <migration of a released version>`. Tables, functions and triggers of no release may be dropped.
// usage: node scripts/check/migrations.mjs [folder, with ../releases]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireTool } from '../build/prepare.mjs';

const { loadModule, parsePlPgSQLSync, parseSync } = requireTool('libpg-query');

const folder = process.argv[2] ?? join('prisma', 'migrations');

/** PL/pgSQL's parse mode for full statements, as opposed to expressions, types and assignments. */
const WHOLE_STATEMENT = 0;

const BATCHES = 'batches by the worker: one statement holds every row that it changes';
const REWRITTEN = 'a new column, or a CHECK that is NOT VALID and validated in a later migration';
const WHOLE = 'nothing that takes a whole table';

/** Statements and ALTER TABLE actions that lock a table or many of its rows, with what to write instead. */
const LOCKING = {
  AT_AddColumn: ({ def }) => addedColumn(def.ColumnDef),
  AT_AddConstraint: ({ def: { Constraint: added } }) =>
    !added.skip_validation &&
    !added.indexname &&
    'NOT VALID, and VALIDATE CONSTRAINT in a later migration; a key USING INDEX, of one that was created CONCURRENTLY',
  AT_AlterColumnType: () => REWRITTEN,
  AT_SetNotNull: () => REWRITTEN,
  ClusterStmt: () => WHOLE,
  DeleteStmt: () => BATCHES,
  // Dropping is as fast as any other ALTER TABLE, and the migrator runs nothing else outside of transactions.
  DropStmt: ({ concurrent }) => concurrent && 'DROP INDEX without CONCURRENTLY: migrations are transactions',
  IndexStmt: ({ concurrent }) => !concurrent && 'CREATE INDEX CONCURRENTLY, in a migration of its own',
  InsertStmt: ({ onConflictClause }) => onConflictClause?.action === 'ONCONFLICT_UPDATE' && BATCHES,
  LockStmt: () => WHOLE,
  MergeStmt: () => BATCHES,
  PLpgSQL_stmt_dynexecute: () => 'the statement itself: what EXECUTE runs can’t be checked',
  PLpgSQL_stmt_dynfors: () => 'the statement itself: what EXECUTE runs can’t be checked',
  RefreshMatViewStmt: () => WHOLE,
  ReindexStmt: () => WHOLE,
  SelectStmt: ({ lockingClause }) => lockingClause && BATCHES,
  TruncateStmt: () => BATCHES,
  UpdateStmt: () => BATCHES,
  VacuumStmt: ({ is_vacuumcmd }) => is_vacuumcmd && WHOLE,
};

/** The previous version uses the columns, defaults and ON CONFLICT keys that it knows. */
const BREAKING = {
  AT_ColumnDefault: ({ def }) => def === undefined,
  AT_DropColumn: () => true,
  AT_DropConstraint: ({ name }, added) => !added.has(name),
  AT_DropNotNull: () => true,
  AlterEnumStmt: ({ oldVal }) => oldVal !== undefined,
  AlterObjectSchemaStmt: () => true,
  DropStmt: (node, _added, unreleased) => !droppedBy(node).every((name) => unreleased.has(name)),
  IndexStmt: ({ unique }) => unique,
  RenameStmt: () => true,
};
const LATER =
  'what the version before can live with, and the rest in the release after: a migration that begins with -- Second half of <name>';

/** Fast, however large the table is. */
const HARMLESS = new Set([
  ...['AT_ResetRelOptions', 'AT_SetRelOptions', 'AT_SetStatistics', 'AT_ValidateConstraint'],
  ...['CommentStmt', 'CreateEnumStmt', 'CreateFunctionStmt', 'CreateStmt', 'CreateTrigStmt', 'ViewStmt'],
]);

/** What to write instead of an added column, if it locks the table. */
function addedColumn({ typeName, constraints = [] }) {
  const kinds = new Set(constraints.map(({ Constraint }) => Constraint.contype.replace('CONSTR_', '')));
  if ([...kinds].some((kind) => !['NULL', 'NOTNULL', 'DEFAULT', 'GENERATED', 'IDENTITY'].includes(kind)))
    return 'the column alone, then its constraint NOT VALID, and VALIDATE CONSTRAINT in a later migration';
  const isSerial = /^(?:small|big)?serial\d?$/.test(typeName.names.at(-1).String.sval);
  const calls = [...nodesOf(constraints)].some(([kind]) => kind === 'FuncCall');
  if (isSerial || calls || kinds.has('GENERATED') || kinds.has('IDENTITY'))
    return 'a constant default: a volatile one, or a generated column, rewrites the table';
  return kinds.has('NOTNULL') && !kinds.has('DEFAULT') && 'a column that may be null, or one with a constant default';
}

/** All nodes of a tree with their kinds, outermost first; without function bodies, which run later. */
function* nodesOf(tree) {
  for (const [kind, node] of Object.entries(tree)) {
    if (node === null || typeof node !== 'object') continue;
    if (/^[A-Z]/.test(kind)) yield [kind, node];
    if (kind !== 'CreateFunctionStmt') yield* nodesOf(node);
  }
}

/** The statements of a text and of its DO blocks, with their nodes. Throws for a syntax error. */
function statementsOf(sql) {
  const bytes = Buffer.from(sql);
  return parseSync(sql).stmts.flatMap(({ stmt, stmt_location: start = 0, stmt_len: length }) => {
    const text = bytes.toString('utf8', start, length && start + length);
    if (stmt.DoStmt === undefined) return [{ text, nodes: [...nodesOf(stmt)] }];
    const nodes = [...nodesOf(parsePlPgSQLSync(text))];
    const inner = nodes.filter(([, { parseMode }]) => parseMode === WHOLE_STATEMENT);
    const dynamic = nodes.filter(([kind]) => kind.startsWith('PLpgSQL_stmt_dyn'));
    return [{ text, nodes: dynamic }, ...inner.flatMap(([, { query }]) => statementsOf(query))];
  });
}

/** The actions of a statement with their tables: each action of an ALTER TABLE, and each statement of a WITH. */
function actionsOf({ text, nodes }) {
  return nodes.flatMap(([kind, node]) => {
    const tables = [node.relation, ...(node.relations ?? []).map(({ RangeVar }) => RangeVar)];
    const named = { text, tables: tables.filter((table) => table !== undefined).map(nameOf) };
    if (kind === 'AlterTableStmt')
      return node.cmds.map(({ AlterTableCmd: action }) => ({ ...named, kind: action.subtype, node: action }));
    return /Stmt$|^PLpgSQL/.test(kind) ? [{ ...named, kind, node }] : [];
  });
}

function nameOf({ schemaname = 'public', relname }) {
  return `${schemaname}.${relname}`;
}

/** Tables, functions and triggers that a statement creates, each as kind and name. */
function createdBy({ kind, node }) {
  if (kind === 'CreateStmt' && !node.if_not_exists) return [`TABLE ${nameOf(node.relation)}`];
  if (kind === 'CreateFunctionStmt') return [`FUNCTION ${pathOf(node.funcname, 1)}`];
  return kind === 'CreateTrigStmt' ? [`TRIGGER ${nameOf(node.relation)}.${node.trigname}`] : [];
}

function droppedBy({ objects, removeType }) {
  const kind = removeType.replace('OBJECT_', '');
  return objects.map(
    ({ List, ObjectWithArgs }) =>
      `${kind} ${pathOf(List?.items ?? ObjectWithArgs.objname, kind === 'TRIGGER' ? 2 : 1)}`,
  );
}

/** A name with its schema before it; the name itself has so many parts. */
function pathOf(strings, parts) {
  const names = strings.map(({ String: { sval } }) => sval);
  return [...(names.length > parts ? [] : ['public']), ...names].join('.');
}

/** What migrations since the last release create, so that no previous version uses it. */
function unreleasedOf(files, last) {
  const names = (some) => new Set(some.flatMap(({ actions }) => actions.flatMap(createdBy)));
  const released = names(files.filter(({ name }) => name <= last));
  return new Set([...names(files.filter(({ name }) => name > last))].filter((name) => !released.has(name)));
}

/**
 * The statements of a file that lock a table or, unless `mayBreak`, break the previous version, with what to write
 * instead.
 */
function problemsOf(actions, mayBreak, unreleased) {
  const isNew = ({ kind, node }) => kind === 'CreateStmt' && !node.if_not_exists;
  const created = new Set(actions.filter(isNew).flatMap(({ tables }) => tables));
  const added = new Set(actions.map(({ node }) => node.def?.Constraint?.conname));
  // Statements on tables created in the same file are safe.
  const others = actions.filter(({ tables }) => tables.length === 0 || !tables.every((table) => created.has(table)));
  const problems = others.flatMap(({ text, kind, node }) => {
    const isKnown = [LOCKING, BREAKING].some((list) => kind in list) || HARMLESS.has(kind);
    return [
      LOCKING[kind]?.(node),
      !mayBreak && BREAKING[kind]?.(node, added, unreleased) && LATER,
      !isKnown && `what scripts/check/migrations.mjs knows, or add ${kind} to its lists`,
    ].flatMap((instead) => (instead ? [{ text, instead }] : []));
  });
  return [...problems, ...notAlone(actions)];
}

/** Statements that need a migration of their own. */
function notAlone(actions) {
  const concurrent = actions.find(({ node }) => node.concurrent);
  if (concurrent !== undefined && actions.length > 1)
    return [{ ...concurrent, instead: 'a migration of its own: it cannot be part of a transaction' }];
  const isValidation = ({ kind }) => kind === 'AT_ValidateConstraint';
  const validation = actions.find(isValidation);
  if (validation === undefined || actions.every(isValidation)) return [];
  return [
    { ...validation, instead: 'a migration of its own: what the others lock stays locked while it reads the table' },
  ];
}

/** The last migration of each release, from the first line of its schema. */
function releasedMigrations() {
  const releases = join(folder, '..', 'releases');
  if (!existsSync(releases)) return [];
  return readdirSync(releases).map((file) => {
    const last = /last migration is (\w+)\./.exec(readFileSync(join(releases, file), 'utf8'))?.[1];
    if (last !== undefined && existsSync(join(folder, last, 'migration.sql'))) return last;
    console.error(`${join(releases, file)}: its first line must name the last migration of the release.`);
    process.exitCode = 1;
    return '';
  });
}

/** Once its first half was released, the previous version no longer needs the old schema. */
function isSecondHalf(sql, released) {
  const first = /^-- Second half of (\w+)/.exec(sql)?.[1];
  return first !== undefined && existsSync(join(folder, first)) && released.some((last) => first <= last);
}

/** A migration with its actions, or with the syntax error that Postgres finds. */
function read(name) {
  const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
  try {
    return { name, sql, actions: statementsOf(sql).flatMap(actionsOf) };
  } catch (error) {
    return { name, sql, actions: [], error };
  }
}

await loadModule();
const released = releasedMigrations();
const entries = readdirSync(folder, { withFileTypes: true });
const migrations = entries.filter((entry) => entry.isDirectory()).map(({ name }) => read(name));
const unreleased = unreleasedOf(migrations, released.sort().at(-1) ?? '');
for (const { name, sql, actions, error } of migrations) {
  if (error !== undefined) report(name, error.message, 'what Postgres can read');
  const problems = problemsOf(actions, isSecondHalf(sql, released), unreleased);
  for (const { text, instead } of problems) report(name, text, instead);
}

function report(name, text, instead) {
  const line = text.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim();
  console.error(`${name}: ${line.slice(0, 120)}\n  Write ${instead}.`);
  process.exitCode = 1;
}
