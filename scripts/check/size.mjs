// Advises on source files that are long: whether one is too long is a matter of judgment. Checks tracked .ts and .mjs
// files, except generated ones, which say so in their first line.
// usage: node scripts/check/size.mjs [root]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LONG_FROM = 600;

const root = process.argv[2] ?? join(import.meta.dirname, '..', '..');
const files = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx', '*.mjs'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));

let long = 0;
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8');
  const lines = text.split('\n').length - 1;
  if (lines <= LONG_FROM || text.startsWith('// Generated ')) continue;
  long++;
  console.log(`advice: ${file} has ${lines} lines`);
}
console.log(`${files.length} files, ${long} of them over ${LONG_FROM} lines`);
process.exitCode = files.length > 0 ? 0 : 1;
