import { readFileSync } from 'node:fs';

const { engines, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly engines: { readonly node: string };
  readonly devDependencies: Readonly<Record<string, string>>;
};
/** The first version of each range, such as 20.19: "engines" is the source. */
const FIRST = [...engines.node.matchAll(/(\d+\.\d+)\.0/g)].map(([, version = '']) => version);
/** What says the versions, or compares Node's own with them. */
const SAYING = ['README.md', 'CONTRIBUTING.md', 'docs/operations.md'];
const COMPARING = ['scripts/build/prepare.mjs', 'apps/standalone/src/commands/doctor.ts'];

it.each([...SAYING, ...COMPARING])('%s names the versions of Node in package.json', (file) => {
  expect(FIRST).toHaveLength(engines.node.split('||').length);
  const text = readFileSync(file, 'utf8');
  for (const version of FIRST) expect(text).toMatch(new RegExp(`\\b${version.replace('.', '\\.')}\\b`));
});

it.each(COMPARING)('%s accepts just these', (file) => {
  const text = readFileSync(file, 'utf8');
  const compared = [...text.matchAll(/major === (\d+) && minor >= (\d+)/g)].map(([, ...parts]) => parts.join('.'));
  expect(compared).toEqual(FIRST);
});

it('types are those of the oldest version, .nvmrc that of the container image', () => {
  expect(devDependencies['@types/node']).toMatch(new RegExp(`^${FIRST[0]}\\.`));
  const [, image] = /^ARG NODE_IMAGE=node:(\d+)\./m.exec(readFileSync('deploy/Dockerfile', 'utf8')) ?? [];
  expect(readFileSync('.nvmrc', 'utf8').trim()).toBe(image);
});
