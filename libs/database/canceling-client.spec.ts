import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import pg from 'pg';
import { CancelingClient, cutOff } from './canceling-client.js';

// What only a server shows is in test/support/give-up.ts; see docs/decisions/2026-11-28-private-parts.md.
describe('the private parts of the driver', () => {
  it('say in `_ending` that a client takes no more statements', async () => {
    const client = new CancelingClient();
    expect(client).toMatchObject({ _ending: false });
    Object.assign(client, { _ending: true });
    await expect(client.query('SELECT 1')).rejects.toThrow('Client was closed and is not queryable');
  });

  it('name the session to cancel, which has no name before it is connected', () => {
    expect(new CancelingClient()).toMatchObject({ processID: null, secretKey: null });
  });

  it('have a connection that can cancel, with TLS and without', () => {
    expect(new pg.Connection({})).toMatchObject({
      connect: expect.any(Function),
      requestSsl: expect.any(Function),
      cancel: expect.any(Function),
    });
  });

  it('have the stream that is cut off when a server does not answer', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    const { port } = server.address() as AddressInfo;
    const client = new CancelingClient({ host: '127.0.0.1', port });
    const connected = client.connect();
    const refused = expect(connected).rejects.toThrow('Connection terminated unexpectedly');
    await accepted;
    cutOff(client);
    await refused;
    server.close();
  });
});
