// Refuses migrations that keep others from a table that may be large: prints each statement as file and what to write instead.
// usage: node scripts/check-migrations.mjs [folder]
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Older ones were applied before there was a rule. */
const SINCE = '20261122180000';
const folder = process.argv[2] ?? join('prisma', 'migrations');

/** Statements on a table that their own file creates harm nobody. */
const RULES = [
  {
    pattern: /^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY).*? ON "(?<table>\w+)"/,
    instead: 'CREATE INDEX CONCURRENTLY, in a migration of its own',
  },
  {
    pattern: /^ALTER TABLE "(?<table>\w+)" .*ADD COLUMN (?!.*\bDEFAULT\b).*\bNOT NULL\b/,
    instead: 'a column that may be null, or one with a constant default',
  },
  {
    pattern:
      /^ALTER TABLE "(?<table>\w+)" .*ADD COLUMN .*\bDEFAULT (?:gen_random_uuid|clock_timestamp|random|nextval)\b/,
    instead: 'a constant default: a volatile one rewrites the table',
  },
  {
    pattern: /^ALTER TABLE "(?<table>\w+)" .*ALTER COLUMN .* (?:TYPE|SET NOT NULL)\b/,
    instead: 'a new column, or a CHECK that is NOT VALID and validated in a later migration',
  },
  {
    pattern: /^ALTER TABLE "(?<table>\w+)" .*ADD CONSTRAINT (?!.*\bNOT VALID\b)(?!.*\bUSING INDEX\b)/,
    instead: 'NOT VALID, and VALIDATE CONSTRAINT in a later migration',
  },
  {
    pattern: /^(?:UPDATE|DELETE FROM) "(?<table>\w+)"/,
    instead: 'batches by the worker: one statement holds every row that it changes',
  },
  {
    pattern: /^(?:LOCK|VACUUM FULL|CLUSTER|REINDEX (?!.*CONCURRENTLY))\b/,
    instead: 'nothing that takes a whole table',
  },
];

/** The statements of a file, each on one line, without the bodies of functions. */
function statementsOf(sql) {
  return sql
    .replace(/--.*$/gm, '')
    .replace(/\$\$[^]*?\$\$/g, () => '$$')
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** What in a file would keep others from a table, with what to write instead. */
function lockingStatements(sql) {
  const statements = statementsOf(sql);
  const created = statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []);
  const locking = statements.flatMap((statement) =>
    RULES.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(statement);
      return found === null || created.includes(found.groups?.table) ? [] : [{ statement, instead }];
    }),
  );
  const concurrent = statements.find((statement) => / CONCURRENTLY /.test(statement));
  if (concurrent === undefined || statements.length === 1) return locking;
  return [...locking, { statement: concurrent, instead: 'a migration of its own: it cannot be part of a transaction' }];
}

for (const entry of readdirSync(folder, { withFileTypes: true })) {
  if (!entry.isDirectory() || entry.name < SINCE) continue;
  const sql = readFileSync(join(folder, entry.name, 'migration.sql'), 'utf8');
  for (const { statement, instead } of lockingStatements(sql)) {
    console.error(`${entry.name}: ${statement.slice(0, 120)}\n  Write ${instead}.`);
    process.exitCode = 1;
  }
}
