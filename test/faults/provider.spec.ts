import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { callersOf, newMarker, order, type TaskData } from '../support/fault-callers.js';
import { FaultRoom } from '../support/fault-room.js';
import { LedgerProvider, type Plan } from '../support/ledger-provider.js';
import { patientSetting } from '../support/patience.js';
import { LONG_TIMEOUTS } from '../support/platform.js';

const SECRET = 'sk-ledger-secret-key';
/** Longer than the provider, which is part of this process, may take to answer. */
const FIRST_BYTE_MS = Number(patientSetting(4_500, 60_000));
const SYNC_WAIT_MS = Number(patientSetting(2_000, 20_000));

/** What becomes of a task, by the provider's own ledger of how often it was asked. */
const FATES: [string, Plan, { status: string; code?: string; starts: number }][] = [
  ['hangs', { faults: ['hang'] }, { status: 'failed', code: 'upstream_error', starts: 1 }],
  [
    'answers after our timeout',
    { latencyMs: FIRST_BYTE_MS + 3_000 },
    { status: 'failed', code: 'upstream_error', starts: 1 },
  ],
  [
    'is cut before its answer',
    { faults: ['cut-before-answer'] },
    { status: 'failed', code: 'upstream_error', starts: 1 },
  ],
  ['is cut in its answer', { faults: ['cut-in-body'] }, { status: 'failed', code: 'upstream_error', starts: 1 }],
  [
    'is behind a proxy that gave up (502)',
    { faults: ['html-502'] },
    { status: 'failed', code: 'upstream_error', starts: 1 },
  ],
  ['limits us once (429)', { faults: ['http-429'] }, { status: 'completed', starts: 2 }],
  ['fails once (500)', { faults: ['http-500'] }, { status: 'completed', starts: 2 }],
  [
    'is overloaded for long (503)',
    { faults: ['http-503', 'http-503', 'http-503', 'http-503'] },
    { status: 'failed', code: 'upstream_error', starts: 3 },
  ],
  ['answers with a page', { faults: ['html'] }, { status: 'completed', starts: 2 }],
  ['answers without an image', { faults: ['empty-list'] }, { status: 'completed', starts: 2 }],
  ['answers with other JSON', { faults: ['wrong-json'] }, { status: 'completed', starts: 2 }],
  [
    'answers with what is no image, which it charges',
    { faults: ['not-an-image'] },
    { status: 'failed', code: 'upstream_invalid_response', starts: 1 },
  ],
  [
    'answers with 200 MB, which it charges',
    { faults: ['huge'] },
    { status: 'failed', code: 'upstream_invalid_response', starts: 1 },
  ],
  ['refuses the prompt', { faults: ['moderation'] }, { status: 'failed', code: 'moderation_blocked', starts: 1 }],
  ['does not know our key', { faults: ['http-401'] }, { status: 'failed', code: 'upstream_error', starts: 1 }],
];

const catalog = (url: string): string => `providers:
  openai: { type: openai, base_url: "${url}", keys: [{ env: OPENAI_API_KEY }], options: { first_byte_timeout_ms: ${FIRST_BYTE_MS} } }
models:
  gpt-image-2: { kind: image, routes: [{ provider: openai }] }
`;

describe('a paid provider', () => {
  let provider: LedgerProvider;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    room = await FaultRoom.open({
      workers: 2,
      settings: {
        ...LONG_TIMEOUTS,
        OPENAI_API_KEY: SECRET,
        // Longer than a worker beside a busy suite may be kept from its renewal, which would end a task of its own.
        LEASE_MS: patientSetting(2_000, 20_000),
        SWEEP_INTERVAL_MS: '500',
        SYNC_WAIT_MS: String(SYNC_WAIT_MS),
        // Each fate is looked at by itself, so that no failure may count against the others.
        PROVIDER_FAILURES: '1000',
        PROVIDER_PAUSE_MS: '200',
      },
      links: { provider: { setting: 'MODELS_FILE', url: provider.url, file: catalog } },
    });
    callers = callersOf(room);
  });
  afterAll(async () => {
    await room.close();
    await provider.close();
  });

  describe('when it', () => {
    const tasks = new Map<string, { id: string; marker: string }>();

    beforeAll(async () => {
      for (const [name, plan] of FATES) {
        const marker = newMarker();
        provider.plan(marker, plan);
        tasks.set(name, { id: (await callers.submit(marker)).taskId ?? '', marker });
      }
    });

    it.each(FATES)('%s: one honest end, and as few starts as that allows', async (name, _plan, expected) => {
      const { id, marker } = tasks.get(name)!;
      expect(await callers.ended([id])).toEqual([expected.status]);
      const data = (await callers.read(id)) as TaskData;
      expect(data.error?.code).toBe(expected.code);
      expect(provider.startsOf(marker)).toHaveLength(expected.starts);
      expect(new Set(provider.startsOf(marker).map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set([id]));
      expect(JSON.stringify(data.error ?? {})).not.toMatch(/sk-ledger|127\.0\.0\.1|<html/);
      if (expected.status === 'completed') expect(await imageOf(data)).toBe('image/png');
    });
  });

  it('is not asked again when its worker is killed at work', async () => {
    const marker = newMarker();
    provider.plan(marker, { latencyMs: 60_000 });
    const { taskId = '' } = await callers.submit(marker);
    expect(await waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 20_000 })).toBe(true);
    const holder = () => room.workers.find((worker) => worker.running.output().includes(taskId));
    expect(await waitUntil(() => holder() !== undefined, { timeoutMs: 20_000 })).toBe(true);
    const victim = holder()!;
    await victim.kill();
    expect(await callers.ended([taskId])).toEqual(['failed']);
    expect((await callers.read(taskId))?.error?.code).toBe('interrupted');
    expect(provider.startsOf(marker)).toHaveLength(1);
    await victim.start();
  });

  it('is not said to get a task back when others have taken it from its worker', async () => {
    const marker = newMarker();
    let fail = (): void => undefined;
    provider.plan(marker, { until: new Promise<void>((resolve) => (fail = resolve)), faults: ['http-500'] });
    const { taskId = '' } = await callers.submit(marker);
    expect(await waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 20_000 })).toBe(true);
    // What the sweeper does to a lease that ran out. The next attempt is the sweeper's to bring about.
    await room.pool.query('UPDATE tasks SET attempt = attempt + 1 WHERE id = $1', [taskId]);
    fail();
    const events = () =>
      room.workers.flatMap(({ running }) =>
        running.logs().flatMap((line) => (line['taskId'] === taskId && line['attempt'] === 1 ? [line.event] : [])),
      );
    expect(await waitUntil(() => events().includes('task.lease_lost'), { timeoutMs: 20_000 })).toBe(true);
    expect(events()).not.toContain('task.given_back');
    expect(await callers.ended([taskId])).toEqual(['failed']);
  });

  it('is asked once for an unmodified SDK whose connection is cut', async () => {
    const marker = newMarker();
    provider.plan(marker, { latencyMs: 1_500 });
    const answer = sdk().images.generate(order(marker) as OpenAI.ImageGenerateParamsNonStreaming);
    expect(await waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 20_000 })).toBe(true);
    room.api.door?.cut();
    expect((await answer).data?.[0]?.url).toMatch(/^http/);
    expect(provider.startsOf(marker)).toHaveLength(1);
    expect(await callers.rowsOf(marker)).toMatchObject([{ status: 'completed' }]);
  });

  it('is asked once for an unmodified SDK whose window is shorter than the work', async () => {
    const marker = newMarker();
    provider.plan(marker, { latencyMs: SYNC_WAIT_MS + 1_000 });
    const answer = await sdk().images.generate(order(marker) as OpenAI.ImageGenerateParamsNonStreaming);
    expect(answer.data?.[0]?.url).toMatch(/^http/);
    expect(provider.startsOf(marker)).toHaveLength(1);
    const [row] = await callers.rowsOf(marker);
    const isAttached = (): boolean =>
      room.api.running.logs().some(({ attached, taskId }) => attached === true && taskId === row?.id);
    expect(await waitUntil(isAttached, { timeoutMs: 30_000 })).toBe(true);
  });

  it('hears our key, and nobody else does', async () => {
    expect(provider.ledger.length).toBeGreaterThan(0);
    for (const entry of provider.ledger) expect(entry.authorization).toBe(`Bearer ${SECRET}`);
    expect(await waitUntil(() => room.output().includes('task.failed'), { timeoutMs: 30_000 })).toBe(true);
    expect(room.output()).not.toMatch(/sk-ledger|mark-/);
  });

  function sdk(): OpenAI {
    return new OpenAI({ apiKey: room.key, baseURL: `${room.api.url}/v1` });
  }

  async function imageOf(data: TaskData): Promise<string | null> {
    const response = await fetch(data.result?.images[0]?.url[0] ?? '');
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
    return response.headers.get('content-type');
  }
});
