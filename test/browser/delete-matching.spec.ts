import { readFile } from 'node:fs/promises';
import { waitUntil } from '#embedded/wait-until.js';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

describe('deleting all tasks that match in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  let ada: Browser;
  const page = (): Screen['page'] => screen.page;
  const rows = () => page().getByRole('row');
  const choose = async (item: string): Promise<void> => {
    await page().getByRole('button', { name: 'Bulk actions' }).click();
    await page().getByRole('menuitem', { name: item }).click();
  };

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    for (const [prompt, tags] of [
      ['A red fox', ['draft']],
      ['A green hill', ['draft']],
      ['A blue door', []],
    ] as const) {
      const body = { model: 'gpt-image-2', prompt, resolution: '1k', tags };
      expect((await platform.call('/v1/images/generations/async', { body })).status).toBe(202);
    }
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
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('says how many, and what stays, deletes them, and leaves a receipt of each', async () => {
    await page().goto('/console/tasks?tag=draft');
    await page().getByText('2 tasks', { exact: true }).waitFor();
    await choose('Delete matching tasks');
    const dialog = page().getByRole('dialog', { name: 'Delete matching tasks?' });
    await dialog.getByText('This deletes 2 tasks that match your filters, unless they are deleted already.').waitFor();
    await dialog.getByText('What stays: the time, the model, the key, and the cost').waitFor();
    expect(await screen.inspect('delete-matching')).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete tasks' }).click();
    await dialog.waitFor({ state: 'detached' });
    const deletions = page().getByRole('region', { name: 'Deletions' });
    await deletions.getByText('Deleted: 2 tasks with tag “draft”. Nothing of them is left.').waitFor();

    const { rows: found } = await platform.pool.query<{ id: string }>(
      `SELECT id FROM tasks WHERE deleted_at IS NOT NULL ORDER BY id`,
    );
    expect(found).toHaveLength(2);
    const id = found[0]?.id ?? '';
    await page().goto(`/console/tasks/${id}`);
    await page().getByRole('heading', { name: 'Deleted task', level: 1 }).waitFor();
    const download = page().waitForEvent('download');
    await page().getByRole('link', { name: 'Download receipt' }).click();
    const file = await (await download).path();
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ object: 'task.receipt', id, images: 1 });
  });

  it('is offered for filters that a deletion knows, and for all tasks once the name of the account is typed', async () => {
    await page().goto('/console/tasks?model=gpt-image-2');
    await rows().filter({ hasText: 'A blue door' }).waitFor();
    await page().getByRole('button', { name: 'Bulk actions' }).click();
    await page().getByRole('menuitem', { name: 'Delete matching tasks', disabled: true }).waitFor();
    await page().goto('/console/tasks');
    await rows().filter({ hasText: 'A blue door' }).waitFor();
    await choose('Delete all tasks');
    const dialog = page().getByRole('dialog', { name: 'Delete all tasks?' });
    await dialog.getByText('of this account, of all users and keys').waitFor();
    expect(await dialog.getByRole('button', { name: 'Delete all tasks' }).isDisabled()).toBe(true);
    const { name } = await ada.ask<{ name: string }>('/account');
    await dialog.getByLabel('Type the name to confirm').fill(name);
    await dialog.getByRole('button', { name: 'Delete all tasks' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page().getByText('Deleted: 1 task of the account. Nothing of them is left.').waitFor();
    await rows().filter({ hasText: 'A blue door' }).waitFor({ state: 'detached' });
  });
});
