import { newTaskId } from '#tasks/row/task-id.js';
import { insertSettledTask } from '../support/settled-task.js';
import { becomes, giveSession, openPage, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const USER = 'eu_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
const OPTIONS = { size: '1:1', resolution: '1k', pixels: { width: 1024, height: 1024 }, outputFormat: 'png' };
const IMAGE = {
  key: 'results/none-1.png',
  contentType: 'image/png',
  width: 1024,
  height: 1024,
  bytes: 1,
  sha256: 'aa',
};

describe('end users and tags in a browser', () => {
  let platform: ApiPlatform;
  let screen: Screen;
  beforeAll(async () => {
    platform = await startApiPlatform();
    const ada = await signInFirstAdmin(platform);
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'e2e'`);
    const apiKeyId = rows[0]?.id ?? '';
    for (const prompt of ['a labeled lighthouse', 'a plain pier']) {
      const id = newTaskId();
      const amounts = { reserved: 40_000, settled: 40_000 };
      await insertSettledTask(platform.pool, { id, accountId: 'acct_default', apiKeyId, ...amounts });
      // As a worker would have left it, and retention later.
      await platform.pool.query(
        'UPDATE tasks SET prompt = $2, options = $3, images = $4, objects_deleted_at = now() WHERE id = $1',
        [id, prompt, JSON.stringify(OPTIONS), JSON.stringify([IMAGE])],
      );
    }
    await platform.pool.query(
      `UPDATE tasks SET end_user = $1, tags = '{spring}' WHERE prompt = 'a labeled lighthouse'`,
      [USER],
    );
    await platform.pool.query(
      `UPDATE usage_changes SET end_user = tasks.end_user, tags = tasks.tags FROM tasks WHERE tasks.id = reference`,
    );
  });
  afterAll(async () => {
    expect(screen.troubles).toEqual([]);
    await screen.close();
    await platform.close();
  });

  it('a key says what it does with identifiers, and keeps it', async () => {
    const { page } = screen;
    await page.goto('/console/');
    await openPage(page, 'Keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('shop');
    await page.getByRole('button', { name: 'End users and tags' }).click();
    await page.getByRole('combobox', { name: 'End users' }).click();
    await page.getByRole('option', { name: 'Replace with a digest', exact: true }).click();
    await page.getByText('Requests without one count for the key.').waitFor();
    const tags = page.getByRole('combobox', { name: 'Default tags' });
    await tags.fill('spring');
    await tags.press('Enter');
    expect(await screen.inspect('key-end-users')).toEqual([]);
    await page.getByRole('button', { name: 'Create key' }).last().click();
    await page.getByRole('button', { name: 'I’ve saved it' }).click();
    await page.getByRole('row').filter({ hasText: 'shop' }).waitFor();
    const { rows } = await platform.pool.query(`SELECT end_users, tags FROM api_keys WHERE name = 'shop'`);
    expect(rows).toEqual([{ end_users: 'derive', tags: ['spring'] }]);
  });

  it('a task leads from its end user to all tasks of it', async () => {
    const { page } = screen;
    await page.goto('/console/tasks?tag=spring');
    await page.getByRole('link', { name: 'a labeled lighthouse' }).first().click();
    await page.getByRole('link', { name: USER }).click();
    await becomes(() => page.getByRole('textbox', { name: 'End user' }).inputValue(), USER);
    await page.getByRole('link', { name: 'a labeled lighthouse' }).first().waitFor();
    expect(await page.getByRole('link', { name: 'a plain pier' }).count()).toBe(0);
    expect(await screen.inspect('tasks-of-end-user')).toEqual([]);
  });

  it('usage is grouped by end user, with all others as one group', async () => {
    const { page } = screen;
    await page.goto('/console/usage?group=end_user');
    const totals = page.getByRole('region', { name: 'Totals' });
    await totals.getByRole('row').filter({ hasText: USER }).waitFor();
    await totals.getByRole('row').filter({ hasText: 'All others' }).waitFor();
    expect(await screen.inspect('usage-end-users')).toEqual([]);
    await page.getByRole('radiogroup', { name: 'Group by' }).getByText('Tag', { exact: true }).click();
    await totals.getByRole('row').filter({ hasText: 'spring' }).waitFor();
  });
});
