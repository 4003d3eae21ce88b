import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const MODELS = `providers:
  drawn: { type: sandbox }
models:
  priced: { kind: image, routes: [{ provider: drawn }], prices: [{ from: 2026-01-01, per_image: { 1k: 0.04, 2k: 0.04, 4k: 1 } }] }
`;

interface Thresholds {
  readonly approve_above: string | null;
  readonly own_approve_above: string | null;
  readonly tag_approvals: readonly { readonly tag: string; readonly above: string }[];
}

/** An image costs 0.04. Eve administers an account of her own; Ada is an operator. Nothing is generated: no worker runs. */
describe('approval thresholds of an account and of tags', () => {
  let folder: string;
  let platform: ApiPlatform;
  let ada: Browser;
  let eve: Browser;
  let account: string;
  let requests = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-thresholds-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    ada = await signInFirstAdmin(platform);
    account = await platform.newAccount();
    eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId: account });
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  const set = (body: object, who = eve) => who.call('/account', { method: 'PATCH', body });
  const shown = async (): Promise<Thresholds> => await eve.ask<Thresholds>('/account');

  /** Whether a request with these tags is held. Each time with a new key: a process knows a key for some seconds. */
  async function isHeld(tags: readonly string[] = [], columns = {}, headers = {}): Promise<boolean> {
    const key = await platform.newKey(columns, account);
    const body = { model: 'priced', prompt: `a mill, ${++requests}`, resolution: '1k', tags };
    const response = await platform.call('/v1/images/generations/async', { key, body, headers });
    expect(response.status).toBe(202);
    const { task_id: id } = (await response.json()) as { task_id: string };
    const { rows } = await platform.pool.query<{ phase: string }>('SELECT phase FROM tasks WHERE id = $1', [id]);
    return rows[0]?.phase === 'held';
  }

  it('let an account’s own admins require approvals, of which the operators’ is the ceiling', async () => {
    expect(await isHeld()).toBe(false);
    expect(await (await set({ own_approve_above: '0.03' })).json()).toMatchObject({
      approve_above: null,
      own_approve_above: '0.030000',
    });
    expect(await isHeld()).toBe(true);
    await set({ own_approve_above: '2' });
    expect(await isHeld()).toBe(false);
    await ada.ask(`/accounts/${account}`, { method: 'PATCH', body: { approve_above: '0.01' } });
    expect(await shown()).toMatchObject({ approve_above: '0.010000', own_approve_above: '2.000000' });
    expect(await isHeld()).toBe(true);
    await set({ own_approve_above: null });
    expect(await shown()).toMatchObject({ approve_above: '0.010000', own_approve_above: null });
    expect(await isHeld()).toBe(true);
    await ada.ask(`/accounts/${account}`, { method: 'PATCH', body: { approve_above: null } });
    expect(await isHeld()).toBe(false);
  });

  it('are lowered by a tag of the request or its key, and raised by none', async () => {
    const tag_approvals = [
      { tag: 'draft', above: '0' },
      { tag: ' video ', above: '5' },
    ];
    expect(await (await set({ tag_approvals })).json()).toMatchObject({
      tag_approvals: [
        { tag: 'draft', above: '0.000000' },
        { tag: 'video', above: '5.000000' },
      ],
    });
    expect([await isHeld(), await isHeld(['video']), await isHeld(['other'])]).toEqual([false, false, false]);
    expect([await isHeld(['draft']), await isHeld(['video', 'draft'])]).toEqual([true, true]);
    expect(await isHeld([], { tags: ['draft'] })).toBe(true);
    expect(await isHeld([], {}, { 'x-darkroom-tags': 'video,draft' })).toBe(true);
    await set({ own_approve_above: '0.03' });
    expect(await isHeld(['video'])).toBe(true);
    // A change of one leaves the other alone.
    expect((await shown()).tag_approvals).toHaveLength(2);
    await set({ tag_approvals: [], own_approve_above: null });
    expect([await isHeld(['draft']), (await shown()).tag_approvals]).toEqual([false, []]);
  });

  it('are refused with what is wrong, before any of them changes', async () => {
    const wrong: readonly [object, string][] = [
      [{ own_approve_above: '-1' }, 'own_approve_above'],
      [{ own_approve_above: 1 }, 'own_approve_above'],
      [{ tag_approvals: [{ tag: 'a,b', above: '1' }] }, 'tag_approvals[0]'],
      [{ tag_approvals: [{ tag: 'a', above: '1' }, { tag: 'b' }] }, 'tag_approvals[1]'],
      [{ tag_approvals: [{ tag: 'a', above: '1', of: 'b' }] }, 'tag_approvals[0]'],
      [{ tag_approvals: [...['a', 'a '].map((tag) => ({ tag, above: '1' }))] }, 'tag_approvals[1]'],
      [{ tag_approvals: Array.from({ length: 51 }, (_, n) => ({ tag: `t${n}`, above: '1' })) }, 'tag_approvals'],
    ];
    for (const [body, param] of wrong) {
      const response = await set({ ...body, name: 'Changed' });
      expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    }
    expect(await shown()).toMatchObject({ own_approve_above: null, tag_approvals: [] });
    expect(await eve.ask('/account')).not.toMatchObject({ name: 'Changed' });
  });

  it('are changed by owners and admins alone, and each change is in the audit log', async () => {
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member', accountId: account });
    expect((await set({ own_approve_above: '9' }, mo)).status).toBe(403);
    await set({ own_approve_above: '0.5', tag_approvals: [{ tag: 'draft', above: '0.02' }] });
    const { data } = await eve.ask<{ data: { action: string; details: object }[] }>('/audit?limit=20');
    expect(data.find(({ action }) => action === 'account.limits_set')).toMatchObject({
      details: { changes: { own_approve_above: '0.5', tag_approvals: 'draft: 0.020000' } },
    });
    // Operators see no tags of an account.
    const { data: accounts } = await ada.ask<{ data: object[] }>('/accounts');
    expect(JSON.stringify(accounts)).not.toContain('draft');
  });
});
