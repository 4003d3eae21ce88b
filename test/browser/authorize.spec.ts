import type { Client } from '@modelcontextprotocol/client';
import { openScreen, type Screen } from '../support/chromium.js';
import { PASSWORD, signInFirstAdmin } from '../support/console.js';
import { AgentMemory, CLIENT_NAME, connectAgent, finishAgent, RETURN_TO } from '../support/oauth-agent.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

/** The official client sends its user to the console's page, and gets what the page sends them back with. */
describe('the page on which users authorize MCP clients', () => {
  let platform: ApiPlatform;
  let screen: Screen;

  beforeAll(async () => {
    platform = await startApiPlatform();
    await signInFirstAdmin(platform);
    screen = await openScreen(platform.url);
    // Nothing listens there.
    await screen.page.route(`${RETURN_TO}?**`, async (route) => {
      await route.fulfill({ contentType: 'text/html', body: '<title>Back</title>' });
    });
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  async function open(): Promise<AgentMemory> {
    const memory = new AgentMemory();
    expect(await connectAgent(platform.url, memory)).toBeUndefined();
    await screen.page.goto(memory.page?.href ?? '');
    return memory;
  }

  it('comes after the sign-in, names the client and where it leads, and connects it', async () => {
    const { page } = screen;
    const memory = await open();
    await page.getByRole('textbox', { name: 'Email' }).fill('ada@example.org');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Authorize a client' }).waitFor();
    await page.getByText(CLIENT_NAME).waitFor();
    await page.getByText('You are sent to 127.0.0.1:3118 afterwards.').waitFor();
    expect(await screen.inspect('authorize')).toEqual([]);
    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    await page.waitForURL(`${RETURN_TO}?**`);
    await finishAgent(platform.url, memory, page.url());
    const client = (await connectAgent(platform.url, memory)) as Client;
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
    await page.goto('/console/keys');
    await page
      .getByRole('row')
      .filter({ hasText: `${CLIENT_NAME} (OAuth)` })
      .getByText('Authorized client')
      .waitFor();
    expect(screen.troubles).toEqual([]);
  });

  it('tells the client when its user cancels', async () => {
    const { page } = screen;
    await open();
    await page.getByRole('heading', { level: 1, name: 'Authorize a client' }).waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.waitForURL(`${RETURN_TO}?**`);
    const answer = new URL(page.url()).searchParams;
    expect([answer.get('error'), answer.get('state'), answer.get('code')]).toEqual([
      ...['access_denied', 'state of the agent', null],
    ]);
  });

  it('sends nobody to an address that the client has not registered', async () => {
    const { page } = screen;
    const memory = await open();
    const url = new URL(memory.page?.href ?? '');
    url.searchParams.set('redirect_uri', 'https://attacker.example/');
    await page.goto(url.href);
    await page.getByText('has not registered the address').waitFor();
    expect(await page.getByRole('button', { name: 'Authorize', exact: true }).count()).toBe(0);
  });
});
