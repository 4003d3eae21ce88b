// Refuses migrations that keep others from a table that may be large, or that break the version before, which goes on while
// instances are replaced: prints each statement as file and what to write instead. What breaks the version before may follow
// once no version needs it: then the first line of the migration is `-- Second half of <migration of a released version>`.
// usage: node scripts/check-migrations.mjs [folder, with ../releases]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

/** Code of the version before reads and writes what it knows; on tables that the same file creates it can't. */
const BREAKING = [
  /^DROP (?:TABLE|VIEW|FUNCTION|TYPE)\b/,
  /^ALTER TABLE "(?<table>\w+)" .*\bDROP COLUMN\b/,
  /^ALTER TABLE "(?<table>\w+)" .*\bRENAME\b/,
  /^ALTER (?:TYPE|FUNCTION|VIEW|INDEX) .*\bRENAME\b/,
  /^ALTER TABLE "(?<table>\w+)" .*ALTER COLUMN .*\bDROP DEFAULT\b/,
  /^CREATE UNIQUE INDEX .*? ON "(?<table>\w+)"/,
];
const LATER =
  'what the version before can live with, and the rest in the release after: a migration that begins with -- Second half of <name>';

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

/** What in a file code of the version before would stumble over. */
function breakingStatements(sql) {
  const statements = statementsOf(sql);
  const created = statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []);
  return statements
    .filter((statement) =>
      BREAKING.some((pattern) => {
        const found = pattern.exec(statement);
        return found !== null && !created.includes(found.groups?.table);
      }),
    )
    .map((statement) => ({ statement, instead: LATER }));
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

/** A first half that was released is no longer needed by the version before; one that wasn't may be. */
function isSecondHalf(sql, released) {
  const first = /^-- Second half of (\w+)/.exec(sql)?.[1];
  return first !== undefined && existsSync(join(folder, first)) && released.some((last) => first <= last);
}

const released = releasedMigrations();
for (const entry of readdirSync(folder, { withFileTypes: true })) {
  if (!entry.isDirectory() || entry.name < SINCE) continue;
  const sql = readFileSync(join(folder, entry.name, 'migration.sql'), 'utf8');
  const breaking = isSecondHalf(sql, released) ? [] : breakingStatements(sql);
  for (const { statement, instead } of [...lockingStatements(sql), ...breaking]) {
    console.error(`${entry.name}: ${statement.slice(0, 120)}\n  Write ${instead}.`);
    process.exitCode = 1;
  }
}
