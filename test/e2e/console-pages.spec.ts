import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { tmpdir } from 'node:os';
import type { Answer } from '../support/contract-answer.js';
import { rawCall } from '../support/raw-call.js';
import { serveConsole } from '../../apps/api/src/console/serve-console.js';

/** The server of pages on its own, with pages of the test's. */
describe('the pages of the console', () => {
  let folder: string;
  let server: FastifyInstance;
  let address: string;
  const get = async (path: string, encoding = 'identity'): Promise<Answer> => {
    const lines = [`GET ${path} HTTP/1.1`, 'host: x', `accept-encoding: ${encoding}`, 'connection: close', '', ''];
    const answer = await rawCall(address, lines.join('\r\n'));
    if (answer === undefined) throw new Error('no answer');
    return answer;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-pages-'));
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'index.html'), '<!doctype html><title>Darkroom</title>');
    await writeFile(join(folder, 'assets', 'index-abc123.js'), 'console.log(1);'.repeat(100));
    await writeFile(join(folder, 'assets', 'index.js.map'), '{}');
    server = Fastify();
    serveConsole(server, { folder, path: '', imageOrigins: ['https://images.example'] });
    address = await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(['/console', '/console/', '/console/keys', '/console/tasks/task_1'])('%s is the page', async (url) => {
    const { status, headers, text } = await get(url);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      ...[200, 'text/html; charset=utf-8', 'no-cache'],
    ]);
    expect(text).toContain('<title>Darkroom</title>');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
        "img-src 'self' blob: data: https://images.example; connect-src 'self'; font-src 'self'; " +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect([headers['x-content-type-options'], headers['referrer-policy']]).toEqual(['nosniff', 'no-referrer']);
  });

  it('serves assets compressed and for ever', async () => {
    const plain = await get('/console/assets/index-abc123.js');
    expect([plain.status, plain.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const small = await get('/console/assets/index-abc123.js', 'br, gzip');
    expect(small.headers['content-encoding']).toBe('gzip');
    expect(Number(small.headers['content-length'])).toBeLessThan(plain.text.length / 5);
  });

  it.each([
    '/console/assets/missing.js',
    '/console/assets/index.js.map',
    '/console/api/nothing',
    '/console/assets/..%2f..%2fpackage.json',
    '/console/assets/%2e%2e/%2e%2e/package.json',
  ])('%s is nothing', async (url) => {
    const { status, text } = await get(url);
    expect(status === 404 || text.includes('<title>Darkroom</title>')).toBe(true);
    expect(text).not.toContain('"dependencies"');
  });
});
