import { loadConfig } from '#config/load-config.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import { waitUntil } from '#embedded/wait-until.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { INSPECTED } from '../../support/block-event-loop.js';
import { Chance } from '../../support/chance.js';
import { Chaos } from '../../support/chaos.js';
import { FaultRoom } from '../../support/fault-room.js';
import { LedgerProvider } from '../../support/ledger-provider.js';
import { openPrisma } from '../../support/open-prisma.js';
import { judge, type FaultWindow, type Violation } from '../../support/oracle.js';
import { judgeMoney, PRICE } from '../../support/oracle-money.js';
import { checkExternalState } from '../../support/external-state.js';
import { measured } from '../../support/figures.js';
import { resumptions } from '../../support/resumptions.js';
import { startS3, type TestS3 } from '../../support/s3.js';
import { PROMPT_CANARY, Traffic } from '../../support/traffic.js';

const MINUTES = Number(process.env['TEST_FAULT_MINUTES'] ?? 3);
const SEED = Number(process.env['TEST_FAULT_SEED'] ?? Date.now() % 1_000_000);
const PROVIDER_KEY = 'sk-provider-canary-77aa';
const SYNC_WAIT_MS = 15_000;
const DEADLINE_MS = 90_000;
/** Everything accepted must have ended so long after the last fault: its deadline, ten seconds, and a slow machine. */
const QUIET_MS = DEADLINE_MS + 40_000;

const RESUME_MS = 35_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

describe(`random faults for ${MINUTES} minutes, seed ${SEED}`, () => {
  let provider: LedgerProvider;
  let s3: TestS3;
  let room: FaultRoom;
  let keys: string[];
  const chance = new Chance(SEED);
  const neverTwice = SEED % 2 === 1;
  const began = performance.now();
  const tell = (line: string): void =>
    say(`${((performance.now() - began) / 1_000).toFixed(1).padStart(7)} s  ${line}`);

  beforeAll(async () => {
    say(`seed ${SEED}: npm run test:faults -- --minutes ${MINUTES} --seed ${SEED}`);
    [provider, s3] = await Promise.all([LedgerProvider.start(), startS3()]);
    room = await FaultRoom.open({
      apis: 2,
      workers: 3,
      settings: {
        ...INSPECTED,
        SYNC_WAIT_MS: String(SYNC_WAIT_MS),
        TASK_DEADLINE_MS: String(DEADLINE_MS),
        WORKER_CONCURRENCY: '6',
        OPENAI_API_KEY: PROVIDER_KEY,
        ...(s3.strict ? storedIn(s3) : {}),
      },
      links: {
        provider: { setting: 'MODELS_FILE', url: provider.url, file: catalog },
        ...(s3.strict ? { s3: { setting: 'S3_ENDPOINT', url: s3.endpoint } } : {}),
      },
    });
    const database = openPrisma(room.postgres.url);
    const budgets = new BudgetRepository(database);
    await budgets.set({ ownerId: DEFAULT_ACCOUNT, owner: 'account' }, { limit: 1e9, period: 'total' });
    await database.close();
    keys = [room.key, await room.newKey('second'), await room.newKey('of another account', 'acct_other')];
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
    await s3.stop();
  });

  it(
    'every guarantee holds',
    async () => {
      const traffic = new Traffic(room, provider, keys, new Chance(SEED + 1), {
        sync: SYNC_WAIT_MS,
        deadline: QUIET_MS,
      });
      const chaos = new Chaos(room, chance, tell);
      traffic.start();
      chaos.start();
      await waitUntil(() => performance.now() - began > MINUTES * 60_000, {
        timeoutMs: MINUTES * 60_000,
        everyMs: 1_000,
      });
      tell('no more faults');
      await chaos.stop();
      tell('everything is mended');
      await traffic.stop();
      tell('the last caller has its answer');
      const pending = async () => (await room.pool.query(`SELECT 1 FROM tasks WHERE status = 'pending'`)).rowCount ?? 0;
      await waitUntil(async () => (await pending()) === 0, { timeoutMs: QUIET_MS, everyMs: 500 });

      const alive = new Set(room.members.map((member) => member.process?.pid));
      const evidence = {
        pool: room.pool,
        wishes: traffic.wishes,
        ledger: provider.ledger,
        faults: chaos.windows,
        objects: await objects(),
        neverTwice,
        syncWaitMs: SYNC_WAIT_MS,
        lives: (pid: number | undefined) => alive.has(pid),
      };
      const bugs = room.members.flatMap(({ lives }) => lives.flatMap((life) => life.logs())).filter(isBug);
      const violations = [
        ...bugs.map((line) => ({ guarantee: 'bug', what: JSON.stringify(line) })),
        ...(await judge(evidence)),
        ...(await judgeMoney(room.pool)),
        ...(await lateResumptions(chaos.windows)),
        ...(await checkExternalState(room, traffic.wishes, keys, [PROMPT_CANARY, PROVIDER_KEY, ...keys])),
      ];
      await verdict(violations, evidence);
      expect(violations).toEqual([]);
    },
    (MINUTES + 8) * 60_000,
  );

  /** One paid provider with a price, at the address that its link gives it. */
  function catalog(url: string): string {
    const price = PRICE / 1e6;
    return `providers:
  ledger:
    type: openai
    base_url: "${url}"
    keys: [{ env: OPENAI_API_KEY }]
    interrupted: ${neverTwice ? 'fail' : 'retry'}
    options: { first_byte_timeout_ms: 15000, idle_timeout_ms: 10000 }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: ledger }]
    prices: [{ from: 2026-01-01, per_image: { 1k: ${price}, 2k: ${price}, 4k: ${price} } }]
`;
  }

  /** Once another worker may have it, a task whose worker died is taken up or ended. */
  async function lateResumptions(faults: readonly FaultWindow[]): Promise<Violation[]> {
    const found = await resumptions(room, faults);
    const own = found.map(({ milliseconds = Infinity, excused }) => milliseconds - excused);
    if (own.length > 0)
      measured('G6', `${own.length} tasks of killed, frozen or blocked workers, the last one`, Math.max(...own));
    return found
      .filter((_each, index) => (own[index] ?? 0) > RESUME_MS)
      .map((late) => ({ guarantee: 'G6', what: `${late.taskId} after ${late.fault}: ${late.milliseconds} ms` }));
  }

  async function objects(): Promise<string[]> {
    const [config] = loadConfig([StorageConfig], { ...room.settings, S3_ENDPOINT: s3.endpoint });
    const store = await createObjectStore(config);
    const found: string[] = [];
    for await (const key of store.list('results/')) found.push(key);
    return found;
  }

  async function verdict(
    violations: readonly Violation[],
    { wishes, ledger, faults }: Parameters<typeof judge>[0],
  ): Promise<void> {
    const { rows } = await room.pool.query<{ status: string; code: string | null; count: number }>(
      `SELECT status, error->>'code' AS code, count(*)::int AS count FROM tasks GROUP BY 1, 2 ORDER BY 3 DESC`,
    );
    const answers = new Map<string, number>();
    for (const { kind, calls } of wishes)
      for (const { outcome } of calls.slice(0, 1))
        answers.set(`${kind} ${outcome.status}`, (answers.get(`${kind} ${outcome.status}`) ?? 0) + 1);
    say(
      `\nseed ${SEED}, ${MINUTES} minutes: ${faults.length} faults, ${wishes.length} wishes, ${ledger.length} starts at the provider`,
    );
    say(
      `tasks: ${rows.map(({ status, code, count }) => `${count} ${status}${code === null ? '' : ` (${code})`}`).join(', ')}`,
    );
    say(
      `first answers: ${[...answers]
        .sort()
        .map(([name, count]) => `${name}: ${count}`)
        .join(', ')}`,
    );
    const logs = room.members.flatMap(({ name, lives }) =>
      lives.flatMap((life) => life.logs().map((line) => ({ name, line }))),
    );
    for (const { guarantee, what } of violations) {
      say(`  ${guarantee} BROKEN: ${what}`);
      // What the processes say about it explains; it proves nothing.
      const taskId = /task_[0-9A-Z]{26}/.exec(what)?.[0];
      const told = logs.filter(({ line }) => taskId !== undefined && line['taskId'] === taskId);
      for (const { name, line } of told.slice(0, 40)) say(`      ${name}: ${JSON.stringify(line).slice(0, 300)}`);
    }
    say(violations.length === 0 ? 'verdict: G1 to G12 hold' : `verdict: ${violations.length} violations`);
  }
});

/** Errors that no fault should be told as: they say that something was not thought of. */
function isBug(line: Record<string, unknown>): boolean {
  return line['code'] === 'internal_error';
}

function storedIn(s3: TestS3): Record<string, string> {
  return {
    STORAGE: 's3',
    S3_REGION: s3.region,
    S3_BUCKET: s3.bucket,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    S3_TIMEOUT_MS: '4000',
    S3_ATTEMPTS: '2',
  };
}
