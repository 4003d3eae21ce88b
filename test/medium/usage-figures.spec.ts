import { UsageRepository } from '#billing/usage.repository.js';
import { USAGE_GROUPS, type UsageQuery, type UsageRow } from '#billing/usage.js';
import { Chance } from '../support/chance.js';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const HOUR_MS = 3_600_000;
const BEGIN = Date.UTC(2026, 2, 28, 21);
const HOURS = 60;
/** Rotated keys have one name, a key that is gone has none, and byte order is not that of UTF-16. */
const KEYS = {
  key_a: 'app',
  key_b: 'app',
  key_c: 'Büro',
  key_d: '\u{1F4F7} studio',
  key_e: '\uFF5E web',
  key_gone: undefined,
};
const MODELS = ['m1', 'm2', 'Größe'] as const;
const PROVIDERS = ['', 'p1', 'p2'] as const;

/** What ended, or, as `pending`, has not. */
interface Ended {
  readonly kind: 'image' | 'chat';
  readonly account_id: string;
  readonly api_key_id: keyof typeof KEYS;
  readonly model: string;
  readonly provider: string;
  readonly outcome: string;
  readonly currency: string;
  readonly created_at: Date;
  readonly images: number;
  readonly spend_micros: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly latency_ms: number | null;
  readonly reference: string;
}

function someEnded(chance: Chance, index: number): Ended {
  const kind = chance.happens(0.3) ? 'chat' : 'image';
  const outcome = chance.pick(['completed', 'completed', 'completed', 'failed', 'cancelled']);
  const currency = chance.pick(kind === 'chat' ? ['', '', 'XXX'] : ['USD', 'USD', 'EUR', 'XXX', '']);
  const isDone = outcome === 'completed';
  return {
    reference: `task_${index}`,
    kind,
    outcome,
    currency,
    account_id: chance.happens(0.9) ? TEST_ACCOUNT : 'acct_other',
    api_key_id: chance.pick(Object.keys(KEYS) as (keyof typeof KEYS)[]),
    model: chance.pick(MODELS),
    provider: chance.pick(PROVIDERS),
    created_at: new Date(BEGIN + Math.floor(chance.next() * HOURS * HOUR_MS)),
    images: kind === 'image' && isDone ? chance.pick([1, 1, 4]) : 0,
    spend_micros:
      currency === 'XXX' || (currency === '' && kind === 'image') ? 0 : Math.floor(chance.between(1, 90_000)),
    input_tokens: Math.floor(chance.between(0, 1_000)),
    output_tokens: Math.floor(chance.between(0, 5_000)),
    // Not everything that ended has a duration.
    latency_ms: isDone && chance.happens(0.9) ? Math.floor(Math.exp(chance.between(0, 14))) : null,
  };
}

/** All of it as one row at a time would be added up, with durations in one list. */
function figuresOf(all: readonly Ended[], query: UsageQuery, bucketOf: ReadonlyMap<number, number>): UsageRow[] {
  const stepMs = query.by === 'hour' ? HOUR_MS : 24 * HOUR_MS;
  const stepOf = (time: Date): number => Math.floor(time.getTime() / stepMs) * stepMs;
  const nameOf = (one: Ended): string => KEYS[one.api_key_id] ?? one.api_key_id;
  const groupOf = (one: Ended): string =>
    query.group === 'key' ? nameOf(one) : query.group === 'model' ? one.model : one.provider;
  const asked = all.filter(
    (one) =>
      one.account_id === TEST_ACCOUNT &&
      one.created_at.getTime() >= stepOf(query.from) &&
      stepOf(one.created_at) < query.to.getTime() &&
      (query.model ?? one.model) === one.model &&
      (query.provider ?? one.provider) === one.provider &&
      // A key that is gone has no name to be asked for.
      (query.key === undefined || KEYS[one.api_key_id] === query.key),
  );
  const groups = [...new Set(asked.map(groupOf))].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const times = [...new Set(asked.map((one) => stepOf(one.created_at)))].sort((a, b) => a - b);
  const row = (of: UsageRow['of'], time: number | null, group: string | null, rows: readonly Ended[]): UsageRow[] =>
    rows.length === 0
      ? []
      : [{ of, time: time === null ? null : new Date(time), group: group === '' ? null : group, ...sumsOf(rows) }];
  const sum = (rows: readonly Ended[], figure: (one: Ended) => number): number =>
    rows.reduce((total, one) => total + figure(one), 0);
  const sumsOf = (rows: readonly Ended[]) => {
    const ended = rows.filter(({ outcome }) => outcome !== 'pending');
    const images = ended.filter(({ kind }) => kind === 'image');
    const chats = ended.filter(({ kind }) => kind === 'chat');
    const isUnpriced = ({ currency }: Ended): boolean => currency === 'XXX';
    const isPaid = ({ kind, currency }: Ended): boolean => kind === 'chat' || currency === query.currency;
    const percentile = percentiles(images, bucketOf);
    return {
      images: sum(images, (one) => one.images),
      failed: images.filter(({ outcome }) => outcome === 'failed').length,
      chats: chats.length,
      spend: sum(rows.filter(isPaid), (one) => one.spend_micros),
      unpricedImages: sum(images.filter(isUnpriced), (one) => Math.max(one.images, 1)),
      unpricedChats: chats.filter(isUnpriced).length,
      inputTokens: sum(ended, (one) => one.input_tokens),
      outputTokens: sum(ended, (one) => one.output_tokens),
      p50Ms: percentile(0.5),
      p95Ms: percentile(0.95),
    };
  };
  return [
    ...times.flatMap((time) =>
      groups.flatMap((group) =>
        row(
          'step',
          time,
          group,
          asked.filter((one) => stepOf(one.created_at) === time && groupOf(one) === group),
        ),
      ),
    ),
    ...groups.flatMap((group) =>
      row(
        'group',
        null,
        group,
        asked.filter((one) => groupOf(one) === group),
      ),
    ),
    ...row('all', null, null, asked),
  ];
}

/** Of durations that each count as the mean of their bucket. */
function percentiles(
  images: readonly Ended[],
  bucketOf: ReadonlyMap<number, number>,
): (share: number) => number | null {
  const buckets = new Map<number, number[]>();
  for (const { outcome, latency_ms: ms } of images) {
    if (outcome !== 'completed' || ms === null) continue;
    const bucket = bucketOf.get(ms) ?? 0;
    buckets.set(bucket, [...(buckets.get(bucket) ?? []), ms]);
  }
  const means = [...buckets.values()]
    .flatMap((all) => all.map(() => all.reduce((total, ms) => total + ms, 0) / all.length))
    .sort((a, b) => a - b);
  return (share) => {
    if (means.length === 0) return null;
    const place = share * (means.length - 1);
    const low = means[Math.floor(place)] ?? 0;
    const high = means[Math.ceil(place)] ?? 0;
    return low + (high - low) * (place - Math.floor(place));
  };
}

const QUERIES: readonly UsageQuery[] = (['hour', 'day'] as const).flatMap((by) =>
  USAGE_GROUPS.flatMap((group) =>
    [
      ...[{}, { model: 'm1' }, { key: 'app' }, { provider: 'p1' }, { key: 'key_gone' }, { model: 'none' }],
      ...[
        { model: 'm2', key: 'Büro' },
        { model: 'Größe', provider: 'p2' },
        { model: 'm1', key: 'app', provider: 'p2' },
      ],
    ].flatMap((filters) =>
      [
        [-5, HOURS + 5],
        [7.5, 31.25],
        [30, 31],
      ].flatMap(([from = 0, to = 0]) =>
        ['USD', 'EUR'].map((currency) => ({
          by,
          group,
          currency,
          ...filters,
          from: new Date(BEGIN + from * HOUR_MS),
          to: new Date(BEGIN + to * HOUR_MS),
        })),
      ),
    ),
  ),
);

// Real: the database with its triggers, and the reader. What it says is compared with the same rows, added up one by one.
describe('figures of usage', () => {
  let room: TaskRoom;
  let usage: UsageRepository;
  const all: Ended[] = [];
  const bucketOf = new Map<number, number>();
  const chance = new Chance(20_261_124);

  const end = async (count: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, index) => someEnded(chance, all.length + index));
    all.push(...rows);
    const columns = Object.keys(rows[0]!).join();
    await room.sql(
      `INSERT INTO usage_changes (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::usage_changes, $1)`,
      [JSON.stringify(rows)],
    );
    const { rows: buckets } = await room.sql(
      `SELECT ms::int, latency_bucket(ms)::int AS bucket FROM unnest($1::bigint[]) AS ms`,
      [rows.flatMap(({ latency_ms: ms }) => ms ?? [])],
    );
    for (const { ms, bucket } of buckets as { ms: number; bucket: number }[]) bucketOf.set(ms, bucket);
  };

  beforeAll(async () => {
    room = await openTaskRoom();
    usage = new UsageRepository(room.database);
    for (const [id, name] of Object.entries(KEYS)) {
      if (name === undefined) continue;
      await room.sql(
        `INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id) VALUES ($1, $2, $3, 'sk', convert_to($1, 'UTF8'), 'test')`,
        [id, TEST_ACCOUNT, name],
      );
    }
    // Added up at once, added to what is there, and not added up yet.
    await end(900);
    while ((await usage.rollUp()) > 0);
    await end(600);
    while ((await usage.rollUp()) > 0);
    await end(150);
    for (let index = 0; index < 12; index++) {
      const task = { ...someEnded(chance, index), kind: 'image', outcome: 'pending', currency: 'USD' } as const;
      // A task of which nothing is known to be spent is no figure.
      const reserved = index === 0 ? 0 : 40_000 + index;
      await room.sql(
        `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, deadline_at, created_at, provider, cost)
         VALUES ($1, $2, $3, 'req', 'generation', $4, 'p', '{}', now() + interval '1 hour', $5, NULLIF($6, ''), $7)`,
        [
          ...[`task_open_${index}`, task.account_id, task.api_key_id, task.model, task.created_at, task.provider],
          JSON.stringify({ reserved, currency: 'USD' }),
        ],
      );
      // Another provider may generate it in the end.
      if (reserved > 0) all.push({ ...task, provider: '', spend_micros: reserved });
    }
  });
  afterAll(() => room.close());

  it.each(USAGE_GROUPS)(
    'by %s are those of each row that they are made of, to the cent and the bucket',
    async (group) => {
      const queries = QUERIES.filter((query) => query.group === group);
      expect(queries.length).toBeGreaterThan(100);
      let figures = 0;
      for (const query of queries) {
        const rows = await usage.read(TEST_ACCOUNT, query);
        expect([query, rows]).toEqual([query, figuresOf(all, query, bucketOf)]);
        figures += rows.length;
      }
      expect(figures).toBeGreaterThan(2_000);
    },
  );
});
