import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '#database/migrate.js';
import { startPostgres, type EmbeddedService } from '#embedded/postgres.js';
import { waitUntil } from '#embedded/wait-until.js';
import { giveUpStatement } from '../support/give-up.js';
import { openPrisma } from '../support/open-prisma.js';
import { patient } from '../support/patience.js';
import { TEST_CERTIFICATE } from '../support/test-certificate.js';

describe('a Postgres that takes TLS alone, with a certificate authority of its own', () => {
  let folder: string;
  let server: EmbeddedService;
  let authority: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-tls-'));
    authority = join(folder, 'ca.pem');
    await writeFile(authority, TEST_CERTIFICATE.cert);
    const home = join(folder, 'postgres');
    const log = join(folder, 'postgres.log');
    server = await startPostgres({ folder: home, password: 'tls', database: 'darkroom', log, durable: false });
    const data = join(home, 'data');
    const { uid, gid } = await stat(data);
    for (const [name, text] of [
      ['server.crt', TEST_CERTIFICATE.cert],
      ['server.key', TEST_CERTIFICATE.key],
      ['pg_hba.conf', 'hostssl all all all scram-sha-256\n'],
    ] as const) {
      await writeFile(join(data, name), text, { mode: 0o600 });
      await chown(join(data, name), uid, gid);
    }
    await reload(['ALTER SYSTEM SET ssl = on', 'SELECT pg_reload_conf()']);
    expect(await waitUntil(async () => /no encryption/.test(await refusal('')), { timeoutMs: 30_000 })).toBe(true);
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function reload(statements: readonly string[]): Promise<void> {
    const client = new pg.Client({ connectionString: server.url, query_timeout: patient(10_000) });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  }

  /** Why an address with these parameters is of no use; empty when it is. */
  async function refusal(parameters: string): Promise<string> {
    const database = openPrisma(server.url + parameters);
    const reason = await database.ping().then(() => '', String);
    await database.close();
    return reason;
  }

  it('Also: is migrated and used with sslrootcert in DATABASE_URL', async () => {
    const url = `${server.url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(authority)}`;
    expect((await migrate(url, 'prisma/migrations')).length).toBeGreaterThan(0);
    const database = openPrisma(url);
    const { rows } = await database.pool.query(
      'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND version IS NOT NULL',
    );
    expect(rows).toEqual([{ ssl: true }]);
    expect(await database.account.count()).toBe(1);
    await database.close();
  });

  it.each(['verify-full', 'require', 'verify-ca', 'prefer'])('trusts nobody else with sslmode=%s', async (mode) => {
    const warnings: string[] = [];
    // The process's warnings, which an earlier file may have caused too.
    const hear = ({ message }: Error): unknown => /ssl/i.test(message) && warnings.push(message);
    process.on('warning', hear);
    expect(await refusal(`?sslmode=${mode}`)).toMatch(/self-signed certificate/);
    expect(await refusal(`?sslmode=${mode}&sslrootcert=${encodeURIComponent(authority)}`)).toBe('');
    process.off('warning', hear);
    expect(warnings).toEqual([]);
  });

  it('stops the statements that are given up', async () => {
    await giveUpStatement(`${server.url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(authority)}`);
  });

  it('is not talked to in the clear', async () => {
    expect(await refusal('?sslmode=disable')).toMatch(/no encryption/);
    expect(await refusal('?sslmode=no-verify')).toBe('');
  });
});
