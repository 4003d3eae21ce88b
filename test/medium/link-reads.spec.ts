import { jest } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Agent } from 'undici';
import { fastify, type FastifyInstance } from 'fastify';
import { loadConfig } from '#config/load-config.js';
import { DiskStore } from '#storage/disk-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { ApiConfig } from '../../apps/api/src/common/api.config.js';
import { LinkReads } from '../../apps/api/src/files/link-reads.js';

/** More than the buffers of a connection take. */
const BYTES = 32_000_000;
const KEY = 'results/slow.png';

describe('the time of a download', () => {
  let folder: string;
  let server: FastifyInstance;
  let stream: Readable;
  let isClosed = false;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-reads-'));
    const store = new DiskStore(folder);
    await store.put(KEY, Readable.from([Buffer.alloc(BYTES)]), { contentType: 'image/png' });
    const [storage, api] = loadConfig([StorageConfig, ApiConfig] as const, { REQUEST_TIMEOUT_MS: '100000' });
    const reads = new LinkReads(store, api, storage);
    server = fastify();
    server.get('/', async (_request, reply) => {
      const stored = await reads.read(KEY, reply);
      stream = stored.stream;
      reply.raw.once('close', () => stream.destroy());
      return reply.header('content-length', stored.bytes).send(stream);
    });
    server.get('/series', async (_request, reply) => {
      const reading = await reads.series(reply);
      const { stream: small } = await reading.open(KEY, { first: 0, last: 99 });
      await buffer(small);
      const body = Readable.from(Array.from({ length: 32 }, () => Buffer.alloc(BYTES / 32)));
      body.once('close', reading.leave);
      reply.raw.once('close', () => {
        isClosed = true;
        body.destroy();
      });
      return reply.send(body);
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(() => jest.useRealTimers());
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is REQUEST_TIMEOUT_MS and a second for each 16 KB; then the connection is closed', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(socket, 'data');
    socket.pause();
    jest.advanceTimersByTime(100_000 + (BYTES / 16_000) * 1_000 - 1);
    expect(stream.destroyed).toBe(false);
    const closed = once(stream, 'close');
    jest.advanceTimersByTime(1);
    await closed;
    socket.destroy();
  });

  it('goes on while a response of several objects is not read, although none of them is open', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    let received = 0;
    socket.on('data', (bytes: Buffer) => (received += bytes.length));
    socket.write('GET /series HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await once(socket, 'data');
    socket.pause();
    // Two megabytes of lines may still be on their way.
    const limit = 100_000 + ((2_097_152 + 100) / 16_000) * 1_000;
    jest.advanceTimersByTime(Math.floor(limit) - 1);
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    jest.advanceTimersByTime(2);
    socket.resume();
    await once(socket, 'close');
    expect(received).toBeLessThan(BYTES);
  });
});

describe('turns of a network', () => {
  /** Its share of the connections to S3 is one. */
  const S3 = {
    STORAGE: 's3',
    S3_BUCKET: 'images',
    S3_REGION: 'here',
    S3_CONNECTIONS: '4',
    S3_ACCESS_KEY_ID: 'a',
    S3_SECRET_ACCESS_KEY: 'b',
  };
  let folder: string;
  let server: FastifyInstance;
  let received = 0;
  let closed = 0;
  let opened = 0;
  const agent = new Agent({ connections: 100 });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-turns-'));
    const store = new DiskStore(folder);
    await store.put(KEY, Readable.from([Buffer.alloc(BYTES)]), { contentType: 'image/png' });
    await store.put('results/small.png', Readable.from([Buffer.alloc(100)]), { contentType: 'image/png' });
    const [storage, api] = loadConfig([StorageConfig, ApiConfig] as const, S3);
    const reads = new LinkReads(store, api, storage);
    server = fastify();
    server.get('/:name', async (request, reply) => {
      received += 1;
      reply.raw.once('close', () => (closed += 1));
      const stored = await reads.read(`results${request.url}.png`, reply);
      opened += 1;
      reply.raw.once('close', () => stored.stream.destroy());
      return reply.header('content-length', stored.bytes).send(stored.stream);
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await agent.destroy();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are for callers who still wait, in the order in which they came', async () => {
    const origin = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    const get = (path: string, signal: AbortSignal | null = null) =>
      agent.request({ origin, path, method: 'GET', signal });
    // The HTTP client makes its clock with a process's first request, and packages outlive this file: a real one.
    await (await get('/small')).body.dump();
    while (closed < 1) await new Promise(setImmediate);
    [received, closed, opened] = [0, 0, 0];
    // However slow the machine is, no turn takes too long.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const until = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) await new Promise(setImmediate);
    };
    const first = await get('/slow');
    const leaving = new AbortController();
    const left = Array.from({ length: 20 }, () => get('/small', leaving.signal).catch(() => 'left'));
    await until(() => received === 21);
    const order: number[] = [];
    const others: Promise<void>[] = [];
    for (const n of [0, 1, 2]) {
      others.push(
        get('/small').then(async ({ statusCode, body }) => {
          expect(statusCode).toBe(200);
          order.push(n);
          await body.arrayBuffer();
        }),
      );
      await until(() => received === 22 + n);
    }
    leaving.abort();
    expect(new Set(await Promise.all(left))).toEqual(new Set(['left']));
    await until(() => closed === 20);
    await first.body.arrayBuffer();
    await Promise.all(others);
    expect(order).toEqual([0, 1, 2]);
    expect(opened).toBe(4);
  });
});
