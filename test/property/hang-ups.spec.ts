import fc from 'fast-check';
import { timeLimit } from '#egress/time-limit.js';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { openHangUpRoom, type HangUpRoom } from '../support/hang-ups.js';
import { patient, patientSetting } from '../support/patience.js';
import { apiError, startUpstream, type ScriptedUpstream, type UpstreamCall } from '../support/scripted-upstream.js';
import { databaseOf } from '../support/open-prisma.js';

const PRICE = 4_000_000;
const USAGE = { prompt_tokens: 500, completion_tokens: 300, total_tokens: 800 };
/** Of 1,000 millionths a token. */
const BILL = 800_000;
/** The most that a chat of these is expected to cost. */
const DEAREST_CHAT = 1_100_000;
const CATALOG = (url: string): string => `providers:
  up: { type: openai, base_url: "${url}", keys: [{ env: UP_KEY }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 4, 2k: 4, 4k: 4 } }]
  talk:
    kind: chat
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1000, output: 1000 } }]
`;

/** What the provider does, and when the caller does what. */
const course = fc.constantFrom('completes', 'hangs', 'breaks', 'refuses');
const stage = fc.constantFrom('at once', 'when called', 'when half is there', 'at the end');
const move = fc.constantFrom('waits', 'hangs up', 'cancels', 'cancels and hangs up');
const action = fc.record({
  kind: fc.constantFrom('image', 'stream of images', 'task', 'chat', 'stream of a chat'),
  course,
  stage,
  move,
});
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** What the provider has seen and done, by the marker in the prompt. */
interface Seen {
  called: boolean;
  half: boolean;
  /** It has sent all that it had to send. */
  whole: boolean;
}

/** Real processes, a real provider on HTTP, and callers who leave and cancel at every stage. */
describe('the ledger, while callers leave and cancel', () => {
  let room: HangUpRoom;
  let upstream: ScriptedUpstream;
  let image: string;
  const seen = new Map<string, Seen>();
  let count = 0;
  beforeAll(async () => {
    image = (await gradientImage(1024, 1024, 'png')).toString('base64');
    upstream = await startUpstream();
    upstream.script(async (call, response) => {
      const body = call.body.toString();
      const [marker = '', does = ''] = /mark-\d+-([a-z]+)/.exec(body) ?? [];
      const state = { called: true, half: false, whole: false };
      seen.set(marker, state);
      if (does === 'refuses') return apiError(400, { type: 'invalid_request_error' })(call, response);
      const [half, rest] = answerOf(call, image);
      response.writeHead(200, { 'content-type': half === '' ? 'application/json' : 'text/event-stream' });
      response.write(half);
      state.half = true;
      if (does === 'hangs') await call.closed;
      else if (does === 'breaks') response.destroy();
      else {
        // So that whoever leaves at half is gone before the rest.
        await waitUntil(() => response.destroyed, { timeoutMs: 150 });
        state.whole = !response.destroyed;
        response.end(rest);
      }
    });
    room = await openHangUpRoom(CATALOG(upstream.url), {
      // Long enough for an answer that comes whole on a busy machine.
      CHAT_AFTER_HANGUP_MS: patientSetting(2_000, 30_000),
      CHAT_FIRST_BYTE_TIMEOUT_MS: patientSetting(2_000, 30_000),
      CHAT_TOTAL_TIMEOUT_MS: patientSetting(2_700, 40_000),
    });
  });
  afterAll(async () => {
    await room.close();
    await upstream.close();
  });

  /** One run: an account with a budget, and a key for each action, so that what it has used can be told. */
  class World {
    private readonly done: (Action & { marker: string; keyId: string })[] = [];
    private account = '';

    async open(limit: number): Promise<void> {
      this.account = await room.platform.newAccount();
      await new BudgetRepository(databaseOf(room.platform)).set(
        { ownerId: this.account, owner: 'account' },
        { limit, period: 'total' },
      );
    }

    /** Prepares an action; its key exists then. */
    async prepare(next: Action): Promise<() => Promise<void>> {
      const marker = `mark-${++count}-${next.course}`;
      const { id, key } = await room.platform.newKeyWithId({}, this.account);
      this.done.push({ ...next, marker, keyId: id });
      return () => this.act(next, marker, key);
    }

    private async act(next: Action, marker: string, key: string): Promise<void> {
      const gone = new AbortController();
      const [path, body] = requestOf(next.kind, marker);
      let ended = false;
      const call = room.platform
        .call(path, { key, body, signal: timeLimit(patient(30_000), gone.signal) })
        .then(async (answer) => (await answer.text(), undefined))
        .catch(() => undefined)
        .finally(() => (ended = true));
      // Who hangs never comes to an end, and who is refused not even to the half.
      const reached = (): boolean => (ended && next.kind !== 'task') || isAt(next.stage, seen.get(marker));
      if (next.stage !== 'at once') await waitUntil(reached, { timeoutMs: 2_000 });
      if (next.move.includes('cancels')) await this.cancel(marker, key);
      if (next.move.includes('hangs up')) gone.abort();
      // Who waits for an image that never comes is cancelled in the end, and who waits for a chat is answered.
      if (next.course === 'hangs' && !next.kind.includes('chat')) {
        // Its row may not be there yet.
        const isOver = async (): Promise<boolean> => {
          await this.cancel(marker, key);
          return ended;
        };
        await waitUntil(isOver, { timeoutMs: 30_000, everyMs: 50 });
      }
      await call;
    }

    private async cancel(marker: string, key: string): Promise<void> {
      const find = async () =>
        (await room.platform.pool.query<{ id: string }>('SELECT id FROM tasks WHERE prompt = $1', [marker])).rows[0];
      const task = await find();
      if (task === undefined) return;
      const answer = await room.platform.call(`/v1/tasks/${task.id}/cancel`, { key, method: 'POST' });
      expect(answer.status).toBe(200);
    }

    /** Cancels what its callers have left behind at a provider that hangs, and waits for the rest. */
    async close(): Promise<void> {
      const isOver = async (): Promise<boolean> => {
        const pending = await this.rows<{ id: string; prompt: string; provider_starts: number }>(
          `SELECT id, prompt, provider_starts FROM tasks WHERE account_id = $1 AND status = 'pending'`,
        );
        const key = pending.rows.length === 0 ? '' : await room.platform.newKey({}, this.account);
        for (const { id, prompt } of pending.rows.filter((task) => task.prompt.endsWith('hangs'))) {
          if (seen.get(prompt)?.half !== true) continue;
          await room.platform.call(`/v1/tasks/${id}/cancel`, { key, method: 'POST' });
        }
        const reserves = await this.rows('SELECT 1 FROM chat_reserves WHERE account_id = $1');
        return pending.rows.length === 0 && reserves.rows.length === 0;
      };
      expect(await waitUntil(isOver, { timeoutMs: 40_000, everyMs: 200 })).toBe(true);
    }

    async check(limit: number): Promise<void> {
      let total = 0;
      for (const one of this.done) total += one.kind.includes('chat') ? await this.chat(one) : await this.image(one);
      const [budget] = (
        await this.rows<{ spent: number }>('SELECT spent_micros::float8 AS spent FROM budgets WHERE owner_id = $1')
      ).rows;
      expect(budget?.spent).toBe(total);
      expect(total).toBeLessThanOrEqual(limit + DEAREST_CHAT);
    }

    /** What the image has cost, if it was accepted: nothing, or its price once a provider may have charged for it. */
    private async image({ marker, keyId }: { marker: string; keyId: string }): Promise<number> {
      const { rows } = await room.platform.pool.query<Record<string, number | string | null>>(
        `SELECT status, sum(amount_micros) FILTER (WHERE kind = 'reserve')::float8 AS reserved,
           COALESCE(sum(amount_micros) FILTER (WHERE kind = 'settle'), 0)::float8 AS settled,
           COALESCE(sum(amount_micros) FILTER (WHERE kind = 'refund'), 0)::float8 AS refunded
         FROM charges JOIN tasks ON tasks.id = task_id WHERE charges.api_key_id = $1 GROUP BY status`,
        [keyId],
      );
      const [row] = rows;
      if (row === undefined) return 0;
      const { status, reserved, settled, refunded } = row;
      expect([marker, Number(settled) + Number(refunded)]).toEqual([marker, reserved]);
      const state = seen.get(marker);
      if (status === 'completed') expect([marker, settled]).toEqual([marker, PRICE]);
      if (status === 'failed') expect([marker, settled]).toEqual([marker, 0]);
      // A refusal that was on its way may not have been heard.
      if (status === 'cancelled' && state?.half === true) expect([marker, settled]).toEqual([marker, PRICE]);
      if (status === 'cancelled') expect([0, PRICE]).toContain(settled);
      return Number(settled);
    }

    /** What the chat has cost, if a provider was asked: what it counted, or an estimate; never null. */
    private async chat({ marker, keyId, course: does }: Action & { marker: string; keyId: string }): Promise<number> {
      const state = seen.get(marker);
      let cost: number | null | undefined;
      const find = async (): Promise<boolean> => {
        const text = 'SELECT cost_micros::float8 AS cost FROM chat_usage WHERE api_key_id = $1';
        const { rows } = await room.platform.pool.query<{ cost: number | null }>(text, [keyId]);
        cost = rows[0]?.cost;
        return state === undefined || rows.length === 1;
      };
      expect([marker, await waitUntil(find, { timeoutMs: 30_000 })]).toEqual([marker, true]);
      if (cost === undefined) return 0;
      expect([marker, cost]).not.toEqual([marker, null]);
      if (state !== undefined && does === 'refuses') expect([marker, cost]).toEqual([marker, 0]);
      else if (state?.whole === true) expect([marker, cost]).toEqual([marker, BILL]);
      else if (state !== undefined) expect(cost).toBeGreaterThan(0);
      return cost ?? 0;
    }

    private rows<T extends object>(text: string) {
      return room.platform.pool.query<T>(text, [this.account]);
    }
  }

  it(
    'H4, H5: adds up, charges what a provider may have charged, and keeps to the budget, at whatever stage they do',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(action, { minLength: 4, maxLength: 10 }),
          fc.constantFrom(6_000_000, 100_000_000),
          async (actions, limit) => {
            const world = new World();
            await world.open(limit);
            const prepared = [];
            for (const next of actions) prepared.push(await world.prepare(next));
            await Promise.all(prepared.map((act) => act()));
            await world.close();
            await world.check(limit);
          },
        ),
        // To make it smaller would take minutes.
        { ...runs(6), endOnFailure: true },
      );
    },
    4 * PROPERTY_TIMEOUT_MS,
  );
});

function requestOf(kind: Action['kind'], marker: string): [string, object] {
  if (kind.includes('chat')) {
    const messages = [{ role: 'user', content: marker }];
    const stream = kind === 'stream of a chat' ? { stream: true } : {};
    return ['/v1/chat/completions', { model: 'talk', messages, max_tokens: 1_000, ...stream }];
  }
  const order = { model: 'gpt-image-2', prompt: marker, resolution: '1k' };
  if (kind === 'task') return ['/v1/images/generations/async', order];
  const stream = kind === 'stream of images' ? { stream: true, partial_images: 3 } : {};
  return ['/v1/images/generations', { ...order, ...stream }];
}

function isAt(stage: Action['stage'], state: Seen | undefined): boolean {
  if (stage === 'at once') return true;
  if (stage === 'when called') return state?.called === true;
  return stage === 'when half is there' ? state?.half === true : state?.whole === true;
}

/** The first half of an answer, empty where it comes in one piece, and the rest. */
function answerOf({ path, body }: UpstreamCall, image: string): [string, string] {
  const streamed = (JSON.parse(body.toString()) as { stream?: boolean }).stream === true;
  const event = (data: object, name?: string): string =>
    `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
  if (path.endsWith('/chat/completions')) {
    if (!streamed) return ['', JSON.stringify({ id: 'c', choices: [], usage: USAGE })];
    const finish = event({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    const text = event({ id: 'c', choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }] });
    return [text + finish, `${event({ id: 'c', choices: [], usage: USAGE })}data: [DONE]\n\n`];
  }
  if (!streamed) return ['', JSON.stringify({ created: 1, data: [{ b64_json: image }] })];
  const partial = (index: number): string => {
    const type = 'image_generation.partial_image';
    return event({ type, b64_json: image, partial_image_index: index }, type);
  };
  const type = 'image_generation.completed';
  return [[0, 1, 2].map(partial).join(''), event({ type, b64_json: image }, type)];
}
