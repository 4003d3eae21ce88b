import { becomes, giveSession, openPage, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const USER = 'eu_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
const REFUSED = 'customer-7';

describe('end users who are a danger, in a browser', () => {
  let platform: ApiPlatform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const rows = (name: string, section: string) =>
    page().getByRole('region', { name: section }).getByRole('row').filter({ hasText: name });

  beforeAll(async () => {
    platform = await startApiPlatform();
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
    await platform.pool.query(
      `INSERT INTO end_user_states (account_id, end_user, state, cause, reason, provider, case_id, announced_at)
       VALUES ('acct_default', $1, 'flagged', 'provider', 'Repeated attempts at violence.', 'openai', 'case_1', now())`,
      [USER],
    );
    await platform.pool.query(
      `INSERT INTO end_user_refusals (account_id, end_user, refused_at, task_id, stage)
       VALUES ('acct_default', $1, now(), 'task_1', 'input'), ('acct_default', $1, now(), 'task_2', 'output')`,
      [REFUSED],
    );
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('are listed with the reason, and lead to their tasks', async () => {
    await page().goto('/console/');
    await openPage(page(), 'End users');
    await page().getByRole('heading', { name: 'End users', level: 1 }).waitFor();
    const listed = rows(USER, 'Flagged, paused, or blocked');
    await listed.getByText('Repeated attempts at violence.').waitFor();
    await listed.getByText('openai, case case_1').waitFor();
    await rows(REFUSED, 'Most refused').getByText('1 / 1').waitFor();
    expect(await screen.inspect('end-user-states')).toEqual([]);
    await listed.getByRole('link', { name: USER }).click();
    await page().getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    await becomes(() => page().getByRole('textbox', { name: 'End user' }).inputValue(), USER);
  });

  it('are blocked and cleared with a reason', async () => {
    await page().goto('/console/end-users');
    const listed = rows(USER, 'Flagged, paused, or blocked');
    await listed.getByRole('button', { name: `Actions for ${USER}` }).click();
    await page().getByRole('menuitem', { name: 'Block' }).click();
    await page().getByLabel('Reason').fill('Fraud.');
    expect(await screen.inspect('end-user-block')).toEqual([]);
    await page().getByRole('button', { name: 'Block', exact: true }).click();
    await page().getByText('End user blocked.').waitFor();
    await listed.getByText('Blocked', { exact: true }).waitFor();
    await listed.getByText('Fraud.').waitFor();
    await listed.getByRole('button', { name: `Actions for ${USER}` }).click();
    await page().getByRole('menuitem', { name: 'Unblock' }).click();
    await page().getByRole('button', { name: 'Clear', exact: true }).click();
    await page().getByText('End user cleared.').waitFor();
    await page().getByText('No end user is flagged, paused, or blocked').waitFor();
  });

  it('are found by the identifier that the application sends', async () => {
    await page().goto('/console/end-users');
    await page().getByRole('textbox', { name: 'Find an end user' }).fill('ann@example.com');
    const found = rows('eu_', 'Found');
    await found.getByText('No restriction').waitFor();
    await found.getByRole('button', { name: /^Actions for eu_/ }).click();
    await page().getByRole('menuitem', { name: 'Flag' }).click();
    await page().getByRole('button', { name: 'Flag', exact: true }).click();
    await page().getByText('End user flagged.').waitFor();
    await found.getByText('Flagged', { exact: true }).waitFor();
  });

  it('are paused automatically once that is set', async () => {
    await page().goto('/console/end-users');
    await page().getByRole('button', { name: 'Pause automatically' }).click();
    await page().getByLabel('Refused requests').fill('5');
    await page().getByLabel('Pause for minutes').fill('120');
    expect(await screen.inspect('pause-rule')).toEqual([]);
    await page().getByRole('button', { name: 'Save' }).click();
    await page().getByRole('button', { name: 'Pause after 5 refusals' }).waitFor();
    const { rows: saved } = await platform.pool.query(
      `SELECT pause_after, pause_window_minutes, pause_minutes FROM accounts WHERE id = 'acct_default'`,
    );
    expect(saved).toEqual([{ pause_after: 5, pause_window_minutes: 60, pause_minutes: 120 }]);
  });
});
