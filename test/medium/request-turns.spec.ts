import { Agent, createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { burstLimiter } from '../../apps/api/src/common/request-stream.js';

const READ_BYTES = 16_384;
/** Sizes around what one connection may bring in a turn, so that the last piece meets a resting connection. */
const SIZES = Array.from({ length: 32 }, (_, n) => 16 * READ_BYTES + n * READ_BYTES);

/** A server that counts what arrives, and whose reader is always one piece behind. */
describe('turns of a connection', () => {
  let server: Server;
  let agent: Agent;
  beforeAll(async () => {
    server = createServer((payload, response) => {
      const takeTurns = burstLimiter(payload);
      let bytes = 0;
      payload.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        takeTurns(chunk);
        payload.pause();
        setTimeout(() => payload.resume(), 3);
      });
      payload.on('end', () => response.end(String(bytes)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterAll(async () => {
    agent.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  function post(bytes: number): Promise<{ text: string; port: number | undefined }> {
    return new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const request = send({ port, host: '127.0.0.1', method: 'POST', agent, timeout: 10_000 }, (response) => {
        const { localPort } = response.socket;
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => {
          resolve({ text, port: localPort });
        });
      });
      request.on('timeout', () => request.destroy(new Error(`no answer after a body of ${bytes} bytes`)));
      request.on('error', reject);
      request.end(Buffer.alloc(bytes, 0x61));
    });
  }

  it('let the next request of a connection in, wherever the rest fell (a form of two files made it wait for ever)', async () => {
    const first = await post(0);
    for (const bytes of SIZES) expect(await post(bytes)).toEqual({ text: String(bytes), port: first.port });
  }, 60_000);
});
