import { newApiKey } from '#accounts/api-keys.js';
import { AuditLog } from '#accounts/audit-log.js';
import { ClientTokens } from '#accounts/client-tokens.js';
import { FindKey } from '#accounts/find-key.js';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import { PersonStore } from '#accounts/person-store.js';
import { SessionStore } from '#accounts/session-store.js';
import { TaskRights } from '#accounts/task-rights.js';
import { newToken } from '#accounts/tokens.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { waitUntil } from '#embedded/wait-until.js';
import { ApiKeyCache } from '../../apps/api/src/auth/api-key-cache.js';
import { LimitedKeys } from '../../apps/api/src/auth/limited-keys.js';
import { KeyUses } from '../../apps/api/src/auth/key-uses.js';
import { FIRST_LOOK_UP_LIMITS, FirstLookUpLimiter } from '../../apps/api/src/auth/first-look-up-limiter.js';
import { SessionLookUps } from '../../apps/api/src/console/session-look-ups.js';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const SECRET_KEY = 'k'.repeat(40);
const FLOOD = '203.0.113.7';
/** A key that was found is believed for less than this. */
const BELIEVED_MS = 5_100;

// Real: Postgres. Callers are what the server makes of their connection: a header and an address.
describe('a flood of unknown keys', () => {
  let room: TaskRoom;
  let newKeys: NewKeyRepository;
  let uses: KeyUses;
  let store: ApiKeyCache;

  beforeEach(async () => {
    room = await openTaskRoom();
    const secrets = { secretKey: SECRET_KEY };
    newKeys = new NewKeyRepository(room.database, secrets);
    const keys = new FindKey(
      room.database,
      secrets,
      new ClientTokens(room.database, secrets, new AuditLog(room.database)),
    );
    uses = new KeyUses(keys, room.logger);
    // Nobody is turned away for waiting too long: how fast a busy machine looks 900 keys up is not in question here.
    const limiter = new FirstLookUpLimiter({ ...FIRST_LOOK_UP_LIMITS, maxWaitMs: 150_000 });
    const [rights, budgets] = [new TaskRights(room.database), new BudgetRepository(room.database)];
    const limited = new LimitedKeys(new ApiKeyRepository(room.database), budgets, rights);
    store = new ApiKeyCache(keys, rights, budgets, limited, uses, limiter);
  });
  afterEach(async () => {
    await uses.onApplicationShutdown();
    await room.close();
  });

  const known = async (): Promise<string> => `Bearer ${(await newKeys.create({ name: 'x' })).key}`;

  /** Requests with keys that nobody has, one after the other, and how many of them were not answered yet. */
  async function flood(count: number, addressOf: (n: number) => string = () => FLOOD) {
    const state = { open: count, codes: new Set<string>(), ended: Promise.resolve() };
    const calls: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      const call = Promise.resolve(store.caller(`Bearer ${newApiKey()}`, addressOf(n)));
      calls.push(
        call.catch((error: unknown) => state.codes.add((error as { code: string }).code)).finally(() => state.open--),
      );
      // Prisma asks for all that comes in one turn of the loop with one statement, and requests come in one each.
      await new Promise((resolve) => setImmediate(resolve));
    }
    state.ended = Promise.all(calls).then(() => undefined);
    return state;
  }

  it('M4: keeps a few connections of the database busy, whatever number of keys and networks it has', async () => {
    let busy = 0;
    let most = 0;
    room.database.pool.on('acquire', () => (most = Math.max(most, ++busy)));
    room.database.pool.on('release', () => busy--);
    const single = await flood(900);
    await single.ended;
    expect([most, [...single.codes]]).toEqual([1, ['invalid_api_key']]);
    const many = await flood(900, (n) => `198.51.100.${n % 200}`);
    await many.ended;
    expect([...many.codes]).toEqual(['invalid_api_key']);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(FIRST_LOOK_UP_LIMITS.maxConcurrent);
  });

  it('M4: holds up neither a good key of another network nor one that was known before', async () => {
    const old = await known();
    const fresh = await known();
    await store.caller(old, FLOOD);
    const isTooOld = performance.now() + BELIEVED_MS;
    expect(await waitUntil(() => performance.now() > isTooOld, { timeoutMs: 60_000 })).toBe(true);
    await Promise.all(Array.from({ length: 4 }, () => room.database.ping()));
    const state = await flood(900);
    const answers = [store.caller(old, FLOOD), store.caller(fresh, '198.51.100.1')];
    expect(answers[0]).toBeInstanceOf(Promise);
    for (const answer of answers) expect(await answer).toMatchObject({ accountId: TEST_ACCOUNT });
    expect(state.open).toBeGreaterThan(0);
    // A good key of the flooding network has to wait for its turn, and gets it.
    const neighbor = await known();
    expect(await store.caller(neighbor, FLOOD)).toMatchObject({ accountId: TEST_ACCOUNT });
    await state.ended;
  });
});

// The same for sessions: callers are a cookie and an address.
describe('a flood of unknown sessions', () => {
  let room: TaskRoom;
  let sessions: SessionLookUps;
  let people: PersonStore;
  let own: string;

  beforeEach(async () => {
    room = await openTaskRoom();
    const secrets = { secretKey: SECRET_KEY };
    people = new PersonStore(room.database, secrets);
    const store = new SessionStore(room.database, secrets);
    const limiter = new FirstLookUpLimiter({ ...FIRST_LOOK_UP_LIMITS, maxWaitMs: 150_000 });
    sessions = new SessionLookUps(store, limiter);
    await room.sql(
      `INSERT INTO people (id, account_id, email, name, role) VALUES ('person_a', $1, 'a@b.c', 'A', 'admin')`,
      [TEST_ACCOUNT],
    );
    own = (await store.begin('person_a', 'test')).token;
  });
  afterEach(() => room.close());

  /** How many statements the work sends. */
  async function statementsOf(work: () => Promise<unknown>): Promise<number> {
    let count = 0;
    const counting = () => count++;
    room.database.pool.on('acquire', counting);
    await work();
    room.database.pool.off('acquire', counting);
    return count;
  }

  it('M4: asks nothing for what is no token, and once for one that nobody has', async () => {
    const odd = ['', 'x', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}=`, `${'A'.repeat(42)}\n`];
    expect(
      await statementsOf(async () => {
        for (const token of odd) expect(await sessions.find(token, FLOOD)).toBeUndefined();
      }),
    ).toBe(0);
    const one = () => sessions.find(newToken(), FLOOD);
    await one();
    const usual = await statementsOf(one);
    expect(usual).toBeGreaterThan(0);
    const unknown = newToken();
    const same = () => Promise.all(Array.from({ length: 50 }, () => sessions.find(unknown, FLOOD)));
    expect(await statementsOf(same)).toBe(usual);
    expect(await statementsOf(same)).toBe(0);
  });

  it('M4: takes one look-up of a network at a time, and holds up no session that was met or is of another network', async () => {
    expect(await sessions.find(own, FLOOD)).toMatchObject({ personId: 'person_a' });
    // Before the flood, which would be over while connections are opened.
    const fresh = await new SessionStore(room.database, { secretKey: SECRET_KEY }).begin('person_a', 'test');
    await Promise.all(Array.from({ length: 4 }, () => room.database.ping()));
    let busy = 0;
    let most = 0;
    let open = 900;
    room.database.pool.on('acquire', () => (most = Math.max(most, ++busy)));
    room.database.pool.on('release', () => busy--);
    const flood = Array.from({ length: open }, () => sessions.find(newToken(), FLOOD).finally(() => open--));
    expect(await sessions.find(own, FLOOD)).toMatchObject({ personId: 'person_a' });
    expect(await sessions.find(fresh.token, '198.51.100.1')).toMatchObject({ personId: 'person_a' });
    expect(open).toBeGreaterThan(0);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([undefined]));
    expect(most).toBeLessThanOrEqual(FIRST_LOOK_UP_LIMITS.maxConcurrent);
  });

  it('M4: a session that has ended is none at once, and the first admin is looked for until there is one', async () => {
    const { id } = (await sessions.find(own, FLOOD))!;
    await room.sql('DELETE FROM sessions WHERE id = $1', [id]);
    expect(await sessions.find(own, FLOOD)).toBeUndefined();
    expect(await people.hasFounder()).toBe(false);
    await room.sql('UPDATE people SET founder = true');
    expect(await people.hasFounder()).toBe(true);
    expect(await statementsOf(() => people.hasFounder())).toBe(0);
  });
});
