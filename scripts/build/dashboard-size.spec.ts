import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const folder = join(process.cwd(), 'dist', 'dashboard');
const MAX_BYTES = 300_000;

it('sends less than 300 KB of compressed script before the console shows', () => {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const scripts = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path!);
  expect(scripts.length).toBeGreaterThan(0);
  const bytes = scripts.reduce((sum, path) => sum + gzipSync(readFileSync(join(folder, path))).length, 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(MAX_BYTES);
});

it('runs under a Content-Security-Policy without inline scripts or foreign addresses', () => {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(page).not.toMatch(/<script(?![^>]*\bsrc=)/);
  expect(
    [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url).filter((url) => !url!.startsWith('./assets/')),
  ).toEqual([]);
});
