import { Agent, createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { burstLimiter } from '../../apps/api/src/common/request-stream.js';
import { patient } from '../support/patience.js';

const READ_BYTES = 16_384;
const OPTIONS = { method: 'POST', timeout: patient(10_000) };
/** Sizes around what one connection may bring in a turn, so that the last piece meets a resting connection. */
const SIZES = Array.from({ length: 48 }, (_, n) => 4 * READ_BYTES + n * READ_BYTES);

/** A burst, and the read that has begun before it is counted. */
const MOST_IN_A_TURN = 131_072 + 65_536;

/** A server that counts what arrives, in all and in each turn of the event loop. */
describe('turns of a connection', () => {
  let server: Server;
  let agent: Agent;
  let most = 0;

  beforeAll(async () => {
    server = createServer((payload, response) => {
      const takeTurns = burstLimiter(payload);
      const isBehind = payload.headers['x-reader'] === 'behind';
      let bytes = 0;
      let inTurn = 0;
      const next = (): void => {
        most = Math.max(most, inTurn);
        inTurn = 0;
        if (!payload.readableEnded) setImmediate(next);
      };
      next();
      payload.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        inTurn += chunk.length;
        takeTurns(chunk);
        if (!isBehind) return;
        payload.pause();
        setTimeout(() => payload.resume(), 3);
      });
      payload.on('end', () => response.end(String(bytes)));
    });
    // Kept for longer than a busy machine needs from one call to the next.
    server.keepAliveTimeout = 75_000;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterAll(async () => {
    agent.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  function post(bytes: number, reader: 'behind' | 'quick'): Promise<{ text: string; port: number | undefined }> {
    return new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const request = send(
        { port, host: '127.0.0.1', ...OPTIONS, headers: { 'x-reader': reader }, agent },
        (response) => {
          const { localPort } = response.socket;
          let text = '';
          response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
          response.on('end', () => {
            resolve({ text, port: localPort });
          });
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer after a body of ${bytes} bytes`)));
      request.on('error', reject);
      request.end(Buffer.alloc(bytes, 0x61));
    });
  }

  it('let the next request of a connection in, wherever the rest fell (a form of two files made it wait for ever)', async () => {
    const first = await post(0, 'behind');
    for (const reader of ['behind', 'quick'] as const)
      for (const bytes of SIZES) expect(await post(bytes, reader)).toEqual({ text: String(bytes), port: first.port });
  });

  it('bring little of a body that arrives at full speed, so that others are served in between', async () => {
    most = 0;
    for (let round = 0; round < 5; round++) expect((await post(16_777_216, 'quick')).text).toBe('16777216');
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(MOST_IN_A_TURN);
  });
});
