import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import type { Catalog } from '#catalog/catalog.js';
import { parseCatalog } from '#catalog/parse-catalog.js';
import type { ImageProvider, ProviderCallContext } from '#providers/image-provider.js';
import { ProviderError } from '#providers/provider-error.js';
import { exactAvif } from '#images/sample-images.fixture.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import type { CallOutcome, CallRejection } from '#routing/call-permit.js';
import { DiskStore } from '#storage/disk-store.js';
import { inputKey } from '#storage/object-key.js';
import type { ProviderCall } from '#tasks/row/provider-call.js';
import type { TaskCommand, TaskSummary } from '#tasks/row/task.js';
import { allTasksOf } from '#tasks/row/task.js';
import { imageWorker, OPEN_LIMITER, imageOf, permitted, vendor, type CallLimiter } from '../support/image-worker.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
type Generate = Parameters<typeof vendor>[0];

/** Two vendors with one key each; the vendors are the tests', all else is real. */
const CATALOG = `providers:
  first: { type: openai, keys: [{ name: first-key, env: KEY }] }
  second: { type: openai, keys: [{ name: second-key, env: KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: first }, { provider: second, model: theirs }] }
`;

describe('ordering an image', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  let png: Buffer;
  beforeAll(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-order-'));
    store = new DiskStore(folder);
    png = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#ddccaa' } })
      .png()
      .toBuffer();
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A worker of these vendors, by their names in the catalog. */
  function worker(
    vendors: Readonly<Record<string, Generate>>,
    text = CATALOG,
    limiter = OPEN_LIMITER,
    leaseMs = '1000',
  ) {
    const current = parseCatalog(text, 'models.yaml', { KEY: 'secret' });
    const make = ({ name }: { name: string }): ImageProvider =>
      vendor(vendors[name] ?? (() => mustNotBeCalled()), name);
    const registry = new ProviderRegistry({ current }, make);
    return imageWorker(room, { store, registry, limiter, leaseMs });
  }

  const accepted = async (changes: Partial<TaskCommand> = {}): Promise<string> =>
    (await room.inserts.insert(command(changes), DEADLINE_MS)).id;

  async function read(id: string): Promise<TaskSummary> {
    const task = await room.store.find(allTasksOf(TEST_ACCOUNT), id);
    if (task === undefined) throw new Error('no such task');
    return task;
  }

  const callsOf = async (id: string): Promise<readonly ProviderCall[]> =>
    (await room.store.history(allTasksOf(TEST_ACCOUNT), id))?.calls ?? [];

  const countsOf = async (id: string): Promise<unknown> =>
    (await room.sql('SELECT attempt, waits, losses, provider_starts AS starts FROM tasks WHERE id = $1', [id])).rows[0];

  const due = async (id: string): Promise<unknown> =>
    room.sql(`UPDATE tasks SET next_try_at = now() - interval '1 s' WHERE id = $1`, [id]);

  const image: Generate = () => Promise.resolve(imageOf(png));

  function failing(charged: 'no' | 'maybe', fate: { retryable?: boolean; keyRefused?: boolean } = {}): Generate {
    return () =>
      Promise.reject(new ProviderError('upstream_error', 'It failed.', { retryable: true, charged, ...fate }));
  }

  describe('when providers fail', () => {
    it.each([
      ['a failure that cost nothing', failing('no')],
      ['a key that is not let in', failing('no', { retryable: false, keyRefused: true })],
    ])('asks the next one within the same attempt after %s', async (_what, first: Generate) => {
      const id = await accepted();
      const asked: string[] = [];
      const second: Generate = (context, order) => {
        asked.push(order.model, context.idempotencyKey, String(context.startNumber));
        return Promise.resolve(imageOf(png));
      };
      await worker({ first, second }).run(id);
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(asked).toEqual(['theirs', id, '2']);
      expect(await countsOf(id)).toEqual({ attempt: 1, waits: 0, losses: 0, starts: 2 });
      expect(await callsOf(id)).toMatchObject([
        { n: 1, provider: 'first', key: 'first-key', model: 'gpt-image-2', outcome: 'failed', charged: 'no' },
        { n: 2, provider: 'second', key: 'second-key', model: 'theirs', outcome: 'succeeded', charged: 'yes' },
      ]);
    });

    it('V1: takes a rejected request for no outage, and shows no other key the same request', async () => {
      const keys = CATALOG.replace('env: KEY }] }', 'env: KEY }, { name: other-key, env: KEY }] }');
      const prompt = 'a lighthouse at night';
      const reason = `No such thing as ${prompt}.`;
      const rejected = { retryable: false, charged: 'no', isAboutRequest: true, reason } as const;
      const reject: Generate = () => Promise.reject(new ProviderError('upstream_error', 'Rejected.', rejected));
      const outcomes: (CallOutcome | number)[] = [];
      const limiter: CallLimiter = {
        enter: ([option]) => Promise.resolve(permitted(option!, (how) => outcomes.push(how))),
      };
      const id = await accepted({ prompt });
      await worker({ first: reject, second: reject }, keys, limiter).run(id);
      expect((await callsOf(id)).map(({ provider }) => provider)).toEqual(['first', 'second']);
      expect(outcomes).toEqual(['neutral', 'neutral']);
      const { status, error } = await read(id);
      expect(status).toBe('failed');
      expect(error?.message).toBe('Rejected. The provider said: No such thing as [prompt].');
    });

    describe('at one of several equal servers', () => {
      const POOL = `providers:
  pool:
    type: openai
    servers:
      - { name: a, base_url: http://127.0.0.1:1/a, keys: [{ name: a1, env: KEY }, { name: a2, env: KEY }] }
      - { name: b, base_url: http://127.0.0.1:1/b, keys: [{ name: b1, env: KEY }] }
      - { name: c, base_url: http://127.0.0.1:1/c, keys: [{ name: c1, env: KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: pool }] }
`;
      /** Calls the servers in the order of their names, like a line in which the first is always free. */
      function inOrder() {
        const told: [string, CallOutcome | number][] = [];
        const limiter: CallLimiter = {
          enter: (options) => {
            const nameOf = ({ provider, key }: (typeof options)[number]) => `${provider.server} ${key?.name}`;
            const [first] = [...options].sort((one, other) => nameOf(one).localeCompare(nameOf(other)));
            return Promise.resolve(permitted(first!, (how) => told.push([first!.provider.server ?? '', how])));
          },
        };
        return { limiter, told };
      }
      const rejection = (status: number): ProviderError =>
        new ProviderError('upstream_error', 'Rejected.', {
          retryable: false,
          charged: 'no',
          isAboutRequest: true,
          status,
        });

      it.each([400, 404, 422])('asks the others after a %i, which is a failure of that server', async (status) => {
        const { limiter, told } = inOrder();
        let calls = 0;
        const pool: Generate = () =>
          calls++ === 0 ? Promise.reject(rejection(status)) : Promise.resolve(imageOf(png));
        const id = await accepted();
        await worker({ pool }, POOL, limiter).run(id);
        expect(await read(id)).toMatchObject({ status: 'completed' });
        expect((await callsOf(id)).map(({ server, outcome }) => [server, outcome])).toEqual([
          ['a', 'failed'],
          ['b', 'succeeded'],
        ]);
        expect(told).toEqual([
          ['a', 'failed'],
          ['b', 'succeeded'],
        ]);
      });

      it('asks no other after a 413, or what names a field of the caller, which is no failure', async () => {
        const named = { retryable: false, charged: 'no', isAboutRequest: true, status: 400, param: 'size' } as const;
        for (const error of [rejection(413), new ProviderError('invalid_value', 'No such size.', named)]) {
          const { limiter, told } = inOrder();
          const id = await accepted();
          await worker({ pool: () => Promise.reject(error) }, POOL, limiter).run(id);
          expect(await read(id)).toMatchObject({ status: 'failed', error: { code: error.code } });
          expect(told).toEqual([['a', 'neutral']]);
        }
      });

      it('waits for the others when they are full', async () => {
        const limiter: CallLimiter = {
          enter: (options) => {
            const a = options.find(({ provider }) => provider.server === 'a');
            return Promise.resolve(a ? permitted(a, () => undefined) : { reason: 'busy', retryAfterMs: 4_000 });
          },
        };
        const id = await accepted();
        await worker({ pool: () => Promise.reject(rejection(404)) }, POOL, limiter).run(id);
        expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued' });
        expect(await callsOf(id)).toMatchObject([{ server: 'a', outcome: 'failed', charged: 'no' }]);
      });
    });

    it.each([
      ['one that may have been charged', failing('maybe'), { code: 'upstream_error' }],
      [
        'the caller’s own fault',
        () => Promise.reject(new ProviderError('moderation_blocked', 'No.', { retryable: false, charged: 'no' })),
        { code: 'moderation_blocked' },
      ],
    ])('asks nobody else after %s', async (_what, first: Generate, error) => {
      const id = await accepted();
      await worker({ first, second: mustNotBeCalled }).run(id);
      expect(await read(id)).toMatchObject({ status: 'failed', error });
      expect(await callsOf(id)).toMatchObject([{ outcome: 'failed', code: error.code }]);
    });

    it('releases the task when all have failed, and stops at the cap on starts', async () => {
      const id = await accepted();
      const vendors = { first: failing('no'), second: failing('no') };
      await worker(vendors).run(id);
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued', openProvider: null });
      expect(await countsOf(id)).toMatchObject({ attempt: 1, starts: 2 });
      await due(id);
      await worker(vendors).run(id);
      expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
      expect((await callsOf(id)).map(({ provider, outcome }) => [provider, outcome])).toEqual([
        ['first', 'failed'],
        ['second', 'failed'],
        ['first', 'failed'],
      ]);
    });

    it('goes where the request can be done, and fails it plainly where that is nowhere', async () => {
      const inputs = [{ kind: 'url', url: 'http://127.0.0.1:1/a.png', param: 'image' }] as const;
      const unable = CATALOG.replace('{ provider: first }', '{ provider: first, capabilities: { edits: false } }');
      const nobody = unable.replace('theirs }', 'theirs, capabilities: { edits: false } }');
      const id = await accepted({ action: 'edit', inputs });
      await worker({}, nobody).run(id);
      expect(await read(id)).toMatchObject({
        status: 'failed',
        error: { code: 'unsupported_parameter', param: 'image', http_status: 400 },
      });
      expect(await countsOf(id)).toMatchObject({ starts: 0 });
      const plain = await accepted();
      await worker({ first: image }, unable).run(plain);
      expect(await callsOf(plain)).toMatchObject([{ provider: 'first' }]);
    });

    it.each([
      ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
      ['an empty image', Buffer.alloc(0)],
      ['one beyond all limits', Buffer.alloc(64_000_001, png)],
    ])('does not order again after %s, which is charged as an image is', async (_what, bytes: Buffer) => {
      const id = await accepted();
      await worker({ first: () => Promise.resolve(imageOf(bytes)), second: mustNotBeCalled }).run(id);
      const error = { code: 'upstream_invalid_response', http_status: 502 };
      expect(await read(id)).toMatchObject({ status: 'failed', error });
      expect(await callsOf(id)).toMatchObject([{ provider: 'first', outcome: 'failed', charged: 'yes' }]);
    });

    it('fails a task whose model is served no more', async () => {
      const id = await accepted({ model: 'gone' });
      await worker({}).run(id);
      expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'interrupted', http_status: 500 } });
    });
  });

  describe('at the limiter', () => {
    /** Refuses these providers; notes what it is told. */
    function gateOf(refusals: Readonly<Record<string, CallRejection>>) {
      const told: [string, string, CallOutcome | number][] = [];
      const limiter: CallLimiter = {
        enter: ([option]) => {
          const { provider, key } = option!;
          const permit = permitted(option!, (how) => told.push([provider.name, key?.name ?? '', how]));
          return Promise.resolve(refusals[provider.name] ?? permit);
        },
      };
      return { limiter, told };
    }

    it('passes over who is refused, without counting a start', async () => {
      const id = await accepted();
      const { limiter, told } = gateOf({ first: { reason: 'open', retryAfterMs: 9_000 } });
      await worker({ second: image }, CATALOG, limiter).run(id);
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(await countsOf(id)).toMatchObject({ starts: 1 });
      expect(told).toEqual([['second', 'second-key', 'succeeded']]);
    });

    it('lets a task wait for the first that may be free, which counts as nothing', async () => {
      const id = await accepted();
      const { limiter } = gateOf({
        first: { reason: 'busy', retryAfterMs: 9_000 },
        second: { reason: 'rate', retryAfterMs: 4_000 },
      });
      await worker({}, CATALOG, limiter).run(id);
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued' });
      expect(await countsOf(id)).toEqual({ attempt: 1, waits: 1, losses: 0, starts: 0 });
      expect(await room.redis.hget(`${room.prefix}:images:${id}-1`, 'delay')).toBe('4000');
    });

    describe('of a free provider that alone makes the model, whose call begins with the claim', () => {
      const FREE = `providers:
  local: { type: comfyui, base_url: http://127.0.0.1:1/ }
models:
  gpt-image-2: { kind: image, routes: [{ provider: local, model: theirs }] }
`;
      const called = { n: 1, provider: 'local', key: '', model: 'theirs', free: true };
      const writesOf = async (id: string): Promise<number> =>
        (
          (await room.sql('SELECT count(*)::int AS count FROM row_writes WHERE id = $1', [id])).rows[0] as {
            count: number;
          }
        ).count;
      beforeAll(async () => {
        await room.sql('CREATE TABLE row_writes (id text)');
        await room.sql(`CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO row_writes VALUES (NEW.id); RETURN NEW; END $$`);
        // Not when a lease is renewed.
        await room.sql(`CREATE TRIGGER note_write BEFORE UPDATE ON tasks FOR EACH ROW
          WHEN ((OLD.attempt, OLD.calls, OLD.status) IS DISTINCT FROM (NEW.attempt, NEW.calls, NEW.status))
          EXECUTE FUNCTION note_write()`);
      });
      afterAll(() => room.sql('DROP FUNCTION note_write CASCADE'));

      it('writes the row twice', async () => {
        const id = await accepted();
        const seen: ProviderCallContext[] = [];
        const local: Generate = async (context) => {
          seen.push(context);
          expect(await callsOf(id)).toMatchObject([called]);
          expect(await read(id)).toMatchObject({ openProvider: 'local' });
          return imageOf(png);
        };
        await worker({ local }, FREE).run(id);
        expect(await read(id)).toMatchObject({ status: 'completed', openProvider: null });
        expect(seen.map(({ startNumber }) => startNumber)).toEqual([1]);
        expect(await callsOf(id)).toMatchObject([{ ...called, outcome: 'succeeded', charged: 'no' }]);
        expect(await countsOf(id)).toEqual({ attempt: 1, waits: 0, losses: 0, starts: 1 });
        expect(await writesOf(id)).toBe(2);
      });

      it('takes the call back where the provider is not free', async () => {
        const id = await accepted();
        const { limiter } = gateOf({ local: { reason: 'busy', retryAfterMs: 4_000 } });
        await worker({}, FREE, limiter).run(id);
        expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued', openProvider: null });
        expect(await room.store.history(allTasksOf(TEST_ACCOUNT), id)).toMatchObject({ calls: [], startedAt: null });
        expect(await countsOf(id)).toEqual({ attempt: 1, waits: 1, losses: 0, starts: 0 });
        expect((await room.sql('SELECT provider FROM tasks WHERE id = $1', [id])).rows).toEqual([{ provider: null }]);
        await due(id);
        await worker({ local: image }, FREE).run(id);
        expect(await read(id)).toMatchObject({ status: 'completed' });
        expect(await callsOf(id)).toMatchObject([{ ...called, outcome: 'succeeded' }]);
      });

      it('is asked again when the worker that claimed it was lost', async () => {
        const id = await accepted();
        await room.transitions.claim(id, 'lost', 1_000, { 'gpt-image-2': { ...called, provider: 'gone' } });
        await room.sql(`UPDATE tasks SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
        await worker({ local: image }, FREE).run(id);
        expect(await read(id)).toMatchObject({ status: 'completed' });
        expect(await callsOf(id)).toMatchObject([
          { n: 1, provider: 'gone', outcome: 'unknown', charged: 'no' },
          { n: 2, provider: 'local', outcome: 'succeeded' },
        ]);
      });

      it('says that the call was not made when the catalog names another by now', async () => {
        const id = await accepted();
        const [before, now] = [FREE.replace('theirs', 'ours'), FREE].map((text) =>
          parseCatalog(text, 'models.yaml', {}),
        );
        let looks = Infinity;
        const source = {
          get current() {
            return (looks++ === 0 ? before : now) as Catalog;
          },
        };
        const registry = new ProviderRegistry(source, () => vendor(image, 'local'));
        const { run } = imageWorker(room, { store, registry });
        // The claim looks first.
        looks = 0;
        await run(id);
        expect(await read(id)).toMatchObject({ status: 'completed' });
        expect(await callsOf(id)).toMatchObject([
          { ...called, model: 'ours', outcome: 'not_called', charged: 'no' },
          { ...called, n: 2, outcome: 'succeeded' },
        ]);
      });

      it.each([
        ['asks for several images', { options: { ...command().options, n: 2 } }],
        ['is strict', { options: { ...command().options, strict: true } }],
        ['has inputs', { inputs: [{ kind: 'url', url: 'http://127.0.0.1:1/a.png', param: 'image' }] }],
      ] as const)('begins none for a task that %s', async (_what, changes) => {
        const claim = await room.transitions.claim(await accepted(changes), 'worker', 60_000, {
          'gpt-image-2': called,
        });
        expect(claim).toMatchObject({ providerStarts: 0, providerCallOpen: false });
        expect(claim?.begun).toBeUndefined();
      });
    });

    it('tells what a failure says of the provider', async () => {
      const id = await accepted();
      const { limiter, told } = gateOf({});
      await worker({ first: failing('no', { keyRefused: true }), second: failing('no') }, CATALOG, limiter).run(id);
      expect(told).toEqual([
        ['first', 'first-key', 'key_refused'],
        ['second', 'second-key', 'failed'],
      ]);
    });
  });

  describe('from a provider that takes its time', () => {
    /** Names its job, is at work so often, then brings the image. */
    function slow(looks: number, seen: ProviderCallContext[] = []): Generate {
      return async (context) => {
        seen.push(context);
        if (context.resumeJobId === undefined) await context.onAccepted('vendor-job-1');
        return seen.length > looks ? imageOf(png) : { pending: { checkAfterMs: 2_000 } };
      };
    }

    it('holds no worker meanwhile, and asks for the same job until it is done', async () => {
      const id = await accepted();
      const seen: ProviderCallContext[] = [];
      const vendors = { first: slow(2, seen), second: mustNotBeCalled };
      await worker(vendors).run(id);
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running', openProvider: 'first' });
      expect(await room.redis.hget(`${room.prefix}:images:${id}-2`, 'delay')).toBe('2000');
      expect(await room.store.history(allTasksOf(TEST_ACCOUNT), id)).toMatchObject({ callRuns: true });
      for (let n = 0; n < 2; n++) {
        await due(id);
        await worker(vendors).run(id);
      }
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(seen.map(({ resumeJobId, startNumber }) => [resumeJobId, startNumber])).toEqual([
        [undefined, 1],
        ['vendor-job-1', 1],
        ['vendor-job-1', 1],
      ]);
      expect(await countsOf(id)).toEqual({ attempt: 3, waits: 2, losses: 0, starts: 1 });
      expect(await callsOf(id)).toMatchObject([
        { n: 1, provider: 'first', upstreamId: 'vendor-job-1', outcome: 'succeeded', charged: 'yes' },
      ]);
    });

    it('orders elsewhere when the job came to nothing, and nowhere when that is not known', async () => {
      const id = await accepted();
      await worker({ first: slow(1) }).run(id);
      await due(id);
      await worker({ first: failing('no'), second: image }).run(id);
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(await callsOf(id)).toMatchObject([
        { provider: 'first', outcome: 'failed', charged: 'no' },
        { provider: 'second', outcome: 'succeeded' },
      ]);
      const lost = await accepted();
      await worker({ first: slow(1) }).run(lost);
      await due(lost);
      await worker({ first: failing('maybe'), second: mustNotBeCalled }).run(lost);
      expect(await read(lost)).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
      expect(await callsOf(lost)).toMatchObject([{ outcome: 'failed', charged: 'maybe' }]);
    });

    it('that is finished and no usable image is ordered nowhere else: it was charged', async () => {
      const id = await accepted();
      await worker({ first: slow(1) }).run(id);
      await due(id);
      const garbage: Generate = () => Promise.resolve(imageOf(Buffer.from('<html>')));
      await worker({ first: garbage, second: mustNotBeCalled }).run(id);
      expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'upstream_invalid_response' } });
      expect(await callsOf(id)).toMatchObject([{ provider: 'first', outcome: 'failed', charged: 'yes' }]);
    });

    it('notes the name of the job as soon as the database takes it', async () => {
      const id = await accepted();
      const blocker = await room.database.pool.connect();
      const waiting = async (): Promise<number> => {
        const text = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE '%upstreamId%'`;
        return (await room.sql(text)).rowCount ?? 0;
      };
      const blocked: Generate = async (context) => {
        await blocker.query('BEGIN');
        // It is idle for as long as the other waits.
        await blocker.query('SET LOCAL idle_in_transaction_session_timeout = 0');
        await blocker.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [id]);
        const noted = context.onAccepted('vendor-job-1');
        expect(await waitUntil(async () => (await waiting()) > 0, { timeoutMs: 20_000, everyMs: 20 })).toBe(true);
        expect(await waitUntil(async () => (await waiting()) === 0, { timeoutMs: 20_000, everyMs: 20 })).toBe(true);
        await blocker.query('ROLLBACK');
        await noted;
        return { pending: { checkAfterMs: 2_000 } };
      };
      await worker({ first: blocked }, CATALOG, OPEN_LIMITER, '60000').run(id);
      blocker.release();
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running' });
      expect(await callsOf(id)).toMatchObject([{ upstreamId: 'vendor-job-1' }]);
    });

    it('says so when the provider was taken out of the catalog meanwhile', async () => {
      const id = await accepted();
      await worker({ first: slow(1) }).run(id);
      await due(id);
      const without = CATALOG.replace(/ {2}first: .*\n/, '').replace('{ provider: first }, ', '');
      await worker({ second: mustNotBeCalled }, without).run(id);
      expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
      expect(await callsOf(id)).toMatchObject([{ outcome: 'unknown', charged: 'maybe' }]);
    });

    it('loads the catalog again first when this process does not know the server of its job', async () => {
      const id = await accepted();
      await worker({ first: slow(1) }).run(id);
      await due(id);
      const [before, now] = [
        CATALOG.replace('first:', 'renamed:').replace('provider: first', 'provider: renamed'),
        CATALOG,
      ];
      let current = parseCatalog(before, 'models.yaml', { KEY: 'secret' });
      const source = {
        get current() {
          return current;
        },
      };
      const seen: ProviderCallContext[] = [];
      const registry = new ProviderRegistry(
        source,
        ({ name }) => vendor(slow(0, seen), name),
        () => {
          current = parseCatalog(now, 'models.yaml', { KEY: 'secret' });
          return Promise.resolve();
        },
      );
      await imageWorker(room, { store, registry }).run(id);
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(seen.map(({ resumeJobId }) => resumeJobId)).toEqual(['vendor-job-1']);
    });

    it('parks the task again when the process stops while it asks', async () => {
      const id = await accepted();
      await worker({ first: slow(1) }).run(id);
      await due(id);
      const begun = new Promise<ReturnType<typeof worker>>((resolve) => {
        const stopping = worker({
          first: (context) => {
            resolve(stopping);
            return new Promise((_, reject) => {
              context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
            });
          },
        });
        stopped = stopping.run(id);
      });
      (await begun).leases.abortAll();
      await stopped;
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running', openProvider: 'first' });
      expect(await countsOf(id)).toEqual({ attempt: 2, waits: 2, losses: 0, starts: 1 });
    });
    let stopped: Promise<unknown> | undefined;

    it('does not need the reference images again, which may be gone by then', async () => {
      const photo = await sharp({ create: { width: 128, height: 128, channels: 3, background: '#2060a0' } })
        .png()
        .toBuffer();
      const base = command({ action: 'edit' });
      const key = inputKey(base.id, 0);
      await store.put(key, Readable.from([photo]), { contentType: 'image/png' });
      const inputs = [{ kind: 'object', key, bytes: photo.length, param: 'image' }] as const;
      await room.inserts.insert({ ...base, inputs }, DEADLINE_MS);
      const lengths: number[][] = [];
      const first: Generate = async (context, { images }) => {
        lengths.push(images.map(({ bytes }) => bytes.length));
        if (context.resumeJobId !== undefined) return imageOf(png);
        await context.onAccepted('vendor-job-1');
        return { pending: { checkAfterMs: 2_000 } };
      };
      await worker({ first }).run(base.id);
      await store.delete(key);
      await due(base.id);
      await worker({ first }).run(base.id);
      expect(await read(base.id)).toMatchObject({ status: 'completed' });
      expect(lengths).toEqual([[expect.any(Number)], [0]]);
      expect(lengths[0]?.[0]).toBeGreaterThan(0);
    });

    it('still tells of what was converted for it', async () => {
      const avif = await exactAvif(96, 80);
      const base = command({ action: 'edit' });
      const key = inputKey(base.id, 0);
      await store.put(key, Readable.from([avif]), { contentType: 'image/avif' });
      const inputs = [{ kind: 'object', key, bytes: avif.length, param: 'image' }] as const;
      await room.inserts.insert({ ...base, inputs }, DEADLINE_MS);
      const sent: string[] = [];
      const first: Generate = async (context, { images }) => {
        if (context.resumeJobId !== undefined) return imageOf(png);
        sent.push(...images.map(({ contentType }) => contentType));
        await context.onAccepted('vendor-job-1');
        return { pending: { checkAfterMs: 2_000 } };
      };
      await worker({ first }).run(base.id);
      await store.delete(key);
      await due(base.id);
      await worker({ first }).run(base.id);
      const { rows } = await room.sql('SELECT status, warnings FROM tasks WHERE id = $1', [base.id]);
      expect([sent, rows]).toEqual([
        ['image/png'],
        [{ status: 'completed', warnings: ['image was converted from AVIF to PNG.'] }],
      ]);
    });

    it('can be cancelled, and says that it may have been charged', async () => {
      const id = await accepted();
      await worker({ first: slow(1) }).run(id);
      expect(await room.store.cancel(allTasksOf(TEST_ACCOUNT), id)).toMatchObject({
        task: { status: 'cancelled', mayBeCharged: true },
      });
      await worker({ first: mustNotBeCalled }).run(id);
      expect(await read(id)).toMatchObject({ status: 'cancelled', mayBeCharged: true });
    });
  });
});

function mustNotBeCalled(): Promise<never> {
  return Promise.reject(new Error('must not be called'));
}
