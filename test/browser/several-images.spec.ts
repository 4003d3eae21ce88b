import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

describe('several images of a task in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  let folder: string;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-several-'));
    const models = `providers: { drawn: { type: sandbox } }
models:
  gpt-image-2: { kind: image, routes: [{ provider: drawn }] }
  four: { kind: image, accepts: { max_n: 4 }, routes: [{ provider: drawn }] }
`;
    await writeFile(join(folder, 'models.yaml'), models);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
    await page().goto('/console/playground');
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    expect(screen.troubles).toEqual([]);
  });

  const choose = async (label: string, option: string): Promise<void> => {
    await page().getByRole('combobox', { name: label }).click();
    await page().getByRole('option', { name: option, exact: true }).click();
  };

  it('are offered where the model makes more than one, and all of them are shown', async () => {
    await page().getByLabel('Prompt').fill('A red fox');
    expect(await page().getByRole('combobox', { name: 'Images' }).count()).toBe(0);
    await choose('Model', 'four');
    await choose('Images', '3');
    await button('Generate').click();
    for (const place of [1, 2, 3])
      await page()
        .getByRole('img', { name: `A red fox (${place} of 3)` })
        .waitFor();
    expect(
      await page()
        .getByRole('link', { name: /^Download image [123] of 3$/ })
        .count(),
    ).toBe(3);
    expect(await screen.inspect('playground-several')).toEqual([]);
    await choose('Model', 'gpt-image-2');
    expect(await page().getByRole('combobox', { name: 'Images' }).count()).toBe(0);
  });

  it('are all on the page of their task, and come back with its settings', async () => {
    await page().getByRole('link', { name: 'Details' }).click();
    for (const place of [1, 2, 3])
      await page()
        .getByRole('img', { name: `A red fox (${place} of 3)` })
        .waitFor();
    await page().getByText('n: 3').or(page().getByText('"n": 3')).first().waitFor();
    expect(await screen.inspect('task-several')).toEqual([]);
    await page().getByRole('link', { name: 'Playground' }).click();
    await button(/^A red fox/).click();
    await button('Reuse settings').click();
    expect(await page().getByRole('combobox', { name: 'Images' }).inputValue()).toBe('3');
  });
});
