import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { openPrisma } from '../support/open-prisma.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

// Real: Postgres behind a proxy that never closes a connection, as a machine that is cut off, and a host that nobody
// listens at.
describe('a server in DATABASE_URL that does not close its connections', () => {
  const sockets: Socket[] = [];
  let database: TestDatabase;
  let proxy: Server;

  beforeAll(async () => {
    database = await createTestDatabase();
    const { port, hostname } = new URL(database.url);
    proxy = createServer({ allowHalfOpen: true }, (near) => {
      const far = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      near.on('data', (bytes) => far.write(bytes)).on('error', () => undefined);
      far.on('data', (bytes) => near.write(bytes)).on('error', () => undefined);
      sockets.push(near, far);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await database.drop();
  });

  it('is asked whether it accepts writes, and used', async () => {
    const url = new URL(database.url);
    const hosts = `127.0.0.1:1,127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const prisma = openPrisma(url.href.replace(url.host, hosts), { connectTimeoutMs: 10_000 });
    expect(await prisma.account.count()).toBeGreaterThan(0);
    for (const socket of sockets) socket.destroy();
    await prisma.close();
  });
});
