import { jest } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
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
