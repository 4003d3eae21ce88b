import { waitUntil } from '#embedded/wait-until.js';
import { FREQUENT_CHECKS, startApiPlatform, type ApiPlatform } from '../support/platform.js';

// Providers do this when the disk of a database is full: reads go on, and so do messages in its log.
describe('a database that was made read-only while the API runs', () => {
  let platform: ApiPlatform;
  beforeAll(async () => {
    platform = await startApiPlatform(FREQUENT_CHECKS);
  });
  afterAll(() => platform.close());

  async function commits(): Promise<unknown> {
    const response = await fetch(`${platform.url}/readyz`);
    const { dependencies } = (await response.json()) as { dependencies: Record<string, { state: string }> };
    // It can answer reads.
    expect(response.status).toBe(200);
    return dependencies['commits']?.state;
  }
  async function submit(): Promise<number> {
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a pier' };
    const response = await platform.call('/v1/images/generations/async', { body });
    await response.text();
    return response.status;
  }
  /** Sessions keep what they began with, so they are ended, as a provider does. */
  async function set(statement: string): Promise<void> {
    const name = (await platform.pool.query<{ name: string }>('SELECT current_database() AS name')).rows[0]?.name ?? '';
    await platform.pool.query(`ALTER DATABASE "${name}" ${statement}`);
    await platform.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'darkroom api %'`,
    );
  }

  it('is reported by probes and the log, while work is refused for now and reads go on', async () => {
    expect(await waitUntil(async () => (await commits()) === 'ok', { timeoutMs: 60_000 })).toBe(true);
    expect(await submit()).toBe(202);
    await set('SET default_transaction_read_only = on');
    expect(await waitUntil(async () => (await commits()) === 'failing', { timeoutMs: 60_000 })).toBe(true);
    const isTold = (line: Record<string, unknown>): boolean =>
      line['event'] === 'dependency.lost' && line['code'] === 'commits';
    expect(await waitUntil(() => platform.api.logs().some(isTold), { timeoutMs: 30_000 })).toBe(true);
    expect(JSON.stringify(platform.api.logs().find(isTold))).toContain('read-only transaction');
    expect(await submit()).toBe(503);
    // A connection that was closed may be noticed by its next statement.
    const reads = async (): Promise<boolean> => (await platform.call('/v1/tasks')).status === 200;
    expect(await waitUntil(reads, { timeoutMs: 30_000 })).toBe(true);
    await set('RESET default_transaction_read_only');
    expect(await waitUntil(async () => (await commits()) === 'ok', { timeoutMs: 60_000 })).toBe(true);
    // A connection that was closed may be noticed by its next statement.
    expect(await waitUntil(async () => (await submit()) === 202, { timeoutMs: 30_000 })).toBe(true);
  });
});
