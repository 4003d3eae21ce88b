import { jest } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import { fastify, type FastifyInstance } from 'fastify';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
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

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-reads-'));
    const store = new DiskStore(folder);
    await store.put(KEY, Readable.from([Buffer.alloc(BYTES)]), { contentType: 'image/png' });
    const [storage, api] = loadConfig([StorageConfig, ApiConfig] as const, { SEND_TIMEOUT_MS: '100000' });
    const reads = new LinkReads(store, api, storage);
    server = fastify();
    server.get('/', async (_request, reply) => {
      const stored = await reads.read(KEY, reply);
      stream = stored.stream;
      reply.raw.once('close', () => stream.destroy());
      return reply.header('content-length', stored.bytes).send(stream);
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is SEND_TIMEOUT_MS and a second for each 16 KB; then the connection is closed', async () => {
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
  let [received, opened] = [0, 0];
  const agent = new Agent({ connections: 100 });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-turns-'));
    const store = new DiskStore(folder);
    await store.put(KEY, Readable.from([Buffer.alloc(BYTES)]), { contentType: 'image/png' });
    const [storage, api] = loadConfig([StorageConfig, ApiConfig] as const, S3);
    const reads = new LinkReads(store, api, storage);
    server = fastify();
    server.get('/', async (_request, reply) => {
      received += 1;
      const stored = await reads.read(KEY, reply);
      opened += 1;
      reply.raw.once('close', () => stored.stream.destroy());
      return reply.header('content-length', stored.bytes).send(stored.stream);
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await agent.destroy();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are for callers who still wait, in the order in which they came', async () => {
    const origin = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    const get = (signal?: AbortSignal) => agent.request({ origin, path: '/', method: 'GET', signal: signal ?? null });
    const areIn = (count: number) => waitUntil(() => received === count, { timeoutMs: 4_000 });
    const first = await get();
    const leaving = new AbortController();
    const left = Array.from({ length: 20 }, () => get(leaving.signal).catch(() => 'left'));
    await areIn(21);
    const order: number[] = [];
    const others: Promise<void>[] = [];
    for (const n of [0, 1, 2]) {
      others.push(
        get().then(async ({ statusCode, body }) => {
          expect(statusCode).toBe(200);
          order.push(n);
          for await (const _piece of body);
        }),
      );
      await areIn(22 + n);
    }
    leaving.abort();
    expect(new Set(await Promise.all(left))).toEqual(new Set(['left']));
    for await (const _piece of first.body);
    await Promise.all(others);
    expect(order).toEqual([0, 1, 2]);
    expect(opened).toBe(4);
  });
});
