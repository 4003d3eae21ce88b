import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { openLimiterRoom, passed, providerEntry, reasonOf, type LimiterRoom } from '../support/limiter-room.js';
import { patient } from '../support/patience.js';

// Real: the command's own process, Postgres, Redis, and a limiter that holds calls of the providers.
const MAIN = resolve('bin', 'darkroom.mjs');
const WAIT = { timeoutMs: 30_000 };
const MODELS = `
providers:
  main:
    type: openai
    keys: [{ name: team-a, env: KEY_A }, { name: team-b, env: KEY_B }]
    limits: { concurrency: 4, starts_per_minute: 30 }
  spare: { type: openai, base_url: "http://127.0.0.1:9/v1" }
models:
  gpt-image-2: { kind: image, routes: [{ provider: main }] }
`;

describe('npm run providers', () => {
  let room: LimiterRoom;
  let folder: string;
  beforeAll(async () => {
    // A call that this process holds is still there after a stall of its own.
    room = await openLimiterRoom({ slotLeaseMs: 120_000 });
    folder = await mkdtemp(join(tmpdir(), 'darkroom-providers-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  function run(args: readonly string[], changes: Record<string, string> = {}) {
    const env = {
      PATH: process.env['PATH'],
      DATA_DIR: folder,
      DATABASE_URL: room.databaseUrl,
      REDIS_URL: room.redisUrl,
      REDIS_PREFIX: room.prefix,
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_A: 'sk-canary-of-key-a',
      ...changes,
    };
    return new Promise<{ code: number; text: string; problem: string }>((done) => {
      execFile(
        process.execPath,
        [MAIN, 'providers', ...args],
        { env, timeout: patient(50_000) },
        (error, text, problem) => {
          done({ code: error === null ? 0 : Number(error.code), text, problem });
        },
      );
    });
  }

  it('lists who there is, how they may be used, and what they are at', async () => {
    const worker = await room.limiter();
    const main = providerEntry('main');
    const spare = providerEntry('spare');
    passed(await worker.enter(main, 'team-a', 'task-1'));
    passed(await worker.enter(main, 'team-a', 'task-2')).end('key_refused', 1_000_000);
    for (let n = 0; n < 3; n++) passed(await worker.enter(spare, '', `spare-${n}`)).end('failed');
    await worker.limiter.waitForReports();
    const ended = { provider: 'main', model: 'gpt-image-2', ageMs: 0, ms: 100 };
    const counts = [
      { ...ended, ending: 'succeeded', count: 1 },
      { ...ended, ending: 'rate_limited', count: 2 },
    ] as const;
    await worker.history.add({ process: 'one', number: 1 }, counts, []);
    const { code, text } = await run(['list']);
    expect(code).toBe(0);
    const [header, first, second] = text.split('\n');
    expect(header).toMatch(/^NAME +TYPE +KEYS +LIMITS +CALLS +STARTS\/MIN +BREAKER +COOLING +LAST HOUR +SWITCH$/);
    expect(first).toMatch(
      /^main +openai +team-a, team-b \(not set here\) +4 at a time, 30\/min +1 +2 +closed +team-a (9\d\d|1000) s +3 calls, 2 failed +on$/,
    );
    expect(second).toMatch(/^spare +openai +- +none +0 +3 +(open \d+ s|half-open) +- +- +on$/);
    expect(text).not.toContain('canary');
  });

  it('drains a provider at once for every process, and lets it go on', async () => {
    const worker = await room.limiter();
    const entry = providerEntry('main');
    const isDrained = async () => reasonOf(await worker.enter(entry, 'team-b', 'task-3')) === 'drained';
    expect(await run(['drain', 'main', '--reason', 'bill not paid'])).toMatchObject({ code: 0 });
    expect(await waitUntil(isDrained, WAIT)).toBe(true);
    await run(['drain', 'main']);
    expect((await run([])).text).toMatch(/^main .* drained \d{4}-\d\d-\d\dT[\d:]+Z: bill not paid$/m);
    expect((await run(['resume', 'main'])).text).toMatch(/^main is resumed: it gets new calls/);
    expect(await waitUntil(async () => !(await isDrained()), WAIT)).toBe(true);
    expect((await run(['resume', 'main'])).text).toBe('main was not drained.\n');
  });

  it('lets one go on that is not in the catalog any more', async () => {
    await run(['drain', 'spare']);
    const other = join(folder, 'other.yaml');
    await writeFile(other, MODELS.replace(/ {2}spare.*\n/, ''));
    expect((await run(['list'], { MODELS_FILE: other })).text).toMatch(/^spare +not in the catalog .* drained /m);
    expect(await run(['resume', 'spare'], { MODELS_FILE: other })).toMatchObject({ code: 0 });
    const { code, problem } = await run(['drain', 'spare'], { MODELS_FILE: other });
    expect([code, problem]).toEqual([1, 'There is no provider spare; there are main.\n']);
  });

  it('says what it can without Redis', async () => {
    const { code, text } = await run(['list'], { REDIS_URL: 'redis://127.0.0.1:9/0' });
    expect(code).toBe(0);
    expect(text).toMatch(/because Redis can't be reached: .*ECONNREFUSED/);
    expect(text).toMatch(/^main .* \? +\? +\? +\? +\? +on$/m);
  });

  it.each([
    [['drain', 'mian'], /^There is no provider mian; there are main, spare\.\n$/],
    [['resume', 'nobody'], /^There is no provider nobody; there are main, spare\.\n$/],
    [['drain'], /missing required argument 'name'/],
    [['resume', 'main', '--reason', 'why'], /unknown option '--reason'/],
    [['drain', 'main', '--reason', 'a\nb'], /1 to 200 visible characters/],
    [['drain', 'main', '--now'], /unknown option '--now'/],
    [['list', 'main'], /too many arguments/],
  ])('refuses %j', async (args, problem) => {
    const answer = await run(args);
    expect(answer.code).toBe(1);
    expect(answer.problem).toMatch(problem);
  });

  it('names what is wrong with the catalog', async () => {
    expect((await run([], { MODELS_FILE: join(folder, 'none.yaml') })).problem).toMatch(/MODELS_FILE can't be read/);
    await writeFile(join(folder, 'bad.yaml'), MODELS.replace('type: openai', 'type: none'));
    expect((await run([], { MODELS_FILE: join(folder, 'bad.yaml') })).problem).toMatch(
      /bad\.yaml can't be used:\n.*line 4/,
    );
  });
});
