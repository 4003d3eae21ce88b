import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** One spelling of each word: what is not to be written, and what is instead. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\be-mail/i, 'email'],
  [/colour/i, 'color'],
  [/behaviour/i, 'behavior'],
  [/neighbour/i, 'neighbor'],
  [/honour/i, 'honor'],
  [/favourite/i, 'favorite'],
  [/\bcentre/i, 'center'],
  [/\blicence/i, 'license'],
  [/\b(?:organ|recogn|initial|normal|optim|summar|prior|util)is(?:e|ing|ation)/i, '-ize'],
];
const PLACES = ['apps', 'libs', 'docs', 'deploy', 'prisma/schema.prisma', 'README.md', 'CONTRIBUTING.md'];
const SOURCE = /\.(ts|tsx|md|prisma|ya?ml|tpl|example)$/;

const files = PLACES.flatMap((place) =>
  statSync(place).isDirectory()
    ? readdirSync(place, { recursive: true, encoding: 'utf8' }).map((file) => join(place, file))
    : [place],
).filter((file) => SOURCE.test(file) && !/(^|\/)(generated|node_modules)\//.test(file));

it.each(WORDS)('writes %s as “%s”', (word, _instead) => {
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => (word.test(line) ? [`${file}:${index + 1}`] : [])),
  );
  expect(found).toEqual([]);
});
