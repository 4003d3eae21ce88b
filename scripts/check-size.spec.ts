import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(process.cwd(), 'scripts', 'check-size.mjs');
const root = mkdtempSync(join(tmpdir(), 'check-size-'));
const lines = (count: number): string => 'x\n'.repeat(count);

afterAll(() => {
  rmSync(root, { recursive: true });
});

it('names tracked files over 400 lines, tests over 500, and no others', () => {
  const files = { 'a.ts': 400, 'b.ts': 401, 'c.mjs': 401, 'd.spec.ts': 500, 'e.spec.ts': 501, 'f.sql': 900 };
  for (const [file, count] of Object.entries(files)) writeFileSync(join(root, file), lines(count));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  execFileSync('git', ['add', '.'], { cwd: root });
  writeFileSync(join(root, 'untracked.ts'), lines(900));
  const answer = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  expect(answer.status).toBe(1);
  expect(answer.stderr.trim().split('\n')).toEqual([
    'b.ts:401 has 401 lines, 400 at most',
    'c.mjs:401 has 401 lines, 400 at most',
    'e.spec.ts:501 has 501 lines, 500 at most',
  ]);
});
