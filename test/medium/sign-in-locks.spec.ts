import { AccountStore } from '#accounts/account-store.js';
import { LinkStore } from '#accounts/link-store.js';
import { OpenIdPeople } from '#accounts/openid-people.js';
import type { OpenIdRefusal } from '#accounts/openid-provider.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { SessionStore } from '#accounts/session-store.js';
import type { PrismaService } from '#database/prisma.service.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { openPrisma } from '../support/open-prisma.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

const SECRETS = { secretKey: 'k'.repeat(40) };
const FIRST = 'acct_default';
const OLD = 'the old hash';
const NEW = 'the new hash';
const OTHER = 'another hash';

/** Changes of one sign-in that come at the same time: none waits for another that waits for it. */
describe('changes of a sign-in at the same time', () => {
  let testDatabase: TestDatabase;
  let database: PrismaService;
  let people: PersonStore;
  let links: LinkStore;
  let sessions: SessionStore;
  let accounts: AccountStore;
  let openId: OpenIdPeople;
  /** Bob holds his sign-in in the first account, and shares it in a second one. */
  let bob: Person;
  let bobToo: Person;
  let second: string;
  let bobs = 0;

  const tokenOf = (path: string): string => path.split('#token=')[1]!;
  const invited = async (accountId: string, email: string, role: 'admin' | 'member' = 'member'): Promise<string> =>
    tokenOf(await links.invite(accountId, { email, role }, null));
  const resetToken = async (person: Person, allAccounts = false): Promise<string> =>
    tokenOf(await links.resetPassword(person, { allAccounts }));
  const reset = (token: string, passwordHash = NEW) => people.resetCredential(token, { passwordHash });
  const hashOf = async ({ id }: Person): Promise<string | null> =>
    (await database.person.findUniqueOrThrow({ where: { id } })).passwordHash;

  const identityOf = (subject: string) => ({ issuer: 'https://id.example.org', subject });
  /** The user comes by the provider, which has verified their address. */
  const admit = async ({ id, email }: Person): Promise<unknown> => {
    const refusal = (error: OpenIdRefusal): string => error.reason;
    return await openId.admit({ ...identityOf(id), email, emailVerified: true, name: 'Bob' }, []).catch(refusal);
  };

  /** Starts two changes while a row is locked that both need; they get it in this order. */
  async function inTurn<T, U>(
    table: 'people' | 'sign_in_links',
    id: string,
    [first, second]: readonly [() => Promise<T>, () => Promise<U>],
  ): Promise<[T, U]> {
    const hold = await database.pool.connect();
    try {
      await hold.query('BEGIN');
      // It is idle for as long as the others wait.
      await hold.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await hold.query(`SELECT 1 FROM ${table} WHERE id = $1 FOR UPDATE`, [id]);
      const one = first();
      await waitForLockWait(database.pool);
      const other = second();
      await waitForLockWait(database.pool, 2);
      await hold.query('COMMIT');
      return await Promise.all([one, other]);
    } finally {
      hold.release();
    }
  }

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = openPrisma(testDatabase.url, { databasePool: 6 });
    people = new PersonStore(database, SECRETS);
    [links, sessions] = [new LinkStore(database, SECRETS), new SessionStore(database, SECRETS)];
    [accounts, openId] = [new AccountStore(database), new OpenIdPeople(database)];
    const token = tokenOf(await links.create({ purpose: 'first_admin' }));
    await people.createFounder(token, { email: 'ada@example.org', name: 'Ada', passwordHash: OLD });
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    const email = `bob${++bobs}@example.org`;
    bob = (await people.createInvited(await invited(FIRST, email, 'admin'), { name: 'Bob', passwordHash: OLD }))!;
    second = `acct_${bobs}`;
    await accounts.create(second, 'Second');
    bobToo = (await people.createLinked(await invited(second, email), bob)) as Person;
  });

  it('a user is deleted while their link is used, which then does nothing', async () => {
    const token = await resetToken(bob);
    const changes = [() => people.change(FIRST, bob.id, { deleted: true }), () => reset(token)] as const;
    expect(await inTurn('people', bob.id, changes)).toMatchObject([{ id: bob.id }, undefined]);
    expect([await hashOf(bob), await hashOf(bobToo)]).toEqual([null, OLD]);
    expect(await people.hasEmail(FIRST, bob.email)).toBe(false);
  });

  it('an account is deleted while a link of it is used', async () => {
    const token = await resetToken(bobToo);
    const changes = [() => reset(token), () => accounts.delete(second)] as const;
    expect(await inTurn('people', bobToo.id, changes)).toMatchObject([{ id: bobToo.id }, undefined]);
    expect([await hashOf(bob), await hashOf(bobToo)]).toEqual([OLD, null]);
  });

  it('of two links for all accounts, one works', async () => {
    const token = await resetToken(bob, true);
    const other = await resetToken(bobToo, true);
    const where = { accountId: second, email: bob.email, purpose: 'password' };
    const { id } = await database.signInLink.findFirstOrThrow({ where });
    const outcomes = await inTurn('sign_in_links', id, [() => reset(other), () => reset(token, OTHER)]);
    expect(outcomes).toMatchObject([{ id: bobToo.id }, undefined]);
    expect(await hashOf(bob)).toBe(NEW);
  });

  it('a link for all accounts changes nothing for a person who has just left the sign-in', async () => {
    const alone = await resetToken(bob);
    const all = await resetToken(bobToo, true);
    const outcomes = await inTurn('people', bob.id, [() => reset(alone), () => reset(all, OTHER)]);
    expect(outcomes).toMatchObject([{ id: bob.id }, undefined]);
    expect([await hashOf(bob), await hashOf(bobToo)]).toEqual([NEW, OLD]);
    expect(await reset(all, OTHER)).toMatchObject({ id: bobToo.id });
    expect([await hashOf(bob), await hashOf(bobToo)]).toEqual([NEW, OTHER]);
  });

  it('a password that a link has just set is not changed with the one before', async () => {
    const { id: thief } = await sessions.begin(bob.id, 'thief');
    const token = await resetToken(bob, true);
    const change = () => people.changePassword(bob.id, { from: OLD, to: OTHER }, thief);
    expect(await inTurn('people', bob.id, [() => reset(token), change])).toMatchObject([{ id: bob.id }, false]);
    expect(await hashOf(bob)).toBe(NEW);
    expect(await sessions.list(bob.id)).toEqual([]);
    const another = await resetToken(bob, true);
    expect(await people.changePassword(bob.id, { from: NEW, to: OTHER }, '')).toBe(true);
    expect(await reset(another)).toBeUndefined();
  });

  it('a user is deleted while they sign in with the provider for the first time, and stays deleted', async () => {
    const changes = [() => people.change(FIRST, bob.id, { deleted: true }), () => admit(bob)] as const;
    expect(await inTurn('people', bob.id, changes)).toMatchObject([{ id: bob.id }, 'not_invited']);
    const row = await database.person.findUniqueOrThrow({ where: { id: bob.id } });
    expect(row).toMatchObject({ email: expect.stringMatching(/^deleted:/), openidSubject: null });
  });

  it('the provider removes a password that a link has just set, since the mailbox has to be proven again', async () => {
    await database.person.update({ where: { id: bob.id }, data: { emailVerifiedAt: new Date() } });
    const token = await resetToken(bob);
    const outcomes = await inTurn('people', bob.id, [() => reset(token), () => admit(bob)]);
    expect(outcomes).toMatchObject([{ id: bob.id }, { how: 'linked', person: { id: bob.id } }]);
    expect(await hashOf(bob)).toBeNull();
  });

  it('an identity that a link has just replaced joins no account with the sign-in', async () => {
    await people.resetCredential(await resetToken(bob), { identity: identityOf(`old ${bob.id}`) });
    const known = (await openId.find(identityOf(`old ${bob.id}`)))!;
    await people.resetCredential(await resetToken(bob), { identity: identityOf(`new ${bob.id}`) });
    const third = `${second}_third`;
    await accounts.create(third, 'Third');
    const token = await invited(third, bob.email);
    expect(await people.createLinked(token, known)).toBeUndefined();
    const current = (await openId.find(identityOf(`new ${bob.id}`)))!;
    expect(await people.createLinked(token, current)).toMatchObject({ accountId: third, signInId: bob.id });
  });

  it('a session begins while the password changes', async () => {
    const { id: ended } = await sessions.begin(bob.id, 'ended');
    await database.session.update({ where: { id: ended }, data: { expiresAt: new Date() } });
    const changes = [
      () => people.changePassword(bob.id, { from: OLD, to: NEW }, ''),
      () => sessions.begin(bob.id, 'new'),
    ] as const;
    const [, { id }] = await inTurn('people', bob.id, changes);
    expect(await database.session.findMany({ where: { personId: bob.id } })).toMatchObject([{ id }]);
    expect(await hashOf(bob)).toBe(NEW);
  });
});
