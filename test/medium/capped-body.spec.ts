import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { readCappedBody } from '#egress/capped-body.js';

const WINDOW_MS = 200;
const LIMITS = { maxBytes: 1_000_000, minRate: 10_000, rateWindowMs: WINDOW_MS };

/** Real sockets: what one process has sent lies in the kernel until the other reads it. */
describe('a body with a minimum rate', () => {
  const server = createServer();
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
  });

  async function connected(): Promise<{ sender: Socket; receiver: Socket }> {
    const receiver = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [sender] = (await once(server, 'connection')) as [Socket];
    return { sender, receiver };
  }

  it('is read to its end by a process that stalls for longer than the window, if it has arrived', async () => {
    const { sender, receiver } = await connected();
    const whole = readCappedBody(receiver, LIMITS);
    whole.catch(() => undefined);
    sender.end(Buffer.alloc(50_000));
    // Written to the socket, and not yet read from it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * WINDOW_MS);
    expect(await whole).toHaveLength(50_000);
  });

  it('is given up when less than that arrives', async () => {
    const { sender, receiver } = await connected();
    sender.on('error', () => undefined);
    sender.write('a few bytes');
    await expect(readCappedBody(receiver, LIMITS)).rejects.toThrow('the body comes too slowly');
    sender.destroy();
  });
});
