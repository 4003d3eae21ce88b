import { readFileSync } from 'node:fs';
import { loadConfig } from './load-config.js';
import { OWN_PATHS, pathOfPublicUrl, PublicUrl } from './public-url.js';
import { Setting } from './setting.js';

class TestConfig {
  @Setting('PUBLIC_URL', 'Where it is.', { who: 'start' })
  @PublicUrl()
  readonly publicUrl: string = 'http://127.0.0.1:3000';
}

const problemOf = (url: string): string => {
  try {
    loadConfig([TestConfig], { PUBLIC_URL: url });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

it.each([
  ...['https://example.org', 'https://example.org/', 'http://[::1]:3000', 'https://example.org/images'],
  ...['https://example.org/images/', 'http://localhost:8080/tools/darkroom-2_b.c~', 'https://example.org/images/v1'],
])('accepts %s', (url) => {
  expect(problemOf(url)).toBe('');
});

it.each([
  ['https://user:secret@example.org/', 'user name or password'],
  ['https://example.org/?a=1', 'query or fragment'],
  ['https://example.org/images?', 'query or fragment'],
  ['https://example.org/#console', 'query or fragment'],
  ['https://example.org/a%20b', 'other characters'],
  ['https://example.org/a//b', 'other characters'],
  ['https://example.org/a/../b', 'other characters'],
  ['https://example.org/a;b', 'other characters'],
  ['https://example.org/"onload=', 'other characters'],
  ['https://example.org/v1', 'begins with /v1'],
  ['https://example.org/console/darkroom', 'begins with /console'],
  ['ftp://example.org/', 'URL'],
])('refuses %s by name, because some of it would be ignored or mistaken', (url, reason) => {
  expect(problemOf(url)).toContain('PUBLIC_URL');
  expect(problemOf(url)).toContain(reason);
  expect(problemOf(url)).not.toContain('secret');
});

it('knows the path', () => {
  expect(['https://a.example', 'https://a.example/', 'https://a.example/b/c/'].map(pathOfPublicUrl)).toEqual([
    ...['', '', '/b/c'],
  ]);
});

it('reserves the first part of every path of the API, but for the alias /images/generations', () => {
  const paths = ['openapi.json', 'console-openapi.json'].flatMap((file) =>
    Object.keys((JSON.parse(readFileSync(file, 'utf8')) as { paths: object }).paths),
  );
  const firsts = new Set(paths.map((path) => path.split('/')[1] ?? ''));
  expect(paths.filter((path) => path.startsWith('/images/'))).toEqual(['/images/generations']);
  expect([...firsts].filter((first) => first !== 'images' && !OWN_PATHS.includes(first))).toEqual([]);
});
