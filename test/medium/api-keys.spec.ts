import pg from 'pg';
import { createApiKey, ensureApiKey, hashApiKey, listApiKeys, revokeApiKey } from '#accounts/api-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

// Real: a migrated Postgres database.
const SECRET = 'a secret of at least thirty-two characters';
let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
});

beforeEach(async () => {
  await pool.query('DELETE FROM api_keys');
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

it('stores the HMAC of a key and its first characters, never the key', async () => {
  const { id, key, prefix } = await createApiKey(pool, SECRET, { name: 'team' });
  expect(key).toMatch(/^sk-dr-[A-Za-z0-9_-]{43}$/);
  expect(prefix).toBe(key.slice(0, 12));
  const { rows } = await pool.query<{ hash: Buffer; account_id: string; text: string }>(
    'SELECT hash, account_id, api_keys::text AS text FROM api_keys WHERE id = $1',
    [id],
  );
  expect(rows[0]?.hash.equals(hashApiKey(SECRET, key))).toBe(true);
  expect(rows[0]?.account_id).toBe('acct_default');
  expect(rows[0]?.text).not.toContain(key.slice(12));
});

it('hashes differently for another key and for another secret', () => {
  const hash = hashApiKey(SECRET, 'sk-dr-one');
  expect(hash).toHaveLength(32);
  expect(hash.equals(hashApiKey(SECRET, 'sk-dr-one'))).toBe(true);
  expect(hash.equals(hashApiKey(SECRET, 'sk-dr-two'))).toBe(false);
  expect(hash.equals(hashApiKey(`${SECRET}!`, 'sk-dr-one'))).toBe(false);
});

it('makes a given key known once, whoever is first', async () => {
  const key = 'a-key-from-the-environment';
  const made = await Promise.all(Array.from({ length: 5 }, () => ensureApiKey(pool, SECRET, key, 'bootstrap')));
  expect(made.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  const listed = await listApiKeys(pool);
  expect(listed).toMatchObject([{ name: 'bootstrap', revokedAt: null }]);
  // A short foreign key must not stand in the list whole.
  expect(listed[0]?.prefix.length).toBeLessThan(key.length / 3);
});

it('revokes by id or prefix, keeps the first time, and does not revive a revoked key', async () => {
  const { id, key, prefix } = await createApiKey(pool, SECRET, { name: 'team' });
  const revoked = await revokeApiKey(pool, prefix);
  if (typeof revoked === 'string') throw new Error(revoked);
  expect(revoked.id).toBe(id);
  expect(await revokeApiKey(pool, id)).toEqual(revoked);
  expect(await listApiKeys(pool)).toEqual([revoked]);
  expect(await ensureApiKey(pool, SECRET, key, 'again')).toEqual({ id, created: false, revoked: true });
});

it('revokes nothing when the name is unknown, shared by several keys, or of another account', async () => {
  await createApiKey(pool, SECRET, { name: 'one' });
  const { id } = await createApiKey(pool, SECRET, { name: 'two' });
  await pool.query(`UPDATE api_keys SET prefix = 'sk-dr-same'`);
  expect(await revokeApiKey(pool, 'key_none')).toBe('unknown');
  expect(await revokeApiKey(pool, 'sk-dr-same')).toBe('ambiguous');
  expect(await revokeApiKey(pool, id, 'acct_other')).toBe('unknown');
  expect((await listApiKeys(pool)).map(({ revokedAt }) => revokedAt)).toEqual([null, null]);
});
