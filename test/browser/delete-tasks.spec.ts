import { waitUntil } from '#embedded/wait-until.js';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

describe('deleting tasks in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  let ada: Browser;
  const page = (): Screen['page'] => screen.page;
  const dialog = () => page().getByRole('dialog', { name: /^Delete/ });
  const confirm = async (action: string): Promise<void> => {
    await dialog().getByText('What stays: the time, the model, the key, and the cost').waitFor();
    await dialog().getByRole('button', { name: action }).click();
    await dialog().waitFor({ state: 'detached' });
  };
  const idOf = async (prompt: string): Promise<string> => {
    const { rows } = await platform.pool.query<{ id: string }>('SELECT id FROM tasks WHERE prompt = $1', [prompt]);
    return rows[0]?.id ?? '';
  };

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    for (const prompt of ['A red fox', 'A green hill', 'A blue door', 'A gray cat'])
      await ada.ask('/images', { body: { model: 'gpt-image-2', prompt, resolution: '1k' } });
    const isDone = async (): Promise<boolean> =>
      (await platform.pool.query(`SELECT 1 FROM tasks WHERE status <> 'completed'`)).rowCount === 0;
    expect(await waitUntil(isDone, { timeoutMs: 60_000 })).toBe(true);
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(() => {
    expect(screen.troubles).toEqual([]);
  });

  it('says what stays, and leaves a page and a row that say so', async () => {
    const id = await idOf('A red fox');
    await page().goto(`/console/tasks/${id}`);
    await page().getByRole('button', { name: 'Delete', exact: true }).click();
    await confirm('Delete task');
    await page().getByRole('heading', { name: 'Deleted task', level: 1 }).waitFor();
    await page().getByText('Its prompt and images are erased').waitFor();
    expect(await page().getByRole('button', { name: 'Run again' }).count()).toBe(0);
    expect(await screen.inspect('deleted-task')).toEqual([]);
    await page().goto('/console/tasks');
    const row = page().getByRole('row').filter({ hasText: 'Deleted task' });
    await row.getByText('Deleted', { exact: true }).waitFor();
    expect(await page().getByText('A red fox').count()).toBe(0);
  });

  it('takes several images of the gallery at once, and one of the lightbox', async () => {
    await page().goto('/console/gallery');
    const tile = (prompt: string) => page().locator('[data-open]').filter({ hasText: prompt });
    for (const prompt of ['A green hill', 'A blue door']) {
      await tile(prompt).focus();
      await page().keyboard.press('x');
    }
    const bar = page().getByRole('region', { name: 'Selection' });
    await bar.getByText('2 selected').waitFor();
    await bar.getByRole('button', { name: 'Delete' }).click();
    await confirm('Delete tasks');
    await tile('A green hill').waitFor({ state: 'detached' });
    await tile('A gray cat').click();
    const lightbox = page().getByRole('dialog', { name: 'Image' });
    await lightbox.getByRole('button', { name: 'Delete' }).click();
    await confirm('Delete task');
    await page().getByText('No images yet').waitFor();
    const { data } = await ada.ask<{ data: { action: string }[] }>('/audit?limit=10');
    expect(data.filter(({ action }) => action === 'tasks.deleted')).toHaveLength(3);
  });

  it('has a lifetime that a key gives its tasks, in hours', async () => {
    await page().goto('/console/keys');
    await page().getByRole('button', { name: 'Create key' }).first().click();
    await page().getByRole('textbox', { name: 'Name' }).fill('for a day');
    await page().getByRole('button', { name: 'Client compatibility' }).click();
    await page().getByRole('textbox', { name: 'Delete tasks after (hours)' }).fill('24');
    await page().getByRole('button', { name: 'Create key' }).last().click();
    await page().getByRole('button', { name: 'I’ve saved it' }).click();
    const kept = await platform.pool.query(`SELECT keep_seconds FROM api_keys WHERE name = 'for a day'`);
    expect(kept.rows).toEqual([{ keep_seconds: 86_400 }]);
  });
});
