import { fastify, type FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import { relayAnswer, type Relayed } from '../../apps/api/src/chat/relay-answer.js';

// Real: a server of Fastify, its connections, and streams of Node.
describe('a response that is longer than what is held back', () => {
  const long = Buffer.alloc(1_500_000, 'x');
  let server: FastifyInstance;
  let url: string;
  let relayed: Relayed;
  let body: () => Readable;

  beforeAll(async () => {
    server = fastify();
    server.get('/', async (_request, reply) => {
      relayed = { whole: false };
      reply.hijack();
      const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: body() };
      await relayAnswer(reply, answer, { hideUsage: false, relayed, afterHangupBytes: 0 }).catch(() => undefined);
    });
    url = await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(() => server.close());

  it.each([
    ['in one chunk', () => Readable.from([long], { objectMode: false })],
    ['in chunks', () => Readable.from([long.subarray(0, 1_100_000), long.subarray(1_100_000)], { objectMode: false })],
    ['from a buffer that is full at the end', () => buffered(long)],
  ])('reaches the caller whole, %s', async (_, make) => {
    body = make;
    const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    expect((await response.arrayBuffer()).byteLength).toBe(long.length);
    expect(relayed.whole).toBe(true);
  });

  it('is cut for the caller when it breaks at the moment it is paused', async () => {
    body = () =>
      new Readable({
        read() {
          this.push(long);
          this.destroy(new Error('broken'));
        },
      });
    const response = fetch(url, { signal: AbortSignal.timeout(30_000) }).then((answer) => answer.arrayBuffer());
    await expect(response).rejects.toThrow();
    expect(relayed.whole).toBe(false);
  });
});

/** A stream that holds everything before it is read. */
function buffered(bytes: Buffer): Readable {
  const stream = new Readable({ read: () => undefined, highWaterMark: bytes.length * 2 });
  stream.push(bytes.subarray(0, 100));
  stream.push(bytes.subarray(100));
  stream.push(null);
  return stream;
}
