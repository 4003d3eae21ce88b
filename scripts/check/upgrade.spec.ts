import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { UPGRADE_STEPS } from '../../test/support/upgrade-steps.js';

// Real: the script, in the system's own shell. `docker` is a stand-in that keeps containers in files; so are its clock's `date` and `sleep`.
interface Call {
  /** How many APIs were healthy after it, and how many workers there were. */
  readonly apis: number;
  readonly workers: number;
  readonly words: string;
}
interface Outcome {
  readonly status: number | null;
  readonly said: string;
  readonly steps: readonly string[];
  readonly calls: readonly Call[];
  /** What the name of our image leads to. */
  readonly image: string;
  /** By id: service, version, health. */
  readonly containers: Readonly<Record<string, string>>;
}

const OLD = {
  'api-a': 'api old healthy',
  'api-b': 'api old healthy',
  'worker-a': 'worker old healthy',
  'worker-b': 'worker old healthy',
};
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'darkroom-upgrade-'));
  for (const name of ['docker', 'date', 'sleep']) {
    copyFileSync('test/support/docker-stand-in.sh', join(folder, name));
    chmodSync(join(folder, name), 0o755);
  }
  mkdirSync(join(folder, 'containers'));
  writeFileSync(join(folder, 'made'), '0');
  writeFileSync(join(folder, 'clock'), '0');
  writeFileSync(join(folder, 'calls'), '');
  writeFileSync(join(folder, 'image'), 'image-old');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function upgrade(
  faults: Readonly<Record<string, string>> = {},
  containers: Readonly<Record<string, string>> = OLD,
): Outcome {
  for (const [id, state] of Object.entries(containers)) writeFileSync(join(folder, 'containers', id), `${state}\n`);
  const PATH = `${folder}${delimiter}${process.env['PATH']}`;
  const script = `echo $$ > '${folder}/pid'; exec sh '${resolve('deploy/upgrade.sh')}'`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
    env: { PATH, DOCKER_STATE: folder, UPGRADE_WAIT_SECONDS: '1', ...faults },
    encoding: 'utf8',
    timeout: 60_000,
  });
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8').trim();
  const calls = read('calls')
    .split('\n')
    .map((line) => {
      const [apis, workers, ...words] = line.trim().split(' ');
      return { apis: Number(apis), workers: Number(workers), words: words.join(' ') };
    });
  const ids = readdirSync(join(folder, 'containers'));
  return {
    status,
    said: stderr,
    calls,
    image: read('image'),
    steps: [...stdout.matchAll(/^== (\S+):/gm)].map(([, step = '']) => step),
    containers: Object.fromEntries(ids.map((id) => [id, read(join('containers', id))])),
  };
}

const versions = ({ containers }: Outcome): string[] =>
  Object.values(containers).map((state) => state.split(' ').slice(0, 2).join(' '));

it('O12: replaces APIs one by one and then the workers, each new one before an old one goes', () => {
  const outcome = upgrade();
  expect([outcome.status, outcome.said]).toEqual([0, '']);
  const [build, migrate, start, find, stop, ...workers] = UPGRADE_STEPS;
  expect(outcome.steps).toEqual([build, migrate, start, find, stop, start, find, stop, ...workers]);
  expect(versions(outcome)).toEqual(['api new', 'api new', 'worker new', 'worker new']);
  expect(outcome.image).toBe('image-new');
  expect(Math.min(...outcome.calls.map(({ apis }) => apis))).toBe(2);
  expect(Math.max(...outcome.calls.map(({ apis }) => apis))).toBe(3);
  expect(Math.min(...outcome.calls.map(({ workers: number }) => number))).toBe(2);
  const changing = outcome.calls.map(({ words }) => words).filter((call) => /^stop|^compose (build|run|up)/.test(call));
  const up = (scale: string): string =>
    `compose up --detach --no-deps --no-recreate --no-build --scale ${scale} ${scale.split('=')[0]}`;
  expect(changing).toEqual([
    ...['compose build migrate', 'compose run --rm --no-deps migrate'],
    ...[up('api=3'), 'stop api-a', up('api=3'), 'stop api-b', up('worker=4'), 'stop worker-a worker-b'],
  ]);
});

it('O12: the operations page has the same steps in the same order', () => {
  const page = readFileSync('docs/operations.md', 'utf8');
  const listed = [...page.matchAll(/^\d\. `([a-z-]+)`:/gm)].map(([, step = '']) => step);
  expect(listed).toEqual(UPGRADE_STEPS);
});

it.each([
  ['an image that is not built', { FAULT_BUILD: '1' }, 'the image was not built', 'build'],
  ['a migration that fails', { FAULT_MIGRATE: '1' }, 'the migration failed', 'migrate'],
  [
    'an API that never becomes healthy',
    { FAULT_SERVICE: 'api', FAULT_STATE: 'starting' },
    '0 of 2 are new',
    'start-api',
  ],
  [
    'an API that misses its Redis',
    { FAULT_SERVICE: 'api', FAULT_STATE: 'healthy queue' },
    'misses: queue',
    'start-api',
  ],
  ['an API that the balancer does not find', { FAULT_EXPORTER: 'blind' }, '0 of 2 are new', 'find-api'],
])('O12: %s stops the upgrade and leaves the old ones', (_what, faults, said, last) => {
  const outcome = upgrade(faults);
  expect(outcome.status).toBe(1);
  expect(outcome.said).toContain(said);
  expect(outcome.steps.at(-1)).toBe(last);
  expect(outcome.containers).toEqual(OLD);
  expect(outcome.image).toBe('image-old');
});

it.each([
  ['api', ['api old', 'api old', 'worker old', 'worker old'], 'image-old'],
  ['worker', ['api new', 'api new', 'worker old', 'worker old'], 'image-new'],
])('interrupted while it waits for a new %s, leaves as many as before, and can be repeated', (service, left, image) => {
  const outcome = upgrade({ FAULT_INTERRUPT: service });
  expect([outcome.status, outcome.said]).toEqual([1, expect.stringContaining('Stopped: interrupted')]);
  expect(versions(outcome)).toEqual(left);
  expect(outcome.image).toBe(image);
  const again = upgrade({}, outcome.containers);
  expect(again.status).toBe(0);
  expect(versions(again)).toEqual(['api new', 'api new', 'worker new', 'worker new']);
});

it('interrupted while an old API finishes, says that it waits for it and removes it; the new one has taken over', () => {
  const outcome = upgrade({ FAULT_INTERRUPT: 'apis' });
  expect(outcome.status).toBe(1);
  expect(outcome.said).toMatch(/^Removing api-a; .*\nStopped: interrupted; 1 of 2 APIs are new/);
  expect(versions(outcome)).toEqual(['api old', 'api new', 'worker old', 'worker old']);
});

it('waits for a new container as many seconds as it was told, however long each look takes', () => {
  const slow = { FAULT_SERVICE: 'api', FAULT_STATE: 'starting', FAULT_SLOW: '4', UPGRADE_WAIT_SECONDS: '10' };
  const { said, calls } = upgrade(slow);
  expect(said).toContain('after 10 s');
  expect(calls.filter(({ words }) => words.startsWith('inspect --format {{.State.'))).toHaveLength(3);
});

it('interrupted while the old workers finish, waits for them when it is repeated, and replaces the new ones alone', () => {
  const outcome = upgrade({ FAULT_INTERRUPT: 'workers' });
  expect([outcome.status, outcome.said]).toEqual([1, expect.stringContaining('docker compose rm --force worker')]);
  expect(versions(outcome)).toEqual(['api new', 'api new', 'worker old', 'worker old', 'worker new', 'worker new']);
  const again = upgrade({}, outcome.containers);
  expect(again.status).toBe(0);
  expect(again.calls.map(({ words }) => words).filter((call) => call.startsWith('wait'))).toEqual([
    ...['wait worker-a', 'wait worker-b'],
  ]);
  expect(versions(again)).toEqual(['api new', 'api new', 'worker new', 'worker new']);
});

it('O12: a second API that never becomes healthy leaves one new and one old', () => {
  const outcome = upgrade({ FAULT_SERVICE: 'api', FAULT_STATE: 'starting', FAULT_FROM: '2' });
  expect(outcome.said).toContain('last words of api-new-2');
  expect(outcome.said).toContain('1 of 2 are new');
  expect(versions(outcome)).toEqual(['api old', 'api new', 'worker old', 'worker old']);
});

it('O12: workers that never become healthy are removed, and the old ones go on', () => {
  const outcome = upgrade({ FAULT_SERVICE: 'worker', FAULT_STATE: 'unhealthy', FAULT_FROM: '4' });
  expect(outcome.status).toBe(1);
  expect(versions(outcome)).toEqual(['api new', 'api new', 'worker old', 'worker old']);
});

it('starts nothing where nothing runs, or where the balancer can’t say what it found', () => {
  expect(upgrade({}, {}).said).toContain('docker compose up');
  expect(upgrade({ FAULT_EXPORTER: 'missing' })).toMatchObject({ status: 1, steps: [], containers: OLD });
});
