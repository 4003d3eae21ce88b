import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pacedBody } from './paced-body.js';

const PIECE_BYTES = 100_000;

describe('pacedBody', () => {
  /** More than the buffers of a connection take. */
  const bytes = randomBytes(32_000_000);
  const memory = new Set<ArrayBufferLike>();
  let server: Server;
  let made = 0;
  let closed = 0;

  beforeAll(async () => {
    server = createServer((_request, response) => {
      const body = pacedBody({
        length: bytes.length,
        passage: response,
        make: async function* (room) {
          for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
            const piece = room(Math.min(PIECE_BYTES, bytes.length - at));
            memory.add(piece.buffer);
            await Promise.resolve();
            bytes.copy(piece, 0, at);
            made += piece.length;
            yield piece;
          }
        },
        close: () => (closed += 1),
      });
      response.once('close', () => body.destroy());
      body.pipe(response.writeHead(200, { 'content-length': bytes.length }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  beforeEach(() => {
    memory.clear();
    [made, closed] = [0, 0];
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function open(): Promise<IncomingMessage> {
    const request = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  it('arrives whole, from the memory of a few pieces', async () => {
    expect((await buffer(await open())).equals(bytes)).toBe(true);
    expect(closed).toBe(1);
    expect(memory.size).toBeLessThan(10);
  });

  it('is made as far as its caller reads, arrives whole all the same, and is closed when the caller leaves', async () => {
    const slow = await open();
    let received = Buffer.alloc(0);
    let last = -1;
    // Reads nothing until no more is made, again and again.
    while (received.length < 2_000_000) {
      while (made !== last) {
        last = made;
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      const piece = slow.read() as Buffer | null;
      if (piece === null) await once(slow, 'readable');
      else received = Buffer.concat([received, piece]);
      last = -1;
    }
    expect(received.equals(bytes.subarray(0, received.length))).toBe(true);
    expect(closed).toBe(0);
    slow.destroy();
    while (closed === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(1);
  });
});
