import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openScreen, giveSession, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, signInInvited } from '../support/console.js';
import { plainImage } from '../support/image-provider-suite.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { apiError, image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const SLOW = { timeout: patient(60_000) };
/** Its pause ends after a minute, and then the next call tests it. */
const PAUSED = /^(Unavailable|Recovering)$/;
const SAID = '<img src=x onerror="alert(1)"> The GPU fell off the bus.';

describe('the calls to a provider that fails every one, in a browser', () => {
  let folder: string;
  let first: ScriptedUpstream;
  let second: ScriptedUpstream;
  let platform: Platform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string) => page().getByRole('button', { name, exact: true });
  const card = (name: string) => page().getByRole('article', { name });
  const dialog = () => page().getByRole('dialog');
  const overview = (name: string) =>
    page().getByRole('region', { name: 'Image providers' }).getByRole('region', { name, exact: true });

  beforeAll(async () => {
    [first, second] = await Promise.all([startUpstream(), startUpstream()]);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-provider-calls-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  first: { type: openai, base_url: "${first.url}", keys: [{ env: KEY }] }
  second: { type: openai, base_url: "${second.url}", keys: [{ env: KEY }] }
models:
  both: { kind: image, routes: [{ provider: first, model: theirs }, { provider: second, model: spare }] }
`,
    );
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY: 'sk-canary-4d1f09b7',
      PROVIDER_FAILURES: '3',
      PROVIDER_PAUSE_MS: '60000',
    });
    const ada = await signInFirstAdmin(platform);
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await Promise.all([first.close(), second.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  async function generate(): Promise<void> {
    const body = { model: 'both', prompt: 'a harbor', resolution: '1k' };
    const answer = await platform.call('/v1/images/generations', { body });
    await answer.text();
    expect(answer.status).toBe(200);
  }

  it('are counted on its card while another provider completes the tasks, with its own words', async () => {
    first.script(apiError(500, { message: SAID }));
    second.script(image(await plainImage(1024, 1024)));
    await page().goto('/console/operation');
    await card('first').getByText('No calls in the last hour.').waitFor(SLOW);
    for (let n = 0; n < 2; n++) await generate();
    await card('first').getByText('Failing', { exact: true }).waitFor(SLOW);
    await card('first')
      .getByText(/^The last 2 calls failed, most recently (just now|.+ ago)\. It still gets requests\.$/)
      .waitFor();
    await card('first').getByText('Last hour: 2 calls, 2 failed.').waitFor();
    await card('first').getByRole('img', { name: 'first, by minute. Last hour: 2 calls, 2 failed.' }).waitFor();
    await card('first')
      .getByText(/^Last failure (just now|.+ ago), theirs: 500 upstream_error\. The provider said: /)
      .filter({ hasText: SAID })
      .waitFor();
    await card('second')
      .getByText(/^Last hour: 2 calls, 0 failed, average /)
      .waitFor();
    expect(await button('Try now: first').count()).toBe(0);
    await generate();
    await card('first').getByText(PAUSED).waitFor(SLOW);
    await card('first').getByText('Last hour: 3 calls, 3 failed.').waitFor(SLOW);
    await button('Try now: first').waitFor();
    expect(await screen.inspect('provider-calls')).toEqual([]);
  });

  it('are the same on the overview of operators, and none of other users', async () => {
    await page().goto('/console/');
    await overview('first').getByText(PAUSED).waitFor(SLOW);
    await overview('first').getByRole('img', { name: 'first, by minute. Last hour: 3 calls, 3 failed.' }).waitFor();
    await overview('second').getByText('Healthy', { exact: true }).waitFor();
    const notices = page().getByRole('region', { name: 'Needs attention' });
    await notices.getByText(/^first: (unavailable|recovering)\. /).waitFor();
    expect(await screen.inspect('provider-calls-overview')).toEqual([]);
    const mine = await page().context().cookies();
    const member = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    await giveSession(screen, member.cookie);
    await page().goto('/console/');
    await page().getByRole('region', { name: 'Image providers' }).getByText('first, second').waitFor(SLOW);
    expect(await overview('first').count()).toBe(0);
    await page().context().addCookies(mine);
  });

  it('begin again when an operator ends its pause, and the next call succeeds', async () => {
    first.script(image(await plainImage(1024, 1024)));
    await page().goto('/console/operation');
    await button('Try now: first').click();
    const told = 'The pause of first has ended. The next call tests it.';
    await page().getByRole('alert').getByText(told).waitFor(SLOW);
    await card('first').getByText('Recovering', { exact: true }).waitFor();
    await generate();
    await card('first').getByText('Healthy', { exact: true }).waitFor(SLOW);
    await card('first')
      .getByText(/^Last hour: 4 calls, 3 failed, average /)
      .waitFor(SLOW);
    await button('Try now: first').waitFor({ state: 'detached' });
    await page().goto('/console/audit');
    await page().getByText('ended the pause of the provider “first”').waitFor(SLOW);
  });

  it('include a test, which does not wait for the end of a pause', async () => {
    first.script(apiError(500));
    await page().goto('/console/operation');
    for (let n = 0; n < 3; n++) await generate();
    await card('first').getByText(PAUSED).waitFor(SLOW);
    first.script(image(await plainImage(1024, 1024)));
    await button('Test first').click();
    await dialog().getByText('although it is paused. If it succeeds, the pause ends.').waitFor();
    expect(await screen.inspect('provider-calls-test')).toEqual([]);
    await button('Generate test image').click();
    await dialog().getByRole('img', { name: 'Test image' }).waitFor(SLOW);
    await button('Close').click();
    await card('first').getByText('Healthy', { exact: true }).waitFor(SLOW);
    await card('first')
      .getByText(/^Last hour: 8 calls, 6 failed, average /)
      .waitFor(SLOW);
  });
});
