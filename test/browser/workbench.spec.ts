import type { Locator } from 'playwright-core';
import { becomes, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { startPlatform, type Platform } from '../support/platform.js';

const LOT = 60;

describe('working with many tasks in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name, exact: true });
  const dialog = () => page().getByRole('dialog');
  const option = (name: string | RegExp) => page().getByRole('option', { name, exact: true });
  const checkbox = (name: string) => page().getByRole('checkbox', { name, exact: true });
  const open = (path: string) => page().goto(`/console${path}`, { waitUntil: 'networkidle' });
  const heading = (name: string) => page().getByRole('heading', { name, level: 1 });
  const gone = (what: Locator) => what.waitFor({ state: 'detached' });
  const retries = async (): Promise<number> =>
    (await platform.pool.query('SELECT FROM tasks WHERE retry_of IS NOT NULL')).rowCount ?? 0;

  beforeAll(async () => {
    platform = await startPlatform();
    for (let n = 1; n <= LOT; n++) await insertFailed(platform, { prompt: `Lot ${n}` });
    for (let n = 1; n <= 3; n++) {
      await insertFailed(platform, { prompt: `Late ${n}`, code: 'generation_timeout', provider: 'slow-provider' });
    }
    screen = await openScreen(platform.url);
    await page().goto(`/console/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await page().getByLabel('Your name').fill('Ada');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await heading('Overview').waitFor();
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('filters tasks by error and provider, with their numbers, and keeps the filters as a view', async () => {
    await open('/tasks');
    await page().getByRole('columnheader', { name: 'Provider' }).waitFor();
    await page().getByRole('combobox', { name: 'Provider' }).click();
    await option('slow-provider (3)').waitFor();
    await option(`house (${LOT})`).waitFor();
    await page().keyboard.press('Escape');
    await page().getByRole('combobox', { name: 'Error' }).click();
    await option('Not finished in time (3)').click();
    await page().waitForURL(/error=generation_timeout/);
    await page().getByText('3 matches').waitFor();
    await button('Views').click();
    await page().getByRole('menuitem', { name: 'Save this view' }).click();
    await dialog().getByLabel('Name').fill('Timeouts');
    expect(await screen.inspect('task-view-save')).toEqual([]);
    await button('Save view').click();
    await gone(dialog());
    await open('/tasks');
    await button('Views').click();
    await page().getByRole('menuitem', { name: 'Timeouts' }).click();
    await page().waitForURL(/error=generation_timeout/);
    await button('Views').click();
    await page().getByRole('menuitem', { name: 'Delete views' }).click();
    await button('Delete Timeouts').click();
    await dialog().getByText('You have no saved views.').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).last().click();
  });

  it('retries the selected rows, a range of them with Shift', async () => {
    await open('/tasks?error=generation_timeout');
    await checkbox('Select Late 3').click();
    await page().getByText('1 selected').last().waitFor();
    await checkbox('Select Late 1').click({ modifiers: ['Shift'] });
    await page().getByText('3 selected').last().waitFor();
    expect(await checkbox('Select Late 2').isChecked()).toBe(true);
    expect(await screen.inspect('tasks-selected')).toEqual([]);
    await checkbox('Select Late 2').click();
    await button('Retry 2 failed').click();
    await dialog().getByText('This retries 2 failed tasks that you selected.').waitFor();
    await button('Retry 2 tasks').click();
    await page().getByText('2 tasks retried').waitFor();
    await gone(dialog());
    expect(await retries()).toBe(2);
    await becomes(() => page().getByRole('checkbox', { checked: true }).count(), 0);
  });

  it('retries all that match beyond one batch, says what it waits for, stops, and continues', async () => {
    // So few that it waits several times, in case this takes longer than one wait.
    await platform.pool.query(`UPDATE api_keys SET submits_per_minute = 10 WHERE name = 'e2e'`);
    await open('/tasks?status=failed&text=Lot');
    await checkbox('Select all listed tasks').click();
    await button('Select all that match').click();
    await button('Retry failed').click();
    await dialog().getByText(`This retries ${LOT} failed tasks that match your filters.`).waitFor();
    await button(`Retry ${LOT} tasks`).click();
    await dialog()
      .getByText(/^\d+ of 60 retried\. Continues in \d+ s: .*limit/)
      .waitFor();
    expect(await screen.inspect('tasks-bulk-waiting')).toEqual([]);
    await button('Stop').click();
    await dialog()
      .getByText(/Stopped; the other tasks are unchanged\.$/)
      .waitFor();
    const before = await retries();
    expect(before).toBeLessThan(LOT);
    await platform.pool.query(`UPDATE api_keys SET submits_per_minute = 0 WHERE name = 'e2e'`);
    await button('Continue').click();
    await page().getByText(`${LOT} tasks retried`).waitFor();
    expect(await retries()).toBe(LOT + 2);
  });

  it('keeps search results up to date while their tasks run', async () => {
    const running = { status: 'pending', phase: 'queued', finished_at: null, error: null };
    const deadline = new Date(Date.now() + 3_600_000);
    const later = { ...running, next_try_at: deadline, deadline_at: deadline };
    const id = await insertFailed(platform, { ...later, prompt: 'A changing one' });
    await open('/tasks?text=changing');
    const row = page().getByRole('row').filter({ hasText: 'A changing one' });
    await row.getByText('Waiting', { exact: true }).waitFor();
    await insertFailed(platform, { prompt: 'Another changing one' });
    await platform.pool.query(
      `UPDATE tasks SET status = 'cancelled', phase = 'done', finished_at = now() WHERE id = $1`,
      [id],
    );
    await row.getByText('Canceled').waitFor();
    await page().getByText('2 matches').waitFor();
  });

  it('goes to pages, actions and tasks from the keyboard, but not while something is typed', async () => {
    await open('/tasks');
    const field = page().getByRole('combobox', { name: 'Search pages and actions' });
    await page().getByLabel('Search prompts').press('Control+k');
    await page().getByLabel('Search prompts').press('?');
    expect(await dialog().count()).toBe(0);
    await page().getByLabel('Search prompts').fill('');
    await heading('Tasks').click();
    await page().keyboard.press('Control+k');
    await field.fill('usa');
    expect(await screen.inspect('palette')).toEqual([]);
    await field.press('Enter');
    await heading('Usage').waitFor();
    await gone(dialog());
    await page().keyboard.press('?');
    await dialog().getByText('Show this list').waitFor();
    expect(await screen.inspect('shortcuts')).toEqual([]);
    await page().keyboard.press('Control+k');
    expect(await field.count()).toBe(0);
    await dialog().getByRole('button', { name: 'Close', exact: true }).last().click();
    await gone(dialog());
    await page()
      .getByRole('button', { name: /^Go to/ })
      .click();
    await field.fill('new key');
    await option('New key').click();
    await dialog().getByRole('heading', { name: 'Create key' }).waitFor();
    await becomes(() => Promise.resolve(page().url().includes('#')), false);
    await page().keyboard.press('Escape');
    await gone(dialog());
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM tasks WHERE prompt = 'Lot 7'`);
    await page().keyboard.press('Control+k');
    await field.fill(rows[0]!.id);
    await field.press('Enter');
    await page().getByText('Lot 7').first().waitFor();
    expect(page().url()).toContain(rows[0]!.id);
  });

  it('leads back to the same list after a session has ended, in every tab', async () => {
    await open('/tasks?status=failed&text=Lot&from=2026-01-01T00%3A00%3A00.000Z');
    const second = await page().context().newPage();
    await second.goto('/console/usage?days=7');
    await second.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await platform.pool.query('DELETE FROM sessions');
    await second.reload();
    await second.getByLabel('Email').waitFor();
    await page().getByLabel('Email').waitFor();
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Sign in').click();
    await heading('Tasks').waitFor();
    const { searchParams } = new URL(page().url());
    expect(Object.fromEntries(searchParams)).toEqual({
      status: 'failed',
      text: 'Lot',
      from: '2026-01-01T00:00:00.000Z',
    });
    // The other tab needs no second sign-in: it looks when the user comes back to it.
    await second.evaluate(`dispatchEvent(new Event('focus'))`);
    await second.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(second.url()).toMatch(/\/usage\?days=7$/);
    await second.close();
  });
});
