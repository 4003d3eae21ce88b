import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const script = join(process.cwd(), 'scripts', 'check', 'shape.mjs');
const root = mkdtempSync(join(tmpdir(), 'check-shape-'));

afterAll(() => {
  rmSync(root, { recursive: true });
});

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

it('finds what the house should have less of, and nothing in comments, tests or texts', () => {
  write('libs/a/a.ts', `// pool.query('x')\nconst text = "useFactory: 1";\nawait pool.query('SELECT 1');\n`);
  write('libs/a/a.sql.ts', 'export const b = () => prisma.$queryRaw`SELECT 1`;\n');
  write('libs/a/a.spec.ts', `await pool.query('SELECT 1');\n`);
  write(
    'apps/api/src/a.module.ts',
    `@Module({ providers: [{ provide: A, useFactory: () => new A() }] })\nclass M {}\n`,
  );
  write(
    'apps/api/src/b.ts',
    `class B {
  constructor(@Inject(Logger) logger: Logger, @Inject(STORE) store: Store, a: A, b: B, c: C, d: D, e: E, f: F) {}
  get(@Req() request: Request) {}
}
`,
  );
  const { stdout } = spawnSync(process.execPath, [script, root, '--list'], { encoding: 'utf8' });
  const places = stdout.split('\n').flatMap((line) => /^ {6}(\S.*)$/.exec(line)?.[1] ?? []);
  expect(places).toEqual([
    'libs/a/a.ts:3',
    'libs/a/a.sql.ts:1',
    'apps/api/src/a.module.ts:1',
    'apps/api/src/b.ts:2',
    'apps/api/src/b.ts:2',
    'apps/api/src/b.ts:3',
  ]);
  expect(stdout).toMatch(/^ {3}1 {2}SQL statements outside/m);
});

it('counts the texts of statements where these stand, not what sends them', () => {
  write(
    'libs/c/c.sql.ts',
    `const PART = \`(SELECT 1)\`;
const FIRST = \`
  WITH a AS (SELECT 1) UPDATE b SET c = \${PART}\`;
const SECOND = 'DELETE FROM b';
const send = (pool, text) => pool.query(text);
const reading = (columns) => \`SELECT \${columns} FROM b\`;
export const read = [FIRST, SECOND, reading('c'), reading('d')].map((text) => send(pool, text));
const word = 'Select one', other = 'UPDATED';
`,
  );
  const { stdout } = spawnSync(process.execPath, [script, root, '--list'], { encoding: 'utf8' });
  const places = stdout.split('\n').flatMap((line) => /^ {6}(libs\/c\/.*)$/.exec(line)?.[1] ?? []);
  expect(places).toEqual(['libs/c/c.sql.ts:2', 'libs/c/c.sql.ts:4', 'libs/c/c.sql.ts:6']);
});

it('finds exports without a comment of their own, decorated ones too, and files that other rooms reach into', () => {
  write(
    'libs/d/d.ts',
    `// Not a comment for readers of the export.
export function one(): void {}
/** It is. */
@Injectable()
export class Two {}
@Injectable()
export class Three {}
export interface Four {}
interface Five {}
export const six = 6;
`,
  );
  write(
    'libs/d/inner/deep.ts',
    `import '#d/d.js';
`,
  );
  write(
    'libs/e/e.ts',
    `import type { Two } from '#d/d.js';
import './own.js';
`,
  );
  write(
    'apps/api/src/e.ts',
    `const deep = import('#d/inner/deep.js');
`,
  );
  write(
    'apps/api/src/e.spec.ts',
    `import '#e/e.js';
`,
  );
  const { stdout } = spawnSync(process.execPath, [script, root, '--list'], { encoding: 'utf8' });
  const places = stdout.split('\n').flatMap((line) => /^ {6}(libs\/[de]\/.*)$/.exec(line)?.[1] ?? []);
  expect(places).toEqual(['libs/d/d.ts:2', 'libs/d/d.ts:6', 'libs/d/d.ts:8', 'libs/d/d.ts', 'libs/d/inner/deep.ts']);
});

it('fails on a gate above its goal, and only advises on the others', () => {
  const check = (goal: number, gate: boolean) => {
    const limits = join(root, `limits-${goal}-${gate}.mjs`);
    const limit = { goal, gate, what: 'useFactory', why: 'Because.' };
    writeFileSync(limits, `export const LIMITS = { factories: ${JSON.stringify(limit)} };`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, root, limits], { encoding: 'utf8' });
    return { status, stdout: stdout.trim(), stderr: stderr.trim() };
  };
  expect(check(1, true)).toEqual({ status: 0, stdout: '1  useFactory; goal 1', stderr: '' });
  expect(check(0, false)).toEqual({ status: 0, stdout: 'advice:    1  useFactory; goal 0', stderr: '' });
  expect(check(0, true)).toEqual({
    status: 1,
    stdout: '1  useFactory; goal 0',
    stderr: '1 useFactory, 0 at most. Because.\n  apps/api/src/a.module.ts:1',
  });
});
