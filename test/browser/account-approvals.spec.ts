import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

describe('the approvals of an account in a browser', () => {
  let platform: ApiPlatform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const dialog = () => page().getByRole('dialog', { name: 'Approvals above a price' });

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

  it('are set by its admins, for any request and for a tag', async () => {
    await page().goto('/console/team');
    await page().getByText('Not required, except for keys that need one').waitFor();
    await page().getByRole('button', { name: 'Change approvals' }).click();
    await dialog().getByLabel('Approval above').fill('0.5');
    await dialog().getByRole('button', { name: 'Add tag' }).click();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('Enter a price').waitFor();
    await dialog().getByRole('textbox', { name: 'Tag' }).fill('draft');
    await dialog().getByRole('textbox', { name: 'Above', exact: true }).fill('0.02');
    expect(await screen.inspect('account-approvals')).toEqual([]);
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().waitFor({ state: 'detached' });
    await page().getByText('Above $0.50', { exact: true }).waitFor();
    await page().getByText('Tag “draft”: above $0.02').waitFor();
    const { rows } = await platform.pool.query(
      `SELECT own_approve_above_micros AS above, tag_approvals AS tags FROM accounts WHERE id = 'acct_default'`,
    );
    expect(rows).toEqual([{ above: '500000', tags: { draft: 20_000 } }]);
    await page().getByRole('button', { name: 'Change approvals' }).click();
    await dialog().getByRole('button', { name: 'Remove tag 1' }).click();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page().getByText('Tag “draft”').waitFor({ state: 'detached' });
  });
});
