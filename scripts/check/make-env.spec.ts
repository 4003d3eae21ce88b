import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the compose file requires, and nobody has chosen. */
const SECRETS = requiredBy('docker-compose.yml');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-make-env-'));
  await cp('deploy', join(folder, 'deploy'), { recursive: true });
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function requiredBy(file: string): string[] {
  const names = readFileSync(file, 'utf8').matchAll(/(?<!\$)\$\{([A-Z0-9_]+):\?/g);
  return [...new Set([...names].map(([, name = '']) => name))];
}

function makeEnvironment(): number | null {
  return spawnSync('sh', [join(folder, 'deploy', 'make-env.sh')], { timeout: 60_000 }).status;
}

async function entries(file: string): Promise<Map<string, string>> {
  const lines = (await readFile(join(folder, file), 'utf8')).split('\n').filter((line) => /^[A-Z0-9_]+=/.test(line));
  return new Map(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

it('O2: makes secrets of our own and never a key of a vendor, so that no prompt goes out with a made-up one', async () => {
  expect(SECRETS).toContain('SECRET_KEY');
  expect(makeEnvironment()).toBe(0);
  const example = await entries('deploy/env.example');
  const created = await entries('.env');
  expect(created.get('OPENAI_API_KEY')).toBe('');
  for (const name of SECRETS) expect(created.get(name)).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(SECRETS.map((name) => created.get(name))).size).toBe(SECRETS.length);
  const others = (all: Map<string, string>) => [...all].filter(([name]) => !SECRETS.includes(name));
  expect(others(created)).toEqual(others(example));
  expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600);
});

it('leaves an .env alone that is there, whose secrets may be in use', async () => {
  makeEnvironment();
  const before = await readFile(join(folder, '.env'), 'utf8');
  expect(makeEnvironment()).toBe(1);
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe(before);
});

it('reads an example that Git checked out with CRLF, whose lines would otherwise get no secrets', async () => {
  const example = join(folder, 'deploy', 'env.example');
  await writeFile(example, (await readFile(example, 'utf8')).replaceAll('\n', '\r\n'));
  expect(makeEnvironment()).toBe(0);
  const created = await readFile(join(folder, '.env'), 'utf8');
  expect(created).not.toContain('\r');
  for (const name of SECRETS) expect((await entries('.env')).get(name)).toMatch(/^[0-9a-f]{64}$/);
});

it('is checked out with LF on every system, like all that shells and programs in containers read', () => {
  const files = [
    ...['deploy/make-env.sh', 'deploy/upgrade.sh', 'deploy/env.example', 'deploy/postgres.sql', 'deploy/haproxy.cfg'],
    ...['bin/darkroom.mjs', '.ci/run', 'prisma/migrations/migration_lock.toml', 'docker-compose.yml'],
  ];
  const { stdout } = spawnSync('git', ['check-attr', 'eol', '--', ...files], { encoding: 'utf8', timeout: 60_000 });
  expect(stdout.trim().split('\n')).toEqual(files.map((file) => `${file}: eol: lf`));
});
