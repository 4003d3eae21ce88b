import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { patient } from '../support/patience.js';
import { createEmptyDatabase } from '../support/postgres.js';

// Real: the commands' own processes, and a database that a command would change.
describe('help of a command', () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let folder: string;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-help-'));
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  function run(args: readonly string[], changes: Record<string, string> = {}, main = 'bin/darkroom.mjs') {
    const env = { PATH: process.env['PATH'], DATA_DIR: folder, DATABASE_URL: database.url, ...changes };
    return new Promise<{ code: number; text: string; problem: string }>((done) => {
      execFile(
        process.execPath,
        [resolve(main), ...args],
        { env, timeout: patient(50_000) },
        (error, text, problem) => {
          done({ code: error === null ? 0 : Number(error.code), text, problem });
        },
      );
    });
  }

  async function tables(): Promise<number> {
    const client = new pg.Client(database.url);
    await client.connect();
    const { rowCount } = await client.query(`SELECT FROM pg_tables WHERE schemaname = 'public'`);
    await client.end();
    return rowCount ?? NaN;
  }

  it.each(['migrate', 'bucket', 'start', 'api', 'worker', 'doctor'])('%s only prints its usage', async (name) => {
    for (const flag of ['--help', '-h']) {
      const { code, text, problem } = await run([name, flag], { SECRET_KEY: 'short' });
      expect([code, problem]).toEqual([0, '']);
      expect(text).toMatch(new RegExp(`^Usage: darkroom ${name} \\[options\\]\\n\\n[A-Z]`));
    }
    expect(await tables()).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });

  it('npm start only prints its usage', async () => {
    const { code, text } = await run(['--help'], {}, 'scripts/run/start.mjs');
    expect([code, text]).toEqual([0, expect.stringContaining('Usage: darkroom start [options]')]);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['migrate', 'bucket', 'start'])('%s does nothing with arguments that it does not know', async (name) => {
    expect(await run([name, 'now'])).toMatchObject({ code: 1, problem: expect.stringContaining('too many arguments') });
    expect(await run([name, '--dry-run'])).toMatchObject({
      code: 1,
      problem: expect.stringContaining(`unknown option '--dry-run'`),
    });
    expect(await tables()).toBe(0);
  });

  it('bucket with S3 settings prints nothing of the SDK, and says which bucket name is too short', async () => {
    const s3 = { STORAGE: 's3', S3_ENDPOINT: 'http://127.0.0.1:1', S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b' };
    const { code, problem } = await run(['bucket'], { ...s3, S3_BUCKET: 'images' });
    expect(code).toBe(1);
    expect(problem).toMatch(/^The bucket images can't be reached: .*\n$/);
    expect((await run(['bucket'], { ...s3, S3_BUCKET: 'b' })).problem).toMatch(
      /S3_BUCKET must name a bucket, of 3 to 63 /,
    );
  });
});
