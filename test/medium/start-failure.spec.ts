import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { createTestRedis } from '../support/redis.js';

// Real: both processes as operators start them, Postgres and Redis.
describe('a process that cannot start', () => {
  let database: TestDatabase;
  let folder: string;
  let taken: Server;
  let settings: Record<string, string>;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-start-'));
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    settings = {
      DATABASE_URL: database.url,
      REDIS_URL: createTestRedis().url,
      SECRET_KEY: 's'.padEnd(40, 'x'),
      DATA_DIR: folder,
      HOST: '127.0.0.1',
      PORT: port,
      WORKER_HEALTH_PORT: port,
    };
  });
  afterAll(async () => {
    taken.close();
    await database.drop();
    await rm(folder, { recursive: true });
  });

  async function start(role: string, changes: Record<string, string>) {
    const child = spawn(process.execPath, [resolve('dist', 'bin', `${role}.js`)], {
      env: { PATH: process.env['PATH'], ...settings, ...changes },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [[code], output, error] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    return { code: code as number, output, error };
  }

  const FILE = `Invalid settings:
  - MODELS_FILE can't be read: ENOENT: no such file or directory, open '/nowhere/models.yaml'
`;

  it.each(['api', 'worker'])('the %s says in one line which file is missing, in plain text', async (role) => {
    expect(await start(role, { MODELS_FILE: '/nowhere/models.yaml' })).toEqual({ code: 1, output: '', error: FILE });
  });

  it.each(['api', 'worker'])('the %s names a guessable secret together with its other settings', async (role) => {
    const changes = { NODE_ENV: 'production', SECRET_KEY: 'a'.repeat(40), DATABASE_POOL: 'x' };
    const problems = `Invalid settings:
  - DATABASE_POOL must be a number
  - SECRET_KEY is easy to guess; generate a random one
`;
    expect(await start(role, changes)).toEqual({ code: 1, output: '', error: problems });
  });

  it.each(['api', 'worker'])(
    'the %s names what a URL says that would be ignored, instead of ignoring it',
    async (role) => {
      const changes = {
        DATABASE_URL: `${settings['DATABASE_URL'] ?? ''}?schema=second`,
        REDIS_URL: 'redis://localhost/0?keyPrefix=mine',
        SMTP_URL: 'smtp://localhost?pool=true',
      };
      const { code, error } = await start(role, changes);
      expect(code).toBe(1);
      for (const problem of [
        /DATABASE_URL has the parameter schema, /,
        /REDIS_URL has a query \(\?keyPrefix\)/,
        /SMTP_URL must/,
      ])
        expect(error).toMatch(problem);
    },
  );

  it.each(['api', 'worker'])('the %s says in one line that its port is taken', async (role) => {
    const { code, error } = await start(role, LONG_TIMEOUTS);
    expect(code).toBe(1);
    expect(error).toMatch(/^Error: listen EADDRINUSE: address already in use \S+:\d+\n$/);
  });
});
