import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { newApiKey } from '#accounts/api-keys.js';
import { waitUntil } from '#embedded/wait-until.js';
import { ApiKeyStore } from '../../apps/api/src/auth/api-key-store.js';
import { KeyUses } from '../../apps/api/src/auth/key-uses.js';
import { UNKNOWN_KEY_LIMITS, UnknownKeyLimiter } from '../../apps/api/src/auth/unknown-key-limiter.js';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const SECRET_KEY = 'k'.repeat(40);
const FLOOD = '203.0.113.7';
/** A key that was found is believed for less than this. */
const BELIEVED_MS = 5_100;

// Real: Postgres. Callers are what the server makes of their connection: a header and an address.
describe('a flood of unknown keys', () => {
  let room: TaskRoom;
  let keys: ApiKeyRepository;
  let uses: KeyUses;
  let store: ApiKeyStore;

  beforeEach(async () => {
    room = await openTaskRoom();
    keys = new ApiKeyRepository(room.database, { secretKey: SECRET_KEY });
    uses = new KeyUses(keys, room.logger);
    // Nobody is turned away for waiting too long: how fast a busy machine looks 900 keys up is not in question here.
    const limiter = new UnknownKeyLimiter({ ...UNKNOWN_KEY_LIMITS, patienceMs: 50_000 });
    store = new ApiKeyStore(room.database, keys, uses, limiter);
  });
  afterEach(async () => {
    await uses.onApplicationShutdown();
    await room.close();
  });

  const known = async (): Promise<string> => `Bearer ${(await keys.create({ name: 'x' })).key}`;

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
    let [busy, most] = [0, 0];
    room.database.pool.on('acquire', () => (most = Math.max(most, ++busy)));
    room.database.pool.on('release', () => busy--);
    const single = await flood(900);
    await single.ended;
    expect([most, [...single.codes]]).toEqual([1, ['invalid_api_key']]);
    const many = await flood(900, (n) => `198.51.100.${n % 200}`);
    await many.ended;
    expect([...many.codes]).toEqual(['invalid_api_key']);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(UNKNOWN_KEY_LIMITS.atOnce);
  });

  it('M4: holds up neither a good key of another network nor one that was known before', async () => {
    const [old, fresh] = [await known(), await known()];
    await store.caller(old, FLOOD);
    const isTooOld = performance.now() + BELIEVED_MS;
    expect(await waitUntil(() => performance.now() > isTooOld, { timeoutMs: 60_000 })).toBe(true);
    const state = await flood(900);
    const answers = [store.caller(old, FLOOD), store.caller(fresh, '198.51.100.1')];
    expect(answers[0]).toBeInstanceOf(Promise);
    for (const answer of answers) expect(await answer).toMatchObject({ accountId: TEST_ACCOUNT });
    expect(state.open).toBeGreaterThan(0);
    // A good key of the flooding network has to wait for its turn, and gets it.
    const neighbor = await known();
    expect(await store.caller(neighbor, FLOOD)).toMatchObject({ accountId: TEST_ACCOUNT });
    await state.ended;
  }, 60_000);
});
