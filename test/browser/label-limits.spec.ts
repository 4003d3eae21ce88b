import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

describe('limits of end users and tags, in a browser', () => {
  let platform: ApiPlatform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const limit = (number: number) => page().getByRole('group', { name: `Limit ${number}` });

  beforeAll(async () => {
    platform = await startApiPlatform();
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('are set for each end user and for one tag, and shown again', async () => {
    await page().goto('/console/end-users');
    await page().getByRole('button', { name: 'Set limits' }).click();
    await page().getByRole('button', { name: 'Add limit' }).click();
    await limit(1).getByLabel('Requests per minute').fill('30');
    await page().getByRole('button', { name: 'Add limit' }).click();
    await limit(2).getByRole('combobox', { name: 'Whose' }).click();
    await page().getByRole('option', { name: 'One tag' }).click();
    await page().getByRole('button', { name: 'Save' }).click();
    await limit(2).getByText('Enter a name').waitFor();
    await limit(2).getByLabel('Name').fill('newsletter');
    await limit(2).getByLabel('Tasks in flight').fill('4');
    await limit(2).getByLabel('Budget per month').fill('12.5');
    expect(await screen.inspect('label-limits')).toEqual([]);
    await page().getByRole('button', { name: 'Save' }).click();
    await page().getByText('Limits updated.').waitFor();
    await page().getByRole('button', { name: 'Limits: 2' }).click();
    expect(await limit(1).getByLabel('Requests per minute').inputValue()).toBe('30');
    expect(await limit(2).getByLabel('Name').inputValue()).toBe('newsletter');
    expect(await limit(2).getByLabel('Budget per month').inputValue()).toBe('$12.5');
    await page().getByRole('button', { name: 'Remove limit 1' }).click();
    await page().getByRole('button', { name: 'Save' }).click();
    await page().getByRole('button', { name: 'Limits: 1' }).waitFor();
    const { rows } = await platform.pool.query(
      'SELECT kind, name, requests_per_minute, tasks_in_flight, monthly_budget_micros::float8 AS budget FROM label_limits',
    );
    expect(rows).toEqual([
      { kind: 'tag', name: 'newsletter', requests_per_minute: null, tasks_in_flight: 4, budget: 12_500_000 },
    ]);
  });
});
