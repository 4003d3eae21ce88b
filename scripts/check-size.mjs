// Fails on source files that are too long: splitting is cheap while a file is still small. Checks tracked .ts and .mjs
// files, except generated ones, which say so in their first line.
// usage: node scripts/check-size.mjs [root]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MAX_LINES = 400;
const MAX_TEST_LINES = 500;

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const files = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx', '*.mjs'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));

let tooLong = 0;
for (const file of files) {
  const limit = /\.spec\.tsx?$|^test\//.test(file) ? MAX_TEST_LINES : MAX_LINES;
  const text = readFileSync(join(root, file), 'utf8');
  const lines = text.split('\n').length - 1;
  if (lines <= limit || text.startsWith('// Generated ')) continue;
  tooLong++;
  console.error(`${file}:${limit + 1} has ${lines} lines, ${limit} at most`);
}
console.log(`${files.length} files, ${tooLong} too long`);
process.exitCode = tooLong === 0 && files.length > 0 ? 0 : 1;
