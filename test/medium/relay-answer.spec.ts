import { fastify, type FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import { waitUntil } from '#embedded/wait-until.js';
import { timeLimit } from '#egress/time-limit.js';
import { CHAT_COMPLETIONS } from '../../apps/api/src/chat/chat-api.js';
import { relayAnswer, type Relayed } from '../../apps/api/src/chat/relay-answer.js';
import { ApiConfig } from '../../apps/api/src/common/api.config.js';
import { BodyMemory, BodyReservation } from '../../apps/api/src/common/fastify/body-memory.js';
import { patient } from '../support/patience.js';

// Real: a server of Fastify, its connections, and streams of Node.
describe('a response that is passed on', () => {
  /** Responses to one caller may hold a third of it. */
  const memory = new BodyMemory({ ...new ApiConfig(), bodyMemory: 9_000_000 });
  const long = Buffer.alloc(1_500_000, 'x');
  let server: FastifyInstance;
  let url: string;
  /** Whoever has read a response may be quicker than whoever passes it on. */
  let relayed: Promise<Relayed>;
  let body: () => Readable;

  beforeAll(async () => {
    server = fastify();
    server.get('/', async (_request, reply) => {
      reply.hijack();
      const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: body() };
      const relaying = {
        api: CHAT_COMPLETIONS,
        hideUsage: false,
        afterHangupBytes: 0,
        memory: new BodyReservation(memory, 'one'),
      };
      relayed = relayAnswer(reply, answer, relaying);
      await relayed;
    });
    url = await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    // A canceled request leaves a new connection, which the server waits for.
    server.server.closeAllConnections();
    await server.close();
  });

  it.each([
    ['in one chunk', () => Readable.from([long], { objectMode: false })],
    ['in chunks', () => Readable.from([long.subarray(0, 1_100_000), long.subarray(1_100_000)], { objectMode: false })],
    ['from a buffer that is full at the end', () => buffered(long)],
  ])('reaches the caller whole, %s, though it is longer than what is held back', async (_, make) => {
    body = make;
    const response = await fetch(url, { signal: AbortSignal.timeout(patient(30_000)) });
    expect((await response.arrayBuffer()).byteLength).toBe(long.length);
    expect((await relayed).whole).toBe(true);
  });

  it('is cut for the caller when it breaks at the moment it is paused', async () => {
    body = () =>
      new Readable({
        read() {
          this.push(long);
          this.destroy(new Error('broken'));
        },
      });
    const response = fetch(url, { signal: AbortSignal.timeout(patient(30_000)) }).then((answer) =>
      answer.arrayBuffer(),
    );
    await expect(response).rejects.toThrow();
    expect((await relayed).whole).toBe(false);
  });

  it('H1: counts in the memory for bodies while it is held back, and until it has been read', async () => {
    const answer = open(500_000);
    body = () => answer;
    const response = fetch(url, { signal: AbortSignal.timeout(patient(30_000)) }).then((read) => read.arrayBuffer());
    expect(await waitUntil(() => memory.held === 500_000, { timeoutMs: 20_000 })).toBe(true);
    answer.push(null);
    expect((await response).byteLength).toBe(500_000);
    expect(await waitUntil(() => memory.held === 0, { timeoutMs: 20_000 })).toBe(true);
  });

  it('H1: is passed on at once when that memory is used up, and counts until its caller leaves', async () => {
    const used = new BodyReservation(memory, 'one');
    used.reserve(2_850_000);
    const answer = open(400_000);
    body = () => answer;
    const leaving = new AbortController();
    const response = await fetch(url, { signal: timeLimit(patient(30_000), leaving.signal) });
    expect([response.status, memory.held]).toEqual([200, 2_950_000]);
    leaving.abort();
    expect(await waitUntil(() => memory.held === 2_850_000, { timeoutMs: 20_000 })).toBe(true);
    used.release();
    expect([memory.held, (await relayed).whole]).toEqual([0, false]);
  });
});

/** A stream that has so many bytes, in pieces, and does not end yet. */
function open(bytes: number): Readable {
  const stream = new Readable({ read: () => undefined });
  for (let sent = 0; sent < bytes; sent += 100_000) stream.push(Buffer.alloc(100_000, 'x'));
  return stream;
}

/** A stream that holds everything before it is read. */
function buffered(bytes: Buffer): Readable {
  const stream = new Readable({ read: () => undefined, highWaterMark: bytes.length * 2 });
  stream.push(bytes.subarray(0, 100));
  stream.push(bytes.subarray(100));
  stream.push(null);
  return stream;
}
