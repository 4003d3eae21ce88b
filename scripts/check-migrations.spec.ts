import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(process.cwd(), 'scripts', 'check-migrations.mjs');
const root = mkdtempSync(join(tmpdir(), 'check-migrations-'));

afterAll(() => {
  rmSync(root, { recursive: true });
});

/** Beside the migration in question: one that is released, and one that is not. */
const RELEASED = [
  ['20261122190000_first_half', 'SELECT 1;'],
  ['20261122200000_not_released', 'SELECT 1;'],
] as const;

/** What the check says of one migration. */
function check(sql: string, name = '20270101000000_change'): string {
  const folder = mkdtempSync(join(root, 'migrations-'));
  for (const [migration, text] of [[name, sql], ...RELEASED]) {
    mkdirSync(join(folder, migration));
    writeFileSync(join(folder, migration, 'migration.sql'), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
  expect(status).toBe(stderr === '' ? 0 : 1);
  return stderr;
}

it.each([
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
])('O7: refuses %j', (sql, instead) => {
  expect(check(sql)).toContain(instead);
});

it.each([
  'CREATE INDEX CONCURRENTLY "a" ON "tasks"("x");\n',
  'CREATE TABLE "t" ("id" TEXT NOT NULL); CREATE INDEX "a" ON "t"("id"); ALTER TABLE "t" ADD CONSTRAINT "c" CHECK (true);',
  'ALTER TABLE "tasks" ADD COLUMN "x" TEXT; ALTER TABLE "tasks" ADD COLUMN "y" BOOLEAN NOT NULL DEFAULT false;',
  'ALTER TABLE "tasks" ADD CONSTRAINT "c" CHECK ("x" > 0) NOT VALID;',
  'CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ UPDATE "tasks" SET "x" = 1; $$;',
])('lets %j pass', (sql) => {
  expect(check(sql)).toBe('');
});

it.each([
  'ALTER TABLE "tasks" DROP COLUMN "x";',
  'ALTER TABLE "tasks" RENAME COLUMN "x" TO "y";',
  'ALTER TABLE "tasks" RENAME TO "jobs";',
  'ALTER TABLE "tasks" ALTER COLUMN "x" DROP DEFAULT;',
  'DROP TABLE "tasks";',
  'DROP FUNCTION "tasks_settle"();',
  'CREATE UNIQUE INDEX CONCURRENTLY "a" ON "tasks"("x");',
])('O12: refuses what breaks the version before, unless it is the second half of a released change: %s', (sql) => {
  mkdirSync(join(root, 'releases'), { recursive: true });
  writeFileSync(join(root, 'releases', '1.0.0.prisma'), '// whose last migration is 20261122190000_first_half.\n');
  expect(check(sql)).toContain('what the version before can live with');
  expect(check(`-- Second half of 20261122190000_first_half\n${sql}`)).toBe('');
  expect(check(`-- Second half of 20261122200000_not_released\n${sql}`)).toContain('Second half of');
  expect(check(`-- Second half of 20261122190000_unknown\n${sql}`)).toContain('Second half of');
  rmSync(join(root, 'releases'), { recursive: true });
});

it('O12: refuses a release whose last migration is not there', () => {
  mkdirSync(join(root, 'releases'));
  writeFileSync(join(root, 'releases', '2.0.0.prisma'), '// whose last migration is 20271122190000_gone.\n');
  expect(check('SELECT 1;')).toContain('must name the last migration');
  rmSync(join(root, 'releases'), { recursive: true });
});

it('leaves those alone that were applied before there was a rule', () => {
  expect(check('UPDATE "tasks" SET "x" = 1;', '20261122170000_old')).toBe('');
});
