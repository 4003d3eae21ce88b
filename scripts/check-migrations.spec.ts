import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(process.cwd(), 'scripts', 'check-migrations.mjs');
const root = mkdtempSync(join(tmpdir(), 'check-migrations-'));

afterAll(() => {
  rmSync(root, { recursive: true });
});

/** What the check says of one migration. */
function check(sql: string, name = '20270101000000_change'): string {
  const folder = mkdtempSync(join(root, 'migrations-'));
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'migration.sql'), sql);
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

it('leaves those alone that were applied before there was a rule', () => {
  expect(check('UPDATE "tasks" SET "x" = 1;', '20261122170000_old')).toBe('');
});
