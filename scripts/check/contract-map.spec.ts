import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = 'test/e2e';

/** The promises of docs/contract-tests.md below each heading; each names its test in the next line. */
function readMap(): { section: string; promise: string; file: string; name: string }[] {
  let section = '';
  let promise = '';
  return readFileSync(join(ROOT, 'docs', 'contract-tests.md'), 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('## ')) section = line.slice(3);
      if (line.startsWith('- ')) promise = line.slice(2);
      if (!line.startsWith('  - ')) return [];
      const [, file = line, name = ''] = /^ {2}- `(\S+\.spec\.ts)`: (.+)$/.exec(line) ?? [];
      return [{ section, promise, file, name }];
    });
}

/** What tests and tables of tests of a file are called: the texts that stand where a name does. */
function namesIn(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const calls = text.matchAll(
    /(?:^|\s|\))(?:it|test|describe)?(?:\.each\([^)]*\))?\(\s*(['"`])(.*?[^\\])\1,\s*(?:async )?\(/gm,
  );
  const rows = text.matchAll(/^\s*\[?(['"])(.*?[^\\])\1,/gm);
  return [...calls, ...rows].map(([, , name = '']) => name);
}

describe('docs/contract-tests.md', () => {
  const rows = readMap();

  it('has promises in every section that it is about', () => {
    const sections = new Set(rows.map(({ section }) => section.split('.', 1)[0]));
    expect([...sections]).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '11']);
    expect(rows.length).toBeGreaterThan(100);
  });

  it.each(rows)('$section: $promise is tested where it says', ({ file, name }) => {
    const path = join(ROOT, file.includes('/') ? file : join(FOLDER, file));
    expect([file, existsSync(path)]).toEqual([file, true]);
    expect(namesIn(path)).toContain(name);
  });
});
