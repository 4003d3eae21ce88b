import type pg from 'pg';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { hashApiKey } from '#accounts/key-hashes.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import { loadConfig } from '#config/load-config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

// Real: a migrated Postgres database.
const SECRET = 'a secret of at least thirty-two characters';
let database: TestDatabase;
let prisma: PrismaService;
let pool: pg.Pool;
let keys: ApiKeyRepository;
let newKeys: NewKeyRepository;

beforeAll(async () => {
  database = await createTestDatabase();
  const [config] = loadConfig([DatabaseConfig], {
    DATABASE_URL: database.url,
    DATABASE_CONNECT_TIMEOUT_MS: '60000',
  });
  prisma = new PrismaService(config, new Logger('test', 'silent'));
  pool = prisma.pool;
  keys = new ApiKeyRepository(prisma);
  newKeys = new NewKeyRepository(prisma, { secretKey: SECRET });
});

beforeEach(async () => {
  await pool.query('DELETE FROM api_keys');
});

afterAll(async () => {
  await prisma.close();
  await database.drop();
});

it('stores the HMAC of a key and its first characters, never the key', async () => {
  const { id, key, prefix } = await newKeys.create({ name: 'team' });
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

it('finds no key by an empty prefix, which those of clients have', async () => {
  const owner = { accountId: 'acct_default', personId: 'person_1', client: 'An agent' };
  const id = await newKeys.createForClient(owner, 0, () => Promise.resolve());
  expect(await keys.revoke('')).toBe('unknown');
  expect(await keys.update('', { name: 'other' })).toBe('unknown');
  expect(await keys.revoke(id)).toMatchObject({ changed: true, key: { prefix: '', name: 'An agent (OAuth)' } });
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
  const results = await Promise.all(Array.from({ length: 5 }, () => newKeys.ensure(key, 'bootstrap')));
  expect(results.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(results.map(({ id }) => id)).size).toBe(1);
  const listed = await keys.list();
  expect(listed).toMatchObject([{ name: 'bootstrap', revokedAt: null }]);
  // A short foreign key must not stand in the list whole.
  expect(listed[0]?.prefix.length).toBeLessThan(key.length / 3);
});

it('revokes by id or prefix, keeps the first time, and does not revive a revoked key', async () => {
  const { id, key, prefix } = await newKeys.create({ name: 'team' });
  const revoked = await keys.revoke(prefix);
  if (typeof revoked === 'string') throw new Error(revoked);
  expect(revoked).toMatchObject({ key: { id }, changed: true });
  expect(await keys.revoke(id)).toEqual({ key: revoked.key, changed: false });
  expect(await keys.list()).toEqual([revoked.key]);
  expect(await newKeys.ensure(key, 'again')).toEqual({ id, created: false, revoked: true });
});

it('revokes nothing when the name is unknown, shared by several keys, or of another account', async () => {
  await newKeys.create({ name: 'one' });
  const { id } = await newKeys.create({ name: 'two' });
  await pool.query(`UPDATE api_keys SET prefix = 'sk-dr-same'`);
  expect(await keys.revoke('key_none')).toBe('unknown');
  expect(await keys.revoke('sk-dr-same')).toBe('ambiguous');
  expect(await keys.revoke(id, 'acct_other')).toBe('unknown');
  expect((await keys.list()).map(({ revokedAt }) => revokedAt)).toEqual([null, null]);
});

it('rotates a key into one with all of its settings, that shares nothing else with it', async () => {
  const settings = { weight: 3, submitsPerMinute: 4, pollsPerMinute: 5, tasksInFlight: 6, models: ['m'] } as const;
  const more = { scopes: ['chat'], tasks: 'own', defaultResponseFormat: 'url', allowPixelSize: true } as const;
  const expiresAt = new Date('2190-01-01');
  const all = { ...settings, ...more, submitMode: 'apimart', expiresAt } as const;
  const { id } = await newKeys.create({ name: 'team', settings: all, createdBy: 'setup' });
  await pool.query(`UPDATE api_keys SET last_used_at = now(), created_at = '2020-01-01'`);
  const before = await rowOf(id);
  const end = new Date('2180-01-01');
  const created = await keys.withAccountKeys('acct_default', (transaction) => newKeys.rotate(transaction, id, end));
  const after = await rowOf(created.id);
  const own = ['id', 'prefix', 'hash', 'created_at'];
  expect(own.filter((column) => String(after[column]) === String(before[column]))).toEqual([]);
  const given = { id: created.id, prefix: created.prefix, last_used_at: null, original_key_id: id };
  expect(after).toEqual({ ...before, ...given, hash: after['hash'], created_at: after['created_at'] });
  expect(await rowOf(id)).toEqual({ ...before, replaced_by: created.id, expires_at: end });
});

async function rowOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await pool.query<Record<string, unknown>>('SELECT * FROM api_keys WHERE id = $1', [id]);
  return rows[0] ?? {};
}
