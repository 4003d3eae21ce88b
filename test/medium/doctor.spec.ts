import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

  it('goes on with the other checks when settings are invalid, and names them all', async () => {
    const lines = await report({ SECRET_KEY: 'short', WORKERS: '0', DATABASE_POOL: 'x', DATA_DIR: tmpdir() });
    const problems = [
      'DATABASE_POOL must be a number',
      'SECRET_KEY must have at least 32 characters',
      'WORKERS must not be less than 1',
    ];
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^fail {2}settings {12}${problems.join('; ')}$`)));
    expect(lines).toContainEqual(expect.stringMatching(/^fail {2}secrets .* SECRET_KEY must have at least 32/));
    expect(lines).toContainEqual(expect.stringMatching(/^fail {2}redis {2}/));
    expect(lines).toContainEqual(expect.stringMatching(/^ok {4}storage /));
  });

  it('warns of models that end soon or have ended, and says what to use instead', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
    const file = join(folder, 'models.yaml');
    const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    // Once: the day may end while doctor runs.
    const [soon, later] = [day(29), day(40)];
    const model = (end: string): string => `{ kind: image, shutdown_date: ${end}, routes: [{ provider: drawn }] }`;
    await writeFile(
      file,
      `providers: { drawn: { type: sandbox } }
models:
  soon: ${model(soon)}
  later: ${model(later)}
  gone: { kind: image, shutdown_date: 2026-02-01, successors: [soon, later], routes: [{ provider: drawn }] }
`,
    );
    const lines = await report({ MODELS_FILE: file, DATA_DIR: folder });
    expect(lines.filter((line) => /^\w+ +models /.test(line))).toEqual([
      `warn  models              3 in ${file}; soon ends on ${soon}; gone ended on 2026-02-01 (use soon or later)`,
    ]);
    await rm(folder, { recursive: true });
  });

  it('goes on with the other checks when the state of a running product can’t be read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
    // A folder can't be read as a file, not even by root.
    await mkdir(join(folder, 'standalone.json'));
    const failed = async (env: Record<string, string>) =>
      (await report({ DATA_DIR: folder, ...env })).filter((line) =>
        /^fail .*standalone\.json can't be read/.test(line),
      );
    expect(await failed({})).toEqual([
      expect.stringMatching(/^fail {2}models /),
      expect.stringMatching(/^fail {2}public url /),
    ]);
    expect(await failed({ MODELS_FILE: 'models.yaml', PUBLIC_URL: 'http://127.0.0.1:1' })).toEqual([]);
    expect(await failed({ REDIS_URL: '' })).toContainEqual(expect.stringMatching(/^fail {2}redis /));
    expect(await failed({ DATABASE_URL: '' })).toEqual([expect.stringMatching(/^fail {2}darkroom /)]);
    await rm(folder, { recursive: true });
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
