import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { loadConfig } from '#config/load-config.js';
import { createPool } from '#database/create-pool.js';
import { DatabaseConfig } from '#database/database.config.js';
import { inTransaction } from '#database/queryable.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

// Real: Postgres, and connections that are reset without a word, as when a server process is killed. Only an error that
// nobody listens for ends the process.
describe('a connection to Postgres that is reset', () => {
  let room: TaskRoom;
  let proxy: Server;
  let connections: number;
  /** Whether to reset the connection with this number, which sends this. */
  let isReset: (sent: Buffer, connection: number) => boolean;

  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());
  beforeEach(async () => {
    connections = 0;
    const { hostname, port } = new URL(room.databaseUrl);
    proxy = createServer((near) => {
      const number = ++connections;
      const far = connect(Number(port), hostname);
      for (const socket of [near, far]) socket.on('error', () => undefined);
      near.on('data', (sent) => {
        if (!isReset(sent, number)) return void far.write(sent);
        near.resetAndDestroy();
        far.destroy();
      });
      far.on('data', (answer) => near.write(answer));
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterEach(() => {
    proxy.close();
  });

  /** A pool whose connections lead through the proxy. */
  function poolThrough(settings: Record<string, string> = {}, hosts = 1) {
    const url = new URL(room.databaseUrl);
    const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const DATABASE_URL = url.href.replace(url.host, Array<string>(hosts).fill(host).join(','));
    const limits = { DATABASE_CONNECT_TIMEOUT_MS: '20000', DATABASE_QUERY_TIMEOUT_MS: '20000' };
    return createPool(loadConfig([DatabaseConfig], { ...limits, ...settings, DATABASE_URL })[0], room.logger);
  }

  it.each([
    ['in a transaction', {}, 1, (sent: Buffer) => sent.includes('SELECT 2')],
    [
      'before its session is set up, behind a pooler',
      { DATABASE_POOLER: 'transaction' },
      1,
      (sent: Buffer) => sent.includes('SET TimeZone'),
    ],
    [
      'before it says what it is, of several hosts',
      {},
      2,
      (sent: Buffer, connection: number) => connection > 2 && sent.includes('pg_is_in_recovery'),
    ],
  ])('%s is an error of its caller, and ends nothing', async (_name, settings, hosts, when) => {
    isReset = when;
    const pool = poolThrough(settings, hosts);
    const two = async () =>
      await inTransaction(pool, async (client) => (await client.query<{ two: number }>('SELECT 2 AS two')).rows);
    await expect(two()).rejects.toThrow();
    isReset = () => false;
    expect(await two()).toEqual([{ two: 2 }]);
    await pool.end();
  });
});
