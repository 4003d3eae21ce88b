import { AuditLog } from '#accounts/audit-log.js';
import { PersonStore } from '#accounts/person-store.js';
import { admin } from '../../apps/standalone/src/commands/admin.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

const SECRET_KEY = 'k'.repeat(40);
const ADDRESS = 'https://images.example.org';

describe('npm run admin', () => {
  let room: TaskRoom;
  let people: PersonStore;
  beforeAll(async () => {
    room = await openTaskRoom();
    people = new PersonStore(room.database, { secretKey: SECRET_KEY });
  });
  afterAll(() => room.close());

  async function runWith(env: Record<string, string>, ...args: string[]): Promise<string> {
    const lines: string[] = [];
    await admin(args, { DATABASE_URL: room.databaseUrl, DATA_DIR: '/nonexistent', ...env }, (line) => lines.push(line));
    return lines.join('\n');
  }
  const run = (...args: string[]): Promise<string> => runWith({ SECRET_KEY, PUBLIC_URL: ADDRESS }, ...args);
  const tokenOf = (link: string): string => link.split('#token=')[1] ?? '';

  it('prints links for the first admin until there is one, each new and stored as a hash', async () => {
    expect(await run('list')).toBe('No members yet. Create a link for the first owner: npm run admin -- link');
    const first = await run('link');
    const second = await run('link');
    for (const link of [first, second])
      expect(link).toMatch(/^https:\/\/images\.example\.org\/console\/first-run#token=[\w-]{43}$/);
    expect(first).not.toBe(second);
    const { rows } = await room.sql('SELECT * FROM sign_in_links');
    // Of two links for the same thing only the newest is left.
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(tokenOf(first));
    const { entries } = await new AuditLog(room.database).list('acct_default', { limit: 10 });
    expect(entries.map(({ action, details }) => [action, details])).toEqual(
      Array(2).fill(['first_admin.link_made', { via: 'command' }]),
    );
    const ada = { email: 'ada@example.org', name: 'Ada', passwordHash: 'the old one' };
    expect(await people.createFounder(tokenOf(first), ada)).toBeUndefined();
    expect(await people.createFounder(tokenOf(second), ada)).toMatchObject({ role: 'owner' });
    await expect(run('link')).rejects.toThrow(
      /There is an owner already; .*: ada@example\.org\. Forgot your password\? npm run admin -- reset-password/,
    );
  });

  it('lists who may sign in, and who may not any more', async () => {
    expect(await run('list')).toMatch(
      /^EMAIL +NAME +ROLE +ACCOUNT +CREATED +STATE\nada@example\.org +Ada +owner +acct_default +\d{4}.* active$/,
    );
    await room.sql(`UPDATE people SET disabled_at = now() WHERE email = 'ada@example.org'`);
    expect(await run('list')).toMatch(/ disabled \d{4}-/);
    await room.sql('UPDATE people SET disabled_at = NULL');
    expect(await run('list')).not.toMatch(/the old one|token/);
  });

  it('prints a link with which somebody chooses a new password, whatever case their address is in', async () => {
    const link = await run('reset-password', 'ADA@example.org');
    expect(link).toMatch(/^https:\/\/images\.example\.org\/console\/reset-password#token=[\w-]{43}$/);
    expect(await people.resetCredential(tokenOf(link), { passwordHash: 'the new one' })).toMatchObject({
      email: 'ada@example.org',
    });
    expect(await people.forSignIn('ada@example.org')).toMatchObject([{ passwordHash: 'the new one' }]);
    expect(await people.resetCredential(tokenOf(link), { passwordHash: 'another' })).toBeUndefined();
    await expect(run('reset-password', 'bob@example.org')).rejects.toThrow(
      'No member has the email address bob@example.org.',
    );
  });

  it('asks for the account when several know the address', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_other', 'Other')`);
    await room.sql(`INSERT INTO people (id, account_id, email, name, role)
      VALUES ('person_2', 'acct_other', 'ada@example.org', 'Another Ada', 'admin')`);
    await expect(run('reset-password', 'ada@example.org')).rejects.toThrow(
      'Users of several accounts have the email address ada@example.org (acct_default, acct_other); add an account ID after it.',
    );
    const link = await run('reset-password', 'ada@example.org', 'acct_other');
    expect(await people.resetCredential(tokenOf(link), { passwordHash: 'hers' })).toMatchObject({ id: 'person_2' });
    await room.sql(`DELETE FROM people WHERE id = 'person_2'`);
  });

  it.each([[[]], [['remove']], [['link', 'ada@example.org']], [['reset-password']], [['list', 'a', 'b']]])(
    'explains itself when asked for %j',
    async (args) => {
      await expect(run(...args)).rejects.toThrow(
        /^(?:Usage: npm run admin --|error: .*\n`npm run admin -- --help` shows how to use it\.)/,
      );
    },
  );

  it.each<[Record<string, string>, RegExp]>([
    [{ PUBLIC_URL: ADDRESS }, /^SECRET_KEY is unknown: nothing runs on \/nonexistent/],
    [{ SECRET_KEY }, /^PUBLIC_URL is unknown: nothing runs on \/nonexistent/],
    [{ SECRET_KEY, PUBLIC_URL: ADDRESS, DATABASE_URL: '' }, /^The database is unknown/],
    [
      { SECRET_KEY, PUBLIC_URL: ADDRESS, DATABASE_URL: 'postgresql://127.0.0.1:1/none' },
      /^The database can't be reached/,
    ],
    [{ SECRET_KEY: 'short', PUBLIC_URL: ADDRESS }, /SECRET_KEY must have at least 32 characters/],
  ])('says what is missing: %j', async (env, problem) => {
    await expect(runWith(env, 'link')).rejects.toThrow(problem);
  });
});
