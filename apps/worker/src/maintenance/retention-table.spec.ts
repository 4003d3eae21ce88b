import { readFileSync } from 'node:fs';

const read = (file: string): string => readFileSync(file, 'utf8');

/** The page's table of what is kept how long, and its settings, which are generated from the config classes. */
const [, section = ''] = /## What is kept how long\n([^]*?)\n## /.exec(read('docs/operations.md')) ?? [];
const settings = new Map(
  [...read('docs/operations.md').matchAll(/^\| `([A-Z_\d]+)` \| `?([^|`]*)`? \|/gm)].map(([, name, value]) => [
    name,
    value,
  ]),
);

describe('the table of what is kept how long', () => {
  it('names every setting with its default', () => {
    const named = [...section.matchAll(/`([A-Z_]+)` (\d+)/g)].map(([, name, value]) => [name, value]);
    expect(named.length).toBeGreaterThan(0);
    expect(named).toEqual(named.map(([name]) => [name, settings.get(name)]));
    const retention = [...settings.keys()].filter((name) => name?.includes('RETENTION') === true);
    expect(named.map(([name]) => name)).toEqual(expect.arrayContaining(retention));
  });

  it('has a line for every table', () => {
    const tables = [...read('prisma/schema.prisma').matchAll(/^ {2}@@map\("(\w+)"\)/gm)].map(([, table = '']) => table);
    expect(tables.length).toBeGreaterThan(10);
    expect(tables.filter((table) => !section.includes(`\`${table}\``))).toEqual([]);
  });
});
