import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveSession, menuLink, openPage, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const MODELS = `providers:
  sandbox: { type: sandbox }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: sandbox }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;

/** Nothing is generated here: no worker runs. */
describe('approvals in a browser', () => {
  let folder: string;
  let platform: ApiPlatform;
  let screen: Screen;
  let studio: { id: string; key: string };
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  const row = (prompt: string) => page().getByRole('row').filter({ hasText: prompt });

  async function submit(prompt: string): Promise<string> {
    const body = { model: 'gpt-image-2', resolution: '2k', prompt };
    const response = await platform.call('/v1/images/generations/async', { key: studio.key, body });
    expect(response.status).toBe(202);
    return response.headers.get('x-task-id') ?? '';
  }

  async function stateOf(id: string): Promise<unknown> {
    const { rows } = await platform.pool.query('SELECT status, phase FROM tasks WHERE id = $1', [id]);
    return rows[0];
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-approvals-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    studio = await platform.newKeyWithId({ name: 'Studio' });
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('says that nothing waits, and how to require approvals', async () => {
    await open('/approvals');
    await page().getByText('No requests wait for approval').waitFor();
    expect(await screen.inspect('approvals-empty')).toEqual([]);
  });

  it('takes the price above which a key needs approvals from its form', async () => {
    await open('/keys');
    await page().getByRole('button', { name: 'Actions for Studio' }).click();
    await page().getByRole('menuitem', { name: 'Edit' }).click();
    await page().getByLabel('Approval above').fill('0.03');
    await page().getByRole('button', { name: 'Save' }).click();
    await page().getByText('Key updated.').waitFor();
    const { rows } = await platform.pool.query('SELECT approve_above_micros AS above FROM api_keys WHERE id = $1', [
      studio.id,
    ]);
    expect(rows).toEqual([{ above: '30000' }]);
  });

  it('lists what waits with its price, counts it in the menu and on the overview, and lets it be approved', async () => {
    const id = await submit('a lighthouse at dawn');
    expect(await stateOf(id)).toEqual({ status: 'pending', phase: 'held' });
    await open('/');
    await page().getByText('1 request waits for approval.').waitFor();
    await openPage(page(), 'Approvals');
    await page().getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
    await menuLink(page(), 'Approvals 1 waiting').waitFor();
    await row('a lighthouse at dawn').getByText('$0.04').waitFor();
    await row('a lighthouse at dawn').getByText('Approval above $0.03').waitFor();
    await row('a lighthouse at dawn').getByText('Studio').waitFor();
    expect(await screen.inspect('approvals')).toEqual([]);
    await row('a lighthouse at dawn').getByRole('button', { name: 'Approve' }).click();
    await page().getByText('Request approved.').waitFor();
    await page().getByText('No requests wait for approval').waitFor();
    expect(await stateOf(id)).toEqual({ status: 'pending', phase: 'queued' });
  });

  it('says on the page of the task that it needs approval, where it is rejected with a reason', async () => {
    const id = await submit('a storm at noon');
    await open(`/tasks/${id}`);
    await page().getByText('Needs approval').first().waitFor();
    await page().getByText('an owner or admin must approve it').waitFor();
    await page().getByRole('button', { name: 'Reject' }).click();
    await page().getByLabel('Reason').fill('Use 1k first.');
    await page().getByRole('button', { name: 'Reject request' }).click();
    await page().getByText('Request rejected.').waitFor();
    await page().getByText('The request was not approved: Use 1k first.').first().waitFor();
    expect(await stateOf(id)).toEqual({ status: 'failed', phase: 'done' });
    expect(await screen.inspect('approval-rejected')).toEqual([]);
  });
});
