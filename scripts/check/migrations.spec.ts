import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(process.cwd(), 'scripts', 'check', 'migrations.mjs');
const root = mkdtempSync(join(tmpdir(), 'check-migrations-'));

const FIRST_HALVES = ['20261122190000_first_half', '20261122200000_not_released', '20261122190000_unknown'];

const REFUSED = [
  ['CREATE INDEX "a" ON "tasks"("x");', 'CONCURRENTLY, in a migration of its own'],
  ['-- why\nCREATE UNIQUE INDEX "a"\n  ON "tasks"("x");', 'CONCURRENTLY'],
  ['CREATE INDEX CONCURRENTLY "a" ON "tasks"("x"); SELECT 1;', 'a migration of its own'],
  ['ALTER TABLE "tasks" ADD COLUMN "x" TEXT NOT NULL;', 'a column that may be null'],
  ['ALTER TABLE "tasks" ADD COLUMN "x" UUID DEFAULT gen_random_uuid();', 'a constant default'],
  ['ALTER TABLE "tasks" ALTER COLUMN "x" TYPE BIGINT;', 'a new column'],
  ['ALTER TABLE "tasks" ALTER COLUMN "x" SET NOT NULL;', 'NOT VALID'],
  ['ALTER TABLE "tasks" ADD CONSTRAINT "c" CHECK ("x" > 0);', 'VALIDATE CONSTRAINT'],
  ['UPDATE "tasks" SET "x" = 1;', 'batches'],
  ['LOCK TABLE "tasks";', 'nothing that takes'],
  // Names in all their forms.
  ['ALTER TABLE tasks ALTER COLUMN x TYPE BIGINT;', 'a new column'],
  ['alter table only tasks alter x set not null;', 'NOT VALID'],
  ['UPDATE "public"."tasks" SET "x" = 1;', 'batches'],
  ['CREATE TABLE other.tasks (id TEXT); UPDATE tasks SET x = 1;', 'batches'],
  ['CREATE TABLE IF NOT EXISTS tasks (id TEXT); UPDATE tasks SET x = 1;', 'batches'],
  ['-- äöü\nSELECT 1; UPDATE tasks SET x = 1;', 'change: UPDATE tasks SET x = 1\n  Write batches'],
  // Each action of an ALTER TABLE.
  ['ALTER TABLE tasks ADD COLUMN b INT NOT NULL, ADD COLUMN a INT DEFAULT 0;', 'a column that may be null'],
  [
    'ALTER TABLE tasks ADD COLUMN a INT DEFAULT 0, ADD COLUMN b TIMESTAMPTZ DEFAULT now() + random();',
    'a constant def',
  ],
  ['ALTER TABLE tasks ADD CONSTRAINT c CHECK (x > 0) NOT VALID, ADD CHECK (y > 0);', 'VALIDATE CONSTRAINT'],
  ['ALTER TABLE tasks ADD FOREIGN KEY (x) REFERENCES accounts (id);', 'VALIDATE CONSTRAINT'],
  ['ALTER TABLE tasks ADD PRIMARY KEY (x);', 'USING INDEX'],
  ['ALTER TABLE tasks ADD UNIQUE (x);', 'USING INDEX'],
  ['ALTER TABLE tasks ADD COLUMN x TEXT REFERENCES accounts (id);', 'the column alone'],
  ['ALTER TABLE tasks ADD COLUMN x INT CHECK (x > 0);', 'the column alone'],
  ['ALTER TABLE tasks ADD COLUMN x INT UNIQUE;', 'the column alone'],
  ['ALTER TABLE tasks ADD COLUMN x INT GENERATED ALWAYS AS (y + 1) STORED;', 'a constant default'],
  ['ALTER TABLE tasks ADD COLUMN x INT GENERATED ALWAYS AS IDENTITY;', 'a constant default'],
  ['ALTER TABLE tasks ADD COLUMN x BIGSERIAL;', 'a constant default'],
  ['ALTER TABLE tasks ADD CONSTRAINT c CHECK (x > 0) NOT VALID, VALIDATE CONSTRAINT c;', 'what the others lock'],
  // Statements.
  ['CREATE UNIQUE INDEX ON tasks (x);', 'CONCURRENTLY, in a migration of its own'],
  ['TRUNCATE tasks;', 'batches'],
  ['CREATE TABLE t (id TEXT); TRUNCATE t, tasks;', 'batches'],
  ['DELETE FROM ONLY tasks;', 'batches'],
  ['MERGE INTO tasks USING x ON x.id = tasks.id WHEN MATCHED THEN DELETE;', 'batches'],
  ['INSERT INTO tasks SELECT * FROM tasks ON CONFLICT (id) DO UPDATE SET x = 1;', 'batches'],
  ['WITH gone AS (DELETE FROM tasks RETURNING id) SELECT count(*) FROM gone;', 'batches'],
  ['SELECT 1 FROM tasks FOR UPDATE;', 'batches'],
  ['VACUUM tasks;', 'nothing that takes'],
  ['CLUSTER tasks;', 'nothing that takes'],
  ['REINDEX TABLE tasks;', 'nothing that takes'],
  ['REFRESH MATERIALIZED VIEW x;', 'nothing that takes'],
  ['DROP INDEX CONCURRENTLY "a";', 'without CONCURRENTLY'],
  // DO blocks.
  [
    'DO $$ BEGIN IF true THEN UPDATE tasks SET x = 1; END IF; END $$;',
    'change: UPDATE tasks SET x = 1\n  Write batches',
  ],
  ["DO $do$ BEGIN FOR i IN 1..2 LOOP EXECUTE 'UPDATE tasks SET x = 1'; END LOOP; END $do$;", 'EXECUTE'],
  ["DO 'DECLARE r RECORD; BEGIN FOR r IN EXECUTE ''SELECT 1'' LOOP END LOOP; END';", 'EXECUTE'],
  // What nobody has thought of.
  ['ALTER TABLE tasks SET UNLOGGED;', 'or add AT_SetUnLogged to its lists'],
  ["SET lock_timeout = '1h';", 'or add VariableSetStmt to its lists'],
  ['ALTER TABLE tasks ADD COLUMN;', 'what Postgres can read'],
] as const;

const HARMLESS = [
  'CREATE INDEX CONCURRENTLY "a" ON "tasks"("x");\n',
  'CREATE TABLE "t" ("id" TEXT NOT NULL); CREATE INDEX "a" ON "t"("id"); ALTER TABLE "t" ADD CONSTRAINT "c" CHECK (true);',
  'ALTER TABLE "tasks" ADD COLUMN "x" TEXT; ALTER TABLE "tasks" ADD COLUMN "y" BOOLEAN NOT NULL DEFAULT false;',
  'ALTER TABLE "tasks" ADD CONSTRAINT "c" CHECK ("x" > 0) NOT VALID;',
  'CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ UPDATE "tasks" SET "x" = 1; $$;',
  'CREATE FUNCTION f() RETURNS void LANGUAGE sql BEGIN ATOMIC UPDATE tasks SET x = 1; END;',
  'CREATE TABLE public.t (id TEXT); ALTER TABLE ONLY "t" ADD PRIMARY KEY (id); UPDATE t SET id = 1; TRUNCATE "public".t;',
  "ALTER TABLE tasks ADD COLUMN x INT DEFAULT 0, ADD y JSONB NOT NULL DEFAULT '{}'::jsonb;",
  'ALTER TABLE tasks ADD COLUMN x TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP, ALTER y SET DEFAULT 1;',
  'ALTER TABLE tasks ADD CONSTRAINT c UNIQUE USING INDEX c;',
  'ALTER TABLE tasks DROP CONSTRAINT c; ALTER TABLE tasks ADD CONSTRAINT c CHECK (x > 1) NOT VALID;',
  'ALTER TABLE tasks VALIDATE CONSTRAINT c; ALTER TABLE accounts VALIDATE CONSTRAINT d;',
  'INSERT INTO t SELECT id FROM tasks ON CONFLICT DO NOTHING; ANALYZE t;',
  'DO $$ BEGIN PERFORM 1; END $$;',
];

const BREAKING = [
  'ALTER TABLE "tasks" DROP COLUMN "x";',
  'ALTER TABLE "tasks" RENAME COLUMN "x" TO "y";',
  'ALTER TABLE "tasks" RENAME TO "jobs";',
  'ALTER TABLE "tasks" ALTER COLUMN "x" DROP DEFAULT;',
  'DROP TABLE "tasks";',
  'DROP FUNCTION "tasks_settle"();',
  'CREATE UNIQUE INDEX CONCURRENTLY "a" ON "tasks"("x");',
  'ALTER TABLE ONLY tasks ADD COLUMN y INT, DROP x;',
  'ALTER TABLE tasks ALTER x DROP NOT NULL;',
  'ALTER TABLE tasks DROP CONSTRAINT tasks_pkey;',
  'ALTER TABLE tasks SET SCHEMA other;',
  "ALTER TYPE kind RENAME VALUE 'a' TO 'b';",
  'DROP INDEX tasks_key;',
  'DROP TRIGGER tasks_usage ON tasks;',
  'DO $$ BEGIN ALTER TABLE tasks DROP COLUMN x; END $$;',
];

/** Of what OTHERS create since the release. */
const UNRELEASED = [
  'DROP TABLE "new_table";',
  'DROP TRIGGER new_trigger ON tasks; DROP FUNCTION new_function(); DROP TABLE public.new_table;',
] as const;
const RELEASED = [
  'DROP TABLE "new_table", "old_table";',
  'DROP TABLE other.new_table;',
  'DROP FUNCTION old_function();',
  'DROP TRIGGER new_trigger ON accounts;',
  'ALTER TABLE new_table RENAME TO old;',
] as const;

/** Migrations of a release, and later ones, which are not released. */
const OTHERS = {
  '20261122190000_first_half': `CREATE TABLE old_table (id TEXT);
    CREATE FUNCTION old_function() RETURNS void LANGUAGE sql AS $$ SELECT 1 $$;`,
  '20261122200000_not_released': `CREATE TABLE new_table (id TEXT);
    CREATE FUNCTION new_function() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE OR REPLACE FUNCTION old_function() RETURNS void LANGUAGE sql AS $$ SELECT 2 $$;
    CREATE TRIGGER new_trigger AFTER INSERT ON tasks FOR EACH STATEMENT EXECUTE FUNCTION new_function();`,
};

/** What the check says of each of these migrations, by its text, and of the rest. */
function check(changes: readonly string[], released = '20261122190000_first_half'): Map<string, string> {
  const folder = mkdtempSync(join(root, 'prisma-'));
  const named = changes.map((sql, index) => [`${20_270_101_000_000 + index}_change`, sql] as const);
  for (const [name, sql] of [...named, ...Object.entries(OTHERS)]) {
    mkdirSync(join(folder, 'migrations', name), { recursive: true });
    writeFileSync(join(folder, 'migrations', name, 'migration.sql'), sql);
  }
  mkdirSync(join(folder, 'releases'));
  writeFileSync(join(folder, 'releases', '1.0.0.prisma'), `// whose last migration is ${released}.\n`);
  const { status, stderr } = spawnSync(process.execPath, [script, join(folder, 'migrations')], { encoding: 'utf8' });
  expect(status).toBe(stderr === '' ? 0 : 1);
  const said = stderr.split(/^(?=\d{14}_change: )/m);
  const of = (name: string): string => said.filter((message) => message.startsWith(`${name}: `)).join('');
  const rest = said.filter((message) => !/^\d{14}_change: /.test(message)).join('');
  return new Map([['rest', rest], ...named.map(([name, sql]) => [sql, of(name)] as const)]);
}

describe('scripts/check/migrations.mjs', () => {
  const secondHalf = (sql: string, first: string): string => `-- Second half of ${first}\n${sql}`;
  let said: Map<string, string>;
  beforeAll(() => {
    said = check([
      ...REFUSED.map(([sql]) => sql),
      ...HARMLESS,
      ...[...UNRELEASED, ...RELEASED],
      ...BREAKING.flatMap((sql) => [sql, ...FIRST_HALVES.map((first) => secondHalf(sql, first))]),
    ]);
  });
  afterAll(() => {
    rmSync(root, { recursive: true });
  });

  it.each(REFUSED)('O7: refuses %j', (sql, instead) => {
    expect(said.get(sql)).toContain(instead);
  });

  it.each(HARMLESS)('lets %j pass', (sql) => {
    expect(said.get(sql)).toBe('');
  });

  it.each(BREAKING)(
    'O12: refuses what breaks the version before, unless it is the second half of a released change: %s',
    (sql) => {
      const [released, notReleased, unknown] = FIRST_HALVES.map((first) => said.get(secondHalf(sql, first)));
      expect(said.get(sql)).toContain('what the version before can live with');
      expect(released).toBe('');
      expect(notReleased).toContain('Second half of');
      expect(unknown).toContain('Second half of');
    },
  );

  it.each(UNRELEASED)('lets what no release has be dropped: %s', (sql) => {
    expect(said.get(sql)).toBe('');
  });

  it.each(RELEASED)('O12: refuses what breaks the version before beside what is new: %s', (sql) => {
    expect(said.get(sql)).toContain('what the version before can live with');
  });

  it('O12: refuses a release whose last migration is not there', () => {
    expect(check([], '20271122190000_gone').get('rest')).toContain('must name the last migration');
  });

  it('lets what is released, and what builds on it, pass', () => {
    expect(check([]).get('rest')).toBe('');
  });
});
