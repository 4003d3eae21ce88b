import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { isRunning } from '#embedded/leftover.js';
import { startPostgres, type EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { runCommand } from '#embedded/run-command.js';
import { SetupError } from '#embedded/setup-error.js';
import { waitUntil } from '#embedded/wait-until.js';
import { patient } from '../support/patience.js';

// Real: the embedded Postgres, and the Redis of this machine or of its distribution.
const TOOLS = [resolve('node_modules', '.cache', 'darkroom')];
let folder: string;
let running: EmbeddedService[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-embedded-'));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((service) => service.stop()));
  await rm(folder, { recursive: true, force: true });
});

async function postgres(password = 'pass word/@:'): Promise<EmbeddedService> {
  const options = { folder: join(folder, 'pg'), password, database: 'images', log: join(folder, 'pg.log') };
  const service = await startPostgres({ ...options, durable: false });
  running.push(service);
  return service;
}

async function redis(durable = true): Promise<EmbeddedService> {
  const options = { folder: join(folder, 'redis'), password: 'secret', log: join(folder, 'redis.log') };
  const service = await startRedis({ ...options, toolFolders: TOOLS, durable });
  running.push(service);
  return service;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: patient(5_000) });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function withRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { retryStrategy: () => null, commandTimeout: patient(5_000) });
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

describe('startPostgres', () => {
  it('keeps data and address over a stop and a start, and leaves no process', async () => {
    const first = await postgres();
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS value');
    await first.stop();
    expect(isRunning(first.pid)).toBe(false);
    const second = await postgres();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT value FROM kept')).toEqual([{ value: 7 }]);
  });

  it('asks everyone for the password and listens on this machine only', async () => {
    const { url, port } = await postgres();
    const wrong = url.replace(/:[^:@]+@/, ':wrong@');
    await expect(query(wrong, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect((await stat(join(folder, 'pg', 'data'))).mode & 0o077).toBe(0);
    expect(port).toBeGreaterThan(1023);
  });

  it('stops the server that a killed run left behind', async () => {
    const orphan = await postgres();
    await query(orphan.url, 'CREATE TABLE kept AS SELECT 8 AS value');
    const next = await postgres();
    expect(isRunning(orphan.pid)).toBe(false);
    expect(await query(next.url, 'SELECT value FROM kept')).toEqual([{ value: 8 }]);
  });

  it('starts beside a pid file whose number now belongs to another program', async () => {
    const first = await postgres();
    await first.stop();
    await writeFile(join(folder, 'pg', 'data', 'postmaster.pid'), `${process.pid}\n`);
    const second = await postgres();
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('moves to another port when the kept one is taken', async () => {
    const first = await postgres();
    await first.stop();
    const server = createServer().listen(first.port, '127.0.0.1');
    await once(server, 'listening');
    try {
      const second = await postgres();
      expect(second.port).not.toBe(first.port);
      expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      server.close();
    }
  });

  it('says in a sentence that the password does not fit, and leaves no server running', async () => {
    await (await postgres('old')).stop();
    await expect(postgres('new')).rejects.toThrow(SetupError);
    await expect(stat(join(folder, 'pg', 'data', 'postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  it('is interrupted while it makes the cluster, and starts well the next time', async () => {
    const controller = new AbortController();
    const options = { folder: join(folder, 'pg'), password: 'p', database: 'd', log: join(folder, 'pg.log') };
    const starting = startPostgres({ ...options, signal: controller.signal });
    const passwordFile = join(folder, 'pg', 'data.password');
    await waitUntil(
      () =>
        stat(passwordFile).then(
          () => true,
          () => false,
        ),
      { timeoutMs: 20_000, everyMs: 2 },
    );
    controller.abort();
    await expect(starting).rejects.toThrow('aborted');
    await expect(stat(passwordFile)).rejects.toThrow('ENOENT');
    // The database that initdb makes last: it was ended, not waited for.
    await expect(stat(join(folder, 'pg', 'data.new', 'base', '5'))).rejects.toThrow('ENOENT');
    expect(await query((await postgres('p')).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('ends with the process that started it, even when that is killed', async () => {
    const wrap = await runCommand(['setpriv', '--pdeathsig', 'SIGTERM', 'true'], { timeoutMs: patient(5_000) });
    const module = JSON.stringify(resolve('dist', 'libs', 'embedded', 'postgres.js'));
    const options = JSON.stringify({
      folder: join(folder, 'pg'),
      password: 'p',
      database: 'd',
      log: join(folder, 'l'),
    });
    const script = `const { startPostgres } = await import(${module});
      console.log((await startPostgres(${options})).pid); setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = Number(String((await once(parent.stdout, 'data'))[0]));
    expect(isRunning(pid)).toBe(true);
    parent.kill('SIGKILL');
    if (wrap.ok) expect(await waitUntil(() => !isRunning(pid), { timeoutMs: 30_000 })).toBe(true);
    expect(await query((await postgres('p')).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(isRunning(pid)).toBe(false);
  });
});

describe('startRedis', () => {
  it('never evicts, appends to a file, and keeps what was written', async () => {
    const first = await redis();
    await withRedis(first.url, async (client) => {
      expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
      expect(await client.config('GET', 'appendfsync')).toEqual(['appendfsync', 'everysec']);
      expect(await client.info('persistence')).toContain('aof_enabled:1');
      await client.set('kept', '9');
    });
    await first.stop();
    expect(isRunning(first.pid)).toBe(false);
    const second = await redis();
    expect(second.url).toBe(first.url);
    expect(await withRedis(second.url, (client) => client.get('kept'))).toBe('9');
  });

  it('asks for the password, which no process list shows', async () => {
    const { url, pid } = await redis();
    const stranger = withRedis(url.replace(':secret@', ''), (client) => client.get('kept'));
    await expect(stranger).rejects.toThrow('NOAUTH');
    const listed = await runCommand(['sh', '-c', `tr '\\0' ' ' < /proc/${pid}/cmdline`], { timeoutMs: patient(5_000) });
    expect(listed.stdout).not.toContain('secret');
    expect((await stat(join(folder, 'redis', 'redis.conf'))).mode & 0o077).toBe(0);
  });

  it('stops the server that a killed run left behind', async () => {
    const orphan = await redis();
    await withRedis(orphan.url, (client) => client.set('kept', '10'));
    const next = await redis();
    expect(isRunning(orphan.pid)).toBe(false);
    expect(await withRedis(next.url, (client) => client.get('kept'))).toBe('10');
  });

  it('says what to do where there is neither a Redis nor a way to fetch one', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = folder;
    try {
      const options = { folder: join(folder, 'redis'), password: 'secret', log: join(folder, 'redis.log') };
      const starting = startRedis({ ...options, toolFolders: [join(folder, 'tools')] });
      await expect(starting).rejects.toThrow(/REDIS_URL/);
      await expect(readFile(join(folder, 'redis.log'))).rejects.toThrow('ENOENT');
    } finally {
      process.env['PATH'] = path;
    }
  });
});
