import { setTimeout as delay } from 'node:timers/promises';
import { timeLimit } from '#egress/time-limit.js';
import type { Chance } from './chance.js';
import { newMarker } from './fault-callers.js';
import { FaultProxy } from './fault-proxy.js';
import type { FaultRoom, Member } from './fault-room.js';
import type { LedgerProvider } from './ledger-provider.js';
import { patient } from './patience.js';

/** The ways to ask for an image, each with its own steps of intake. */
const WAYS = ['sync', 'async', 'stream', 'edit', 'chat'] as const;
/** How a client marks its retries: it counts them, has a key, or sends the same request again without a word. */
const MARKS = ['counted', 'keyed', 'uncounted'] as const;

/** One call with all of its tries. */
export interface StalledCall {
  readonly marker: string;
  readonly way: (typeof WAYS)[number];
  readonly mark: (typeof MARKS)[number];
  /** Status of each try, 0 if the client cut it, and where it went. */
  readonly tries: string[];
  answered: boolean;
}

/** First tries are cut while they are being accepted; later ones wait longer, and the last for as long as it takes. */
const PATIENCE_MS: readonly (readonly [number, number])[] = [
  [40, 900],
  [200, 2_000],
  [1_000, 4_000],
];
const LAST_MS = 60_000;
/** Longer than all tries that may hang take together. */
const HUNG_MS = 12_000;
/** Whoever is told to come again does, until something hangs for good. */
const GIVE_UP_MS = patient(180_000);

/** Clients that cut their calls while intake stalls, and retry on their own schedules, at any API. */
export class StalledCalls {
  readonly calls: StalledCall[] = [];
  /** Ways of callers that hang, which stay open after their calls. */
  private readonly hung = new Set<FaultProxy>();

  constructor(
    private readonly room: FaultRoom,
    private readonly provider: LedgerProvider,
    private readonly chance: Chance,
    private readonly image: Blob,
  ) {}

  /** Makes so many calls, `atOnce` of them at a time. Resolves when each has its answer. */
  async run(count: number, atOnce: number): Promise<void> {
    const callers = Array.from({ length: atOnce }, async () => {
      while (this.calls.length < count) await this.make();
    });
    await Promise.all(callers);
  }

  /**
   * Calls that the provider has charged more than once, with their tries and their tasks. What an API has written to the
   * end counts as delivered, so a client that cuts its call at that moment, and has no key, makes a new one.
   */
  async boughtTwice(): Promise<object[]> {
    const twice = this.calls.filter(({ marker }) => this.provider.startsOf(marker).length > 1);
    const answered = new Set(
      this.room.apis
        .flatMap(({ lives }) => lives.flatMap((life) => life.logs()))
        .flatMap(({ event, status, taskId }) => (event === 'request' && Number(status) < 300 ? [String(taskId)] : [])),
    );
    const found = await Promise.all(
      twice.map(async (one) => {
        const { rows } = await this.room.pool.query<{ id: string }>(
          `SELECT id, request_id, attached_by, waiter, provider_starts AS starts, created_at, abandoned_at, finished_at, delivered_at, status
            FROM tasks WHERE prompt LIKE '%' || $1 ORDER BY created_at`,
          [one.marker],
        );
        return { ...one, rows };
      }),
    );
    return found.filter(({ mark, rows }) => mark === 'keyed' || rows.some(({ id }) => !answered.has(id)));
  }

  /** Callers that hang are gone then. */
  async close(): Promise<void> {
    await Promise.all([...this.hung].map((path) => path.close()));
  }

  private async make(): Promise<void> {
    const one: StalledCall = {
      marker: newMarker(),
      way: this.chance.pick(WAYS),
      mark: this.chance.pick(MARKS),
      tries: [],
      answered: false,
    };
    this.calls.push(one);
    // What is written to a connection that only hangs counts as delivered a second later, so that a retry that counts
    // would be a new call: without a key, such callers give up before there is anything to write.
    const mayHang = one.mark === 'keyed' || (one.mark === 'counted' && one.way !== 'async' && this.chance.happens(0.4));
    const latencyMs = mayHang && one.mark === 'counted' ? HUNG_MS : this.chance.between(100, 1_500);
    this.provider.plan(one.marker, { latencyMs });
    const until = Date.now() + GIVE_UP_MS;
    for (let tries = 0; Date.now() < until; tries++) {
      const status = await this.try(one, tries, mayHang);
      one.answered = status === 200 || status === 202;
      if (one.answered) return;
      await delay(this.chance.between(10, status === 0 ? 700 : 1_500));
    }
  }

  private async try(one: StalledCall, tries: number, mayHang: boolean): Promise<number> {
    const api = this.chance.pick(this.room.apis);
    const began = Date.now();
    const [shortest, longest] = PATIENCE_MS[tries] ?? [LAST_MS, LAST_MS];
    const timeoutMs = this.chance.between(shortest, longest);
    // The API never learns that such a caller has left. Without a count or a key, it is a second caller then.
    const hangs = mayHang && tries < PATIENCE_MS.length && this.chance.happens(0.5);
    const path = hangs ? await FaultProxy.start(api.url) : undefined;
    const hang = hangs
      ? setTimeout(() => (path!.fault = 'black-hole'), Math.min(timeoutMs, this.chance.between(5, 100)))
      : undefined;
    const status = await this.send(one, tries, path?.url ?? api.url, timeoutMs);
    clearTimeout(hang);
    const at = (time: number): string => new Date(time).toISOString().slice(14, 23);
    one.tries.push(`${at(began)} to ${at(Date.now())}: ${status} ${api.name}${hangs ? ' hung' : ''}`);
    // Closed later, so that the API can't tell from a reset either.
    if (path !== undefined) this.hung.add(path);
    return status;
  }

  private async send(one: StalledCall, tries: number, url: string, timeoutMs: number): Promise<number> {
    const prompt = `a house ${one.marker}`;
    const headers: Record<string, string> = { authorization: `Bearer ${this.room.key}`, connection: 'close' };
    if (one.mark === 'counted') headers['x-stainless-retry-count'] = String(tries);
    if (one.mark === 'keyed') headers['idempotency-key'] = one.marker;
    const order = { model: 'gpt-image-2', prompt, resolution: '1k', response_format: 'url' };
    const chat = { model: 'gpt-image-2', messages: [{ role: 'user', content: prompt }] };
    const streamed = { ...order, response_format: 'b64_json', stream: true };
    const paths = { sync: 'generations', async: 'generations/async', stream: 'generations', edit: 'edits' };
    const path = one.way === 'chat' ? '/v1/chat/completions' : `/v1/images/${paths[one.way]}`;
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...order, size: '1024x1024' })) form.set(name, value);
    form.set('image', this.image, 'a.png');
    const body =
      one.way === 'edit' ? form : JSON.stringify({ sync: order, async: order, stream: streamed, chat }[one.way]);
    if (one.way !== 'edit') headers['content-type'] = 'application/json';
    try {
      const response = await fetch(url + path, { method: 'POST', headers, body, signal: timeLimit(timeoutMs) });
      const text = await response.text();
      // A stream has its status before its outcome.
      return one.way === 'stream' && response.status === 200 && !text.includes('b64_json') ? 504 : response.status;
    } catch {
      return 0;
    }
  }
}

/** Stalls intake between any two of its steps, in turn, until it is stopped. */
export class Stalls {
  private going = true;
  private loops: Promise<void>[] = [];
  private readonly frozen = new Set<Member>();
  private locked = false;
  private isReadOnly = false;

  constructor(
    private readonly room: FaultRoom,
    private readonly chance: Chance,
    private readonly tell: (line: string) => void = () => undefined,
  ) {}

  start(): void {
    this.loops = [this.loop(), this.loop()];
  }

  /** Resolves when nothing stalls any more. */
  async stop(): Promise<void> {
    this.going = false;
    await Promise.all(this.loops);
  }

  private async loop(): Promise<void> {
    while (this.going) {
      await delay(this.chance.between(50, 500));
      const stall = this.chance.pick([
        ...[() => this.lock(), () => this.lock(), () => this.freeze(), () => this.freeze(), () => this.hold()],
        ...[() => this.hold(), () => this.slow(), () => this.refuseWrites(), () => this.lockAndFreeze()],
      ]);
      await stall();
    }
  }

  private time(): number {
    return this.chance.between(200, 2_500);
  }

  /** Postgres takes no writes, as during a migration. */
  private async lock(): Promise<void> {
    if (this.locked) return;
    this.locked = true;
    const client = await this.room.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('LOCK TABLE tasks IN SHARE MODE');
      this.tell('Postgres takes no writes');
      await delay(this.time());
      await client.query('COMMIT');
    } finally {
      client.release();
      this.locked = false;
    }
  }

  private async freeze(): Promise<void> {
    const api = this.chance.pick(this.room.apis);
    if (this.frozen.has(api)) return;
    this.frozen.add(api);
    this.tell(`${api.name} is paused`);
    api.freeze();
    await delay(this.time());
    api.thaw();
    this.frozen.delete(api);
  }

  private async lockAndFreeze(): Promise<void> {
    await Promise.all([this.lock(), delay(this.chance.between(0, 200)).then(() => this.freeze())]);
  }

  /** A connection to Postgres or Redis stops between two messages. */
  private async hold(): Promise<void> {
    const api = this.chance.pick(this.room.apis);
    const link = api.link(this.chance.pick(['postgres', 'redis']));
    if (link.fault !== 'pass') return;
    const way = this.chance.pick(['request', 'answer'] as const);
    link.fault = { holdAfter: Math.floor(this.chance.between(0, 12)), way };
    this.tell(`${api.name}: ${JSON.stringify(link.fault)}`);
    await delay(this.time());
    link.fault = 'pass';
  }

  private async slow(): Promise<void> {
    const link = this.chance.pick(this.room.apis).link('postgres');
    if (link.fault !== 'pass') return;
    link.fault = { delayMs: this.chance.between(30, 300) };
    await delay(this.time());
    link.fault = 'pass';
  }

  /** As at a hosted Postgres whose disk is full. */
  private async refuseWrites(): Promise<void> {
    if (this.isReadOnly) return;
    this.isReadOnly = true;
    this.tell('Postgres is read-only');
    await this.room.pool.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await this.room.pool.query('SELECT pg_reload_conf()');
    await delay(this.time());
    await this.room.pool.query('ALTER SYSTEM RESET default_transaction_read_only');
    await this.room.pool.query('SELECT pg_reload_conf()');
    this.isReadOnly = false;
  }
}
