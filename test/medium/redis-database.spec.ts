import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { QueueHealth } from '#queue/queue-health.js';
import { patientConnection, producerConnection } from '#redis/connections.js';
import { RedisConfig } from '#redis/redis.config.js';
import { Logger } from '#telemetry/logger.js';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';
import { freePort } from '../support/free-port.js';
import { OwnRedis, REDIS_PASSWORD } from '../support/own-redis.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { createTestDatabase } from '../support/postgres.js';

// Real: Redis with two databases, users who may not select one, and a cluster of one server. ioredis would go on in
// database 0, where another installation may have its jobs.
describe('the database that REDIS_URL names', () => {
  let redis: OwnRedis;
  let server: { readonly url: string };
  let admin: Redis;
  const opened: Redis[] = [];
  const lines: string[] = [];
  const logger = new Logger('test', 'debug', { write: (line) => lines.push(line) });

  beforeAll(async () => {
    redis = await OwnRedis.open();
    server = await redis.start('small', ['databases 2']);
    admin = new Redis(server.url, { commandTimeout: 20_000 });
  });
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.disconnect();
    lines.length = 0;
  });
  afterAll(async () => {
    admin.disconnect();
    await redis.close();
  });

  function urlOf(database: number, user = '', password = REDIS_PASSWORD, at = server.url): string {
    const url = new URL(at);
    [url.username, url.password, url.pathname] = [user, encodeURIComponent(password), `/${database}`];
    return url.href;
  }
  function open(REDIS_URL: string) {
    const [config] = loadConfig([RedisConfig], { REDIS_URL, REDIS_COMMAND_TIMEOUT_MS: '20000' });
    const producer = producerConnection(config, logger);
    const patient = patientConnection(config, 'jobs', logger);
    // As BullMQ copies it for its blocking reads.
    const copy = patient.duplicate({ maxRetriesPerRequest: null });
    copy.on('error', () => undefined);
    opened.push(producer, patient, copy);
    return { config, producer, patient, copy, health: new QueueHealth(producer, config) };
  }
  async function told(check: string, REDIS_URL: string): Promise<string> {
    const said: string[] = [];
    const env = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', SECRET_KEY: 's'.padEnd(40, 'x'), REDIS_URL };
    await doctor(env, (line) => said.push(line));
    return said.find((line) => line.slice(6).startsWith(check.padEnd(18))) ?? '';
  }
  const isRefused = async (connection: { readonly refusal: Error | undefined }): Promise<boolean> =>
    await waitUntil(() => connection.refusal !== undefined, { timeoutMs: 30_000 });
  /** Where the server sees the connections of ours that are not the test's own. */
  async function databases(): Promise<string[]> {
    const list = String(await admin.client('LIST'));
    const own = await admin.client('ID');
    return list
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith(`id=${own} `))
      .map((line) => / db=(\d+)/.exec(line)?.[1] ?? '');
  }

  it('is the one that is used, also by copies', async () => {
    const { producer, patient, copy, health } = open(urlOf(1));
    for (const one of [producer, patient, copy])
      expect(await waitUntil(() => one.status === 'ready', { timeoutMs: 30_000 })).toBe(true);
    expect(await databases()).toEqual(['1', '1', '1']);
    await health.check();
    expect(health.accepting).toBe(true);
    health.stop();
    expect(await told('redis mode', urlOf(1))).toMatch(/^ok .*database 1$/);
  });

  it.each([
    ['that the server does not have', () => urlOf(5), /database 5 of REDIS_URL: ERR .*out of range/],
    ['that the user may not select', () => urlOf(1, 'narrow', 'a:b@c/d#e?f%'), /database 1 of REDIS_URL: NOPERM/],
  ])('is never replaced by database 0: one %s', async (_, url, reason) => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'on', '>a:b@c/d#e?f%', '~*', '&*', '+@all', '-select');
    const { producer, patient, copy, health } = open(url());
    expect(await isRefused(producer)).toBe(true);
    expect(await isRefused(patient)).toBe(true);
    expect(health.accepting).toBe(false);
    await expect(health.check()).rejects.toThrow(reason);
    await expect(producer.set('here', '1')).rejects.toThrow();
    void patient.set('here', '2').catch(() => undefined);
    void copy.set('here', '3').catch(() => undefined);
    // The next tries of all three, too.
    const tries = (): number => lines.filter((line) => line.includes('redis.unreachable')).length;
    expect(await waitUntil(() => tries() >= 2, { timeoutMs: 30_000 })).toBe(true);
    expect(await admin.exists('here')).toBe(0);
    expect(lines.join('\n')).toMatch(reason);
    expect(await told('redis', url())).toMatch(
      /^fail .*Name one that it has \(setting databases\), and allow the user/,
    );
  });

  it('keeps npm start from starting, with the reason', async () => {
    const database = await createTestDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-redis-database-'));
    const env = {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      REDIS_URL: urlOf(5),
      DATA_DIR: folder,
      PORT: String(await freePort()),
      ...LONG_TIMEOUTS,
    };
    const child = spawn(process.execPath, [resolve('dist', 'apps', 'standalone', 'src', 'main.js'), 'start'], { env });
    const [[code], , error] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    expect(code).toBe(1);
    expect(error).toMatch(/database 5 of REDIS_URL: ERR/);
    await rm(folder, { recursive: true });
    await database.drop();
  });

  it('is used again once the user may select it', async () => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'reset', 'on', '>secret', '~*', '&*', '+@all');
    const { producer, health } = open(urlOf(1, 'narrow', 'secret'));
    expect(await waitUntil(() => producer.status === 'ready', { timeoutMs: 30_000 })).toBe(true);
    await admin.call('ACL', 'SETUSER', 'narrow', '-select');
    await admin.call('CLIENT', 'KILL', 'USER', 'narrow');
    expect(await isRefused(producer)).toBe(true);
    expect(health.accepting).toBe(false);
    await admin.call('ACL', 'SETUSER', 'narrow', '+select');
    expect(await waitUntil(() => producer.status === 'ready', { timeoutMs: 30_000 })).toBe(true);
    expect(producer.refusal).toBeUndefined();
    await health.check();
  });

  it('needs no right to be selected when it is the first', async () => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-select');
    const { producer, health } = open(urlOf(0, 'narrow', 'secret'));
    expect(await waitUntil(() => producer.status === 'ready', { timeoutMs: 30_000 })).toBe(true);
    await health.check();
  });

  it('is not in a cluster, which is refused by name', async () => {
    const cluster = await redis.start('cluster', ['cluster-enabled yes', 'appendonly no']);
    const { producer, health } = open(urlOf(0, '', REDIS_PASSWORD, cluster.url));
    expect(await waitUntil(() => producer.status === 'ready', { timeoutMs: 30_000 })).toBe(true);
    await expect(health.check()).rejects.toThrow(/Redis Cluster is not supported/);
    expect(health.accepting).toBe(false);
    expect(await told('redis mode', cluster.url)).toMatch(/^fail .*Redis Cluster is not supported/);
  });
});
