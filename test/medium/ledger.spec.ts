import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

/** Functions of the database that have nothing to do with money. */
const OTHERS = [
  'people_owner',
  'people_signs_in_as',
  'tasks_refuse_revival',
  'tasks_tell_end',
  'tasks_tell_held',
  'tasks_end_lifetime',
  'tasks_forget_erasure',
  'tasks_refused',
  'chats_refused',
  'refusal_count',
  'first_try_may_insert',
];
/** Each of those has a trigger, except what statements and other functions call. */
const KEPT = 2 * OTHERS.length - 2;

/** Definitions of functions and triggers, by name. */
type Definitions = Readonly<Record<string, string>>;

describe('ledger.sql', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  async function definitions(): Promise<Definitions> {
    const { rows } = await client.query<{ name: string; text: string }>(
      `SELECT oid::regprocedure::text AS name, pg_get_functiondef(oid) AS text FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal`,
    );
    return Object.fromEntries(rows.map(({ name, text }) => [name, text]));
  }

  it('holds exactly the functions and triggers by which a migrated database keeps the ledger and budgets', async () => {
    const file = await readFile(join('libs', 'billing', 'ledger.sql'), 'utf8');
    await client.query('BEGIN');
    const migrated = await definitions();
    // Triggers go with their functions, so what the file forgets is missing afterwards.
    await client.query(`DO $$ DECLARE "one" regprocedure; BEGIN
      FOR "one" IN SELECT oid FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname <> ALL ('{${OTHERS.join(',')}}')
      LOOP EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', "one"); END LOOP; END $$`);
    expect(Object.keys(await definitions())).toHaveLength(KEPT);
    await client.query(file);
    expect(await definitions()).toEqual(migrated);
    // And on a database that has them all it changes nothing.
    await client.query(file);
    expect(await definitions()).toEqual(migrated);
    await client.query('ROLLBACK');
  });
});
