import { readFileSync } from 'node:fs';
import type { Ability, Role } from '#accounts/person-rules.js';
import { type Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { rolesTable } from '../support/roles-table.js';

type Outcome = readonly [number, string | undefined];

/** Letters of the roles that may: o(wner), a(dmin), m(ember), v(iewer), b(illing); `operators` of the first account alone. */
const ROUTES: Readonly<Record<string, string>> = {
  'GET /session': 'oamvb',
  'POST /sign-out': 'oamvb',
  'GET /sessions': 'oamvb',
  'DELETE /sessions/{id}': 'oamvb',
  'POST /password': 'oamvb',
  'POST /session/proof': 'oamvb',
  'PATCH /person': 'oamvb',
  'POST /person/join': 'oamvb',
  'POST /session/account': 'oamvb',
  'GET /two-factor': 'oamvb',
  'POST /two-factor': 'oamvb',
  'POST /two-factor/confirm': 'oamvb',
  'POST /two-factor/recovery-codes': 'oamvb',
  'POST /two-factor/remove': 'oamvb',
  'GET /passkeys': 'oamvb',
  'POST /passkeys': 'oamvb',
  'POST /passkeys/options': 'oamvb',
  'PATCH /passkeys/{id}': 'oamvb',
  'DELETE /passkeys/{id}': 'oamvb',
  'GET /keys': 'oamb',
  'POST /keys': 'oam',
  'GET /keys/names': 'oamv',
  'PATCH /keys/{id}': 'oam',
  'POST /keys/{id}/rotate': 'oam',
  'POST /keys/{id}/revoke': 'oam',
  'POST /authorizations/check': 'oam',
  'POST /authorizations': 'oam',
  'GET /models': 'oamv',
  'POST /quotes': 'oam',
  'POST /images': 'oam',
  'POST /edits': 'oam',
  'GET /tasks.csv': 'oamv',
  'GET /tasks/images.zip': 'oamv',
  'POST /tasks/cancel': 'oam',
  'POST /tasks/delete': 'oam',
  'POST /tasks/retry': 'oa',
  'GET /tasks': 'oamv',
  'GET /erasures': 'oam',
  'POST /erasures': 'oam',
  'GET /tasks/{taskId}/receipt': 'oamv',
  'GET /tasks/open-failures': 'oav',
  'GET /tasks/count': 'oamv',
  'GET /tasks/outcomes': 'oamv',
  'GET /approvals': 'oa',
  'GET /approvals/count': 'oa',
  'POST /tasks/{taskId}/approve': 'oa',
  'POST /tasks/{taskId}/reject': 'oa',
  'GET /end-users': 'oa',
  'POST /end-users/find': 'oa',
  'POST /end-users/state': 'oa',
  'GET /end-users/pause-rule': 'oa',
  'PUT /end-users/pause-rule': 'oa',
  'GET /batches': 'oamv',
  'POST /batches': 'oam',
  'GET /batches/{id}': 'oamv',
  'GET /batches/{id}/files/{name}': 'oamv',
  'POST /batches/{id}/cancel': 'oam',
  'GET /end-users/limits': 'oa',
  'PUT /end-users/limits': 'oa',
  'GET /task-views': 'oamv',
  'POST /task-views': 'oamv',
  'POST /task-views/delete': 'oamv',
  'GET /tasks/{taskId}': 'oamv',
  'GET /tasks/{taskId}/inputs/{name}': 'oamv',
  'GET /tasks/{taskId}/events': 'oamv',
  'GET /tasks/{taskId}/thumbnail': 'oamv',
  'POST /tasks/{taskId}/cancel': 'oam',
  'POST /tasks/{taskId}/favorite': 'oam',
  'DELETE /tasks/{taskId}/favorite': 'oam',
  'POST /tasks/{taskId}/again': 'oam',
  'GET /usage': 'oamvb',
  'GET /usage.csv': 'oamvb',
  'GET /usage/latency': 'oamvb',
  'GET /refused-calls': 'oamv',
  'GET /refused-calls/minutes': 'oamv',
  'GET /providers': 'operators',
  'POST /providers/{name}/drain': 'operators',
  'POST /providers/{name}/resume': 'operators',
  'POST /providers/{name}/test': 'operators',
  'POST /providers/{name}/try': 'operators',
  'GET /queue': 'operators',
  'GET /queue/latency': 'operators',
  'GET /queue/history': 'operators',
  'GET /failures': 'operators',
  'GET /failures/tasks': 'operators',
  'POST /failures/retry': 'operators',
  'GET /catalog': 'operators',
  'PUT /catalog/providers/{name}': 'operators',
  'DELETE /catalog/providers/{name}': 'operators',
  'PUT /catalog/models/{name}': 'operators',
  'DELETE /catalog/models/{name}': 'operators',
  'POST /catalog/connection': 'operators',
  'GET /catalog/revisions': 'operators',
  'POST /catalog/revisions/{revision}/restore': 'operators',
  'GET /people': 'oa',
  'POST /people': 'oa',
  'PATCH /people/{id}': 'oa',
  'POST /people/{id}/sign-out': 'oa',
  'POST /people/{id}/delete': 'oa',
  'POST /person/leave': 'oamvb',
  'POST /people/{id}/reset-link': 'oa',
  'DELETE /people/{id}/two-factor': 'oa',
  'GET /invitations': 'oa',
  'POST /invitations/{id}/renew': 'oa',
  'DELETE /invitations/{id}': 'oa',
  'GET /audit': 'oa',
  'GET /audit.csv': 'oa',
  'GET /account': 'oab',
  'PATCH /account': 'oa',
  'GET /accounts': 'operators',
  'POST /accounts': 'operators',
  'PATCH /accounts/{id}': 'operators',
  'POST /accounts/{id}/admins': 'operators',
  'POST /accounts/{id}/delete': 'operators',
  'GET /webhooks/endpoints': 'oam',
  'POST /webhooks/endpoints': 'oa',
  'PATCH /webhooks/endpoints/{id}': 'oa',
  'DELETE /webhooks/endpoints/{id}': 'oa',
  'POST /webhooks/endpoints/{id}/test': 'oa',
  'POST /webhooks/endpoints/{id}/resend-failed': 'oa',
  'GET /webhooks/secrets': 'oa',
  'POST /webhooks/secrets/rotate': 'oa',
  'GET /webhooks/deliveries': 'oam',
  'GET /webhooks/deliveries/{id}/payload': 'oam',
  'POST /webhooks/deliveries/{id}/resend': 'oam',
  'GET /alerts': 'oa',
  'POST /alerts/{id}/acknowledge': 'oa',
  'GET /alerts/rules': 'oa',
  'PUT /alerts/rules/{kind}': 'oa',
  'GET /alerts/channels': 'oa',
  'POST /alerts/channels': 'oa',
  'DELETE /alerts/channels/{id}': 'oa',
  'POST /alerts/channels/{id}/test': 'oa',
};
/** Open to whoever is not signed in. */
const PUBLIC = [
  ...['GET /sign-in', 'POST /sign-in', 'POST /sign-in/link', 'POST /first-admin', 'POST /join', 'POST /reset-password'],
  ...['GET /oidc', 'POST /oidc', 'GET /oidc/callback', 'POST /forgot-password', 'POST /sign-in/code'],
  ...['POST /sign-in/passkey/options', 'POST /sign-in/passkey'],
];
/** Routes that take forms. */
const FORMS = ['/edits', '/batches'];
/** Ends the session, so it is no call among others. */
const LAST = 'POST /sign-out';

describe('what each role may do', () => {
  let platform: ApiPlatform;
  let accountId: string;
  let ada: Browser;
  let people: Record<Role, Browser>;
  const outcome = async (response: Response): Promise<Outcome> => {
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code];
  };
  const idOf = async (email: string): Promise<string> =>
    (await platform.pool.query<{ id: string }>('SELECT id FROM people WHERE email = $1', [email])).rows[0]!.id;
  const setRole = async (who: Browser, email: string, role: Role) =>
    await outcome(await who.call(`/people/${await idOf(email)}`, { method: 'PATCH', body: { role } }));
  /** Asks for something that there is not, with a body that is wrong: whoever may is told so, and nothing is done. */
  const knock = async (who: Browser, route: string): Promise<number> => {
    const [method = '', path = ''] = route.split(' ');
    const form = new FormData();
    form.set('x', 'y');
    const body = method === 'GET' ? {} : { body: FORMS.includes(path) ? form : { nothing: true } };
    const response = await who.call(path.replaceAll(/\{\w+\}/g, 'none'), { method, ...body });
    await response.body?.cancel();
    return response.status;
  };

  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
    accountId = await platform.newAccount();
    const invited = async (role: 'admin' | 'member' | 'viewer' | 'billing', name: string = role) =>
      await signInInvited(platform, { email: `${name}@example.org`, role, accountId });
    people = {
      owner: await invited('admin', 'owner'),
      admin: await invited('admin'),
      member: await invited('member'),
      viewer: await invited('viewer'),
      billing: await invited('billing'),
    };
  });
  afterAll(() => platform.close());

  it('is said of every route of the console', () => {
    const { paths } = JSON.parse(readFileSync('console-openapi.json', 'utf8')) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace('/console/api', '')}`),
    );
    expect(routes.sort()).toEqual([...Object.keys(ROUTES), ...PUBLIC].sort());
  });

  it.each(['owner', 'admin', 'member', 'viewer', 'billing'] as const)(
    '%s: what the table says, and no more',
    async (role) => {
      const refused: string[] = [];
      for (const route of Object.keys(ROUTES)) {
        const status = route === LAST ? 204 : await knock(people[role], route);
        if (status === 403) refused.push(route);
        else expect([route, status]).not.toEqual([route, 401]);
      }
      const others = Object.entries(ROUTES).filter(([, roles]) => roles === 'operators' || !roles.includes(role[0]!));
      expect(refused.sort()).toEqual(others.map(([route]) => route).sort());
    },
  );

  it('is everything for operators, who are the admins of the first account', async () => {
    const second = await signInInvited(platform, { email: 'second@example.org', role: 'admin' });
    const viewer = await signInInvited(platform, { email: 'onlooker@example.org', role: 'viewer' });
    for (const [route] of Object.entries(ROUTES).filter(([, roles]) => roles === 'operators')) {
      for (const who of [ada, second]) expect([route, await knock(who, route)]).not.toEqual([route, 403]);
      expect([route, await knock(viewer, route)]).toEqual([route, 403]);
    }
    expect(await second.ask('/session')).toMatchObject({ operator: true });
    expect(await viewer.ask('/session')).toMatchObject({ operator: false });
  });

  it('is told to the pages', async () => {
    const told = async (role: Role) =>
      (await people[role].ask<{ person: { role: Role }; abilities: Ability[] }>('/session')).abilities;
    expect(await told('billing')).toEqual(['self.manage', 'usage.read', 'budgets.read', 'keys.read']);
    expect(await told('viewer')).toEqual(['self.manage', 'usage.read', 'tasks.read', 'tasks.read_all']);
    expect(await told('member')).not.toContain('tasks.read_all');
    expect(await told('owner')).toEqual(await told('admin'));
    expect(await told('owner')).not.toContain('installation.manage');
  });

  it('shows billing the budgets of all keys, and no secret', async () => {
    const { key, secret } = await people.member.ask<{ key: { id: string }; secret: string }>('/keys', {
      body: { name: 'shop' },
    });
    const { data } = await people.billing.ask<{ data: { id: string }[] }>('/keys');
    expect(data.map(({ id }) => id)).toEqual([key.id]);
    expect(JSON.stringify(data)).not.toContain(secret);
  });

  it('is given by those who are not below it', async () => {
    expect(await setRole(people.admin, 'member@example.org', 'owner')).toEqual([403, 'not_permitted']);
    expect(await setRole(people.admin, 'owner@example.org', 'member')).toEqual([403, 'not_permitted']);
    for (const path of ['sign-out', 'reset-link']) {
      const answer = await people.admin.call(`/people/${await idOf('owner@example.org')}/${path}`, { method: 'POST' });
      expect(await outcome(answer)).toEqual([403, 'not_permitted']);
    }
    expect((await people.owner.call('/people', { body: { email: 'x@example.org', role: 'owner' } })).status).toBe(400);
    expect(await setRole(people.owner, 'admin@example.org', 'owner')).toEqual([200, undefined]);
    expect(await setRole(people.admin, 'owner@example.org', 'admin')).toEqual([200, undefined]);
    expect(await setRole(people.admin, 'owner@example.org', 'owner')).toEqual([200, undefined]);
    expect(await setRole(people.owner, 'admin@example.org', 'admin')).toEqual([200, undefined]);
  });

  it('keeps the owner who is left while a change waited', async () => {
    const setOwner = (is: boolean) =>
      `UPDATE people SET owner = ${is} WHERE email = '${is ? 'admin' : 'owner'}@example.org'`;
    await platform.pool.query(setOwner(true));
    const client = await platform.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(setOwner(false));
      const answer = setRole(people.owner, 'admin@example.org', 'admin');
      await waitForLockWait(platform.pool);
      await client.query('COMMIT');
      expect(await answer).toEqual([409, 'last_owner']);
    } finally {
      client.release();
    }
    expect(await setRole(people.admin, 'owner@example.org', 'owner')).toEqual([200, undefined]);
    expect(await setRole(people.owner, 'admin@example.org', 'admin')).toEqual([200, undefined]);
  });

  it('is the first admin’s to be the owner, whatever inserts the row or takes the owner away', async () => {
    const another = await platform.newAccount();
    const owners = async () =>
      (
        await platform.pool.query<{ id: string }>(
          'SELECT id FROM people WHERE account_id = $1 AND owner AND disabled_at IS NULL ORDER BY id',
          [another],
        )
      ).rows.map(({ id }) => id);
    // Statements that say nothing of owners.
    await platform.pool.query(
      `INSERT INTO people (id, account_id, email, name, role)
       VALUES ('p1', $1, 'p1@example.org', 'P', 'member'), ('p2', $1, 'p2@example.org', 'P', 'admin'), ('p3', $1, 'p3@example.org', 'P', 'admin')`,
      [another],
    );
    expect(await owners()).toEqual(['p2']);
    await platform.pool.query(`UPDATE people SET role = 'member' WHERE id = 'p2'`);
    await platform.pool.query(`UPDATE people SET role = 'admin' WHERE account_id = $1 AND role = 'admin'`, [another]);
    expect(await owners()).toEqual(['p3']);
    await platform.pool.query(`UPDATE people SET role = 'admin' WHERE id = 'p2'`);
    expect(await owners()).toEqual(['p3']);
  });

  it('stands in the docs as it is', () => {
    expect(readFileSync('docs/operations.md', 'utf8')).toContain(rolesTable());
  });
});
