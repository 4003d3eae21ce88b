import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { doctor } from '../../apps/standalone/src/commands/doctor.js';

const NOBODY = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1' };

// Real: doctor, on a machine where nothing runs.
describe('doctor', () => {
  async function report(env: Record<string, string> = {}): Promise<string[]> {
    const lines: string[] = [];
    await doctor({ ...NOBODY, SECRET_KEY: 's'.padEnd(40, 'x'), ...env }, (line) => lines.push(line));
    return lines;
  }

  async function warnings(env: Record<string, string>): Promise<string[]> {
    return (await report(env)).filter((line) => line.startsWith('warn  settings'));
  }

  it('advises on rights only a Redis that refused something', async () => {
    const rights = (await report()).find((line) => line.startsWith('fail  redis rights'));
    expect(rights).toBeDefined();
    expect(rights).not.toContain('allow the user');
  });

  it('fails for a secret that production refuses, in the same words', async () => {
    const settings = async (env: Record<string, string>) => (await report(env)).find((l) => l.includes('  settings  '));
    const production = { NODE_ENV: 'production', DATA_DIR: tmpdir() };
    expect(await settings({ ...production, SECRET_KEY: 'change-me-'.repeat(4), DATABASE_POOL: 'x' })).toMatch(
      /^fail {2}settings .*DATABASE_POOL must be a number; SECRET_KEY is easy to guess; generate a random one$/,
    );
    expect(await settings({ ...production, SECRET_KEY: randomBytes(32).toString('hex') })).toMatch(/^ok /);
    // `npm start` generates its own.
    expect(await settings({ ...production, SECRET_KEY: '' })).toMatch(/^ok /);
  });

  it('warns of a deployment that is open to directives, or whose processes may not share a folder', async () => {
    expect(await warnings({ DATA_DIR: 'data' })).toEqual([
      expect.stringContaining('NODE_ENV is not production'),
      expect.stringContaining('DATA_DIR is relative'),
    ]);
  });

  it.each([
    ['an absolute folder', { DATA_DIR: tmpdir() }],
    ['S3', { STORAGE: 's3', S3_BUCKET: 'images', S3_ENDPOINT: 'http://127.0.0.1:1' }],
  ])('does not warn of one with %s', async (_, env) => {
    expect(await warnings({ NODE_ENV: 'production', ...env })).toEqual([]);
  });
});
