import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, signInInvited } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const ORDER = { model: 'gpt-image-2', resolution: '1k', prompt: 'a small harbor' };
const MODELS = `providers:
  sandbox: { type: sandbox }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: sandbox }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;

describe('refused calls in a browser', () => {
  let folder: string;
  let platform: ApiPlatform;
  let screen: Screen;
  let studio: { id: string; key: string };
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  const region = (name: string) => page().getByRole('region', { name });
  const submit = (key: string, body: unknown = ORDER) => platform.call('/v1/images/generations/async', { key, body });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-refused-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startApiPlatform({ RATE_SUBMITS_PER_MINUTE: '60', MODELS_FILE: join(folder, 'models.yaml') });
    studio = await platform.newKeyWithId({ name: 'Studio', submits_per_minute: 1 });
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('leads from Tasks to an empty list that says what belongs there', async () => {
    await open('/tasks');
    await page()
      .getByRole('navigation', { name: 'Tasks and refused calls' })
      .getByRole('link', { name: 'Refused' })
      .click();
    await page().getByRole('heading', { name: 'Refused', level: 1 }).waitFor();
    await page().getByText('No refused calls in this period').waitFor();
    expect(await screen.inspect('refused-empty')).toEqual([]);
  });

  it('says how many calls of which key were refused, why, and what to do; Keys has the same number', async () => {
    let limited = 0;
    while (limited < 101) if ((await submit(studio.key)).status === 429) limited++;
    await page().getByText('101 calls refused').waitFor();
    const kind = region('By key and error').getByRole('row').filter({ hasText: '429 rate_limit_exceeded' });
    await becomes(async () => (await kind.getByRole('cell').allTextContents()).slice(1, 3), ['Studio', '101']);
    await kind.getByText('raise the limit of the key or the account').waitFor();
    await region('By minute').getByRole('row').filter({ hasText: '429 rate_limit_exceeded' }).first().waitFor();
    expect(await screen.inspect('refused')).toEqual([]);
    await open('/keys');
    await page().getByRole('link', { name: '101 refused calls of Studio' }).click();
    await page().getByRole('heading', { name: 'Refused', level: 1 }).waitFor();
    expect(new URL(page().url()).searchParams.get('key')).toBe(studio.id);
    await page().getByText('101 calls refused').waitFor();
  });

  it('shows operators the calls without a valid key, but only when asked', async () => {
    for (let n = 0; n < 3; n++) await submit(`sk-dr-unknown-${n}`);
    await open('/tasks/refused');
    await page().getByText('101 calls refused').waitFor();
    await page().getByLabel('All accounts, and calls without a valid key').check({ force: true });
    await page().getByText('104 calls refused').waitFor();
    await region('By key and error').getByRole('row').filter({ hasText: 'No valid key' }).waitFor();
    expect(await screen.inspect('refused-installation')).toEqual([]);
  });

  it('says of a key whose budget does not cover its cheapest image that it is used up, and what to do', async () => {
    await platform.pool.query(
      `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
       VALUES ($1, 'key', 1000000, 'month', 980000, date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')`,
      [studio.id],
    );
    const row = page().getByRole('row').filter({ hasText: 'Studio' });
    const spend = (micros: number) =>
      platform.pool.query('UPDATE budgets SET spent_micros = $2 WHERE owner_id = $1', [studio.id, micros]);
    await open('/keys');
    await row.getByText('$0.98 of $1.00/month').waitFor();
    expect(await row.getByText('Used up').count()).toBe(0);
    await spend(980_001);
    await open('/keys');
    await row.getByText('Used up').waitFor();
    expect(await screen.inspect('keys-used-up')).toEqual([]);
    await open('/');
    const notice =
      'Key Studio has used up its budget: its calls are refused. Raise the budget, or wait for the next month (UTC).';
    await region('Needs attention').getByRole('link', { name: notice }).click();
    await page().getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
    await row.getByRole('button', { name: 'Actions for Studio' }).click();
    await page().getByRole('menuitem', { name: 'Edit' }).click();
    await page().getByRole('button', { name: 'Rate limits and priority' }).click();
    await page().getByText('Leave blank for the default (60); at most 300 (account limit)').waitFor();
  });

  it('shows members their own, and fits a phone', async () => {
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    const { rows } = await platform.pool.query(`SELECT id FROM people WHERE email = 'mo@example.org'`);
    const own = await platform.newKeyWithId({ name: 'Own', created_by: (rows[0] as { id: string }).id });
    await submit(own.key, { ...ORDER, prompt: '' });
    await giveSession(screen, mo.cookie);
    const total = async () => (await mo.ask<{ total: number }>('/refused-calls')).total;
    expect(await waitUntil(async () => (await total()) === 1, { timeoutMs: 30_000 })).toBe(true);
    await page().setViewportSize({ width: 390, height: 844 });
    await open('/tasks/refused');
    await page().getByText('1 call refused').waitFor();
    await region('By key and error').getByText('Own').waitFor();
    expect(await page().getByText('Studio').count()).toBe(0);
    expect(await page().getByLabel('All accounts, and calls without a valid key').count()).toBe(0);
    expect(await screen.inspect('refused-phone')).toEqual([]);
  });
});
