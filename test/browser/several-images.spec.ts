import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, giveSession, openPage, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const MODELS = `providers: { drawn: { type: sandbox } }
models:
  gpt-image-2: { kind: image, routes: [{ provider: drawn }] }
  four:
    kind: image
    accepts: { max_n: 4 }
    routes: [{ provider: drawn }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: { auto: 0.04, high: 0.08 }, 4k: 0.16 } }]
  plain:
    kind: image
    accepts: { sizes: [1:1, 16:9], pixel_sizes: false, output_formats: [jpeg], qualities: [auto] }
    routes: [{ provider: drawn, capabilities: { edits: false } }]
  later:
    kind: image
    routes: [{ provider: drawn }]
    prices: [{ from: 2126-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;

describe('orders of the playground in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  let folder: string;
  let ada: Browser;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const image = (name: string) => page().getByRole('img', { name, exact: true });
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  /** The page as a person finds it who has not been there. */
  const openAnew = async (): Promise<void> => {
    await page().evaluate(`sessionStorage.clear()`);
    await open('/playground');
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-orders-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    screen = await openScreen(platform.url);
    ada = await signInFirstAdmin(platform);
    await giveSession(screen, ada.cookie);
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
  const optionsOf = async (label: string): Promise<string[]> => {
    await page().getByRole('combobox', { name: label }).click();
    await page().getByRole('option').first().waitFor();
    const names = await page().getByRole('option').allTextContents();
    await page().keyboard.press('Escape');
    await page().getByRole('option').first().waitFor({ state: 'detached' });
    return names;
  };
  /** Waits until the focus is there; a closed dialog gives it back in its own time. */
  const focused = async (label: string): Promise<void> => {
    const read = () => page().evaluate(`document.activeElement?.getAttribute('aria-label')`);
    await waitUntil(async () => (await read()) === label, { timeoutMs: 30_000 });
    expect(await read()).toBe(label);
  };
  const shapes = () => page().getByRole('radiogroup', { name: 'Aspect ratio' }).getByRole('radio');
  const reference = async (width: number, height: number): Promise<void> => {
    const buffer = await sharp({ create: { width, height, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    await page()
      .locator('input[type=file]')
      .setInputFiles({ name: `${width}.png`, mimeType: 'image/png', buffer });
  };
  const orderOf = async (prompt: string): Promise<Record<string, unknown>> => {
    const text = `SELECT action, model, options, jsonb_array_length(inputs) AS inputs FROM tasks WHERE prompt = $1`;
    return (await platform.pool.query<Record<string, unknown>>(`${text} ORDER BY id DESC LIMIT 1`, [prompt])).rows[0]!;
  };

  it('offer several images where the model makes more than one, and all of them are shown', async () => {
    await page().getByLabel('Prompt').fill('A red fox');
    expect(await page().getByRole('combobox', { name: 'Images' }).count()).toBe(0);
    await choose('Model', 'four');
    await choose('Images', '3');
    await button('Generate').click();
    for (const place of [1, 2, 3]) await image(`A red fox (${place} of 3)`).waitFor();
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
    for (const place of [1, 2, 3]) await image(`A red fox (${place} of 3)`).waitFor();
    await page().getByText('n: 3').or(page().getByText('"n": 3')).first().waitFor();
    // Anyone may be shown one for as long as it says.
    await page().context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button('Copy link to image 2 of 3').click();
    await page()
      .getByText(/^Anyone with the link can view the image until .+\.$/)
      .waitFor();
    const link = await page().evaluate<string>('navigator.clipboard.readText()');
    const shown = await fetch(link);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await shown.arrayBuffer()).byteLength).toBeGreaterThan(0);
    // Another task of it costs what it would cost today.
    await button(/^Run again · \$0\.06/).waitFor();
    expect(await screen.inspect('task-several')).toEqual([]);
    await openPage(page(), 'Playground');
    await button(/^A red fox/).click();
    await button('Reuse settings').click();
    expect(await page().getByRole('combobox', { name: 'Images' }).inputValue()).toBe('3');
    // Their own page leads there as well, whatever was in the form.
    await choose('Model', 'gpt-image-2');
    await page().getByLabel('Prompt').fill('Something else');
    await page().getByRole('link', { name: 'Details' }).click();
    await button('Open in playground').click();
    await page().getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
    await becomes(() => page().getByLabel('Prompt').inputValue(), 'A red fox');
    await becomes(() => page().getByRole('combobox', { name: 'Images' }).inputValue(), '3');
    await image('A red fox (3 of 3)').waitFor();
  });

  it('say what they cost and how long they take before they are sent', async () => {
    await button(/^Generate\s*\$0\.06 · about \d+ s$/).waitFor();
    await page().getByText('2K', { exact: true }).click();
    await choose('Quality', 'High');
    await button(/^Generate\s*\$0\.24 /).waitFor();
    await choose('Model', 'gpt-image-2');
    await button(/^Generate\s*free/).waitFor();
    await choose('Model', 'later');
    await button(/^Generate\s*price unknown/).waitFor();
  });

  it('leave the focus where it was, or beside what is gone', async () => {
    await openAnew();
    await choose('Model', 'gpt-image-2');
    await page().getByLabel('Prompt').fill('A boat that keeps the focus');
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page().route('**/console/api/images', async (route) => {
      await released;
      await route.continue();
    });
    const inFocus = () => page().evaluate<string>(`document.activeElement.textContent`);
    await button('Generate').focus();
    await page().keyboard.press('Enter');
    await page().locator('[type=submit][aria-disabled=true]').waitFor();
    // It is in focus, but orders nothing while it is busy.
    await page().keyboard.press('Enter');
    release();
    await image('A boat that keeps the focus').waitFor();
    expect(await inFocus()).toMatch(/^Generate/);
    await page().unroute('**/console/api/images');
    const orders = `SELECT 1 FROM tasks WHERE prompt = 'A boat that keeps the focus'`;
    expect((await platform.pool.query(orders)).rowCount).toBe(1);
    // Equal prompts have names of their own; where all images are one's own, none says so.
    const history = page().getByRole('region', { name: 'History' });
    await history.getByRole('button', { name: /^A boat that keeps the focus, .+, 1 of \d+$/ }).waitFor();
    expect(await history.getByText('You', { exact: true }).count()).toBe(0);
    for (const [before, edge] of [300, 400, 500].entries()) {
      await reference(edge, edge);
      await button(`Remove reference image ${before + 1}`).waitFor();
    }
    const remove = async (place: number): Promise<void> => {
      await button(`Remove reference image ${place}`).focus();
      await page().keyboard.press('Enter');
    };
    await remove(3);
    await focused('Remove reference image 2');
    await remove(1);
    await focused('Remove reference image 1');
    expect(await page().getByTitle('400.png').count()).toBe(1);
    await remove(1);
    // What adds another.
    expect(await waitUntil(async () => (await inFocus()).startsWith('Drop images here'), { timeoutMs: 30_000 })).toBe(
      true,
    );
  });

  it('offer nothing that the model would refuse', async () => {
    await openAnew();
    await choose('Model', 'gpt-image-2');
    expect(await shapes().allTextContents()).toEqual(['1:1', '3:2', '2:3', '16:9', '9:16']);
    await button('More').click();
    expect(await shapes().count()).toBe(14);
    await page().getByRole('radio', { name: '21:9' }).click();
    await button('Fewer').click();
    // What is chosen stays in sight.
    expect(await shapes().allTextContents()).toEqual(['1:1', '3:2', '2:3', '16:9', '9:16', '21:9']);
    expect(await optionsOf('Format')).toEqual(['PNG', 'JPEG', 'WebP']);
    await choose('Background', 'Transparent');
    await choose('Format', 'JPEG');
    expect(await optionsOf('Background')).toEqual(['Auto', 'Opaque']);
    await choose('Model', 'plain');
    expect(await shapes().allTextContents()).toEqual(['1:1', '16:9']);
    expect(await optionsOf('Quality')).toEqual(['Auto']);
    expect(await page().locator('input[type=file]').count()).toBe(0);
    await page().getByLabel('Prompt').fill('A plain boat');
    await button('Generate').click();
    await image('A plain boat').waitFor();
    expect(await orderOf('A plain boat')).toMatchObject({ options: { outputFormat: 'jpeg', size: '1:1' } });
    await choose('Model', 'four');
    await choose('Format', 'WebP');
    await choose('Background', 'Transparent');
    await page().getByLabel('Prompt').fill('A transparent boat');
    await button('Generate').click();
    await image('A transparent boat').waitFor();
    const options = { outputFormat: 'webp', background: 'transparent' };
    expect(await orderOf('A transparent boat')).toMatchObject({ options });
  });

  it('have the shape of their reference unless another is chosen', async () => {
    await openAnew();
    await page().getByRole('radio', { name: '16:9' }).click();
    await reference(900, 900);
    await page().getByText('Same shape as the first reference image: 1:1.').waitFor();
    expect(await page().getByRole('radio', { name: 'Original' }).getAttribute('aria-checked')).toBe('true');
    await page().getByLabel('Prompt').fill('A square boat');
    await button('Edit image').click();
    await image('A square boat').waitFor();
    expect(await orderOf('A square boat')).toMatchObject({ action: 'edit', inputs: 1, options: { size: '1:1' } });
    await button('Remove reference image 1').click();
    expect(await page().getByRole('radio', { name: 'Original' }).count()).toBe(0);
    await reference(700, 500);
    await page().getByText('Same shape as the first reference image: 1200 × 864.').waitFor();
    await page().getByLabel('Prompt').fill('A wide boat');
    await button('Edit image').click();
    await image('A wide boat').waitFor();
    expect(await orderOf('A wide boat')).toMatchObject({ options: { size: '1200x864', resolution: null } });
    expect(await screen.inspect('playground-reference')).toEqual([]);
  });

  it('survive leaving the page, and are forgotten by a sign-out', async () => {
    await page().getByLabel('Prompt').fill('A boat for later');
    await openPage(page(), 'Keys');
    await page().getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
    await openPage(page(), 'Playground');
    expect(await page().getByLabel('Prompt').inputValue()).toBe('A boat for later');
    await page().getByTitle('700.png').waitFor();
    await image('A wide boat').waitFor();
    await open('/playground');
    expect(await page().getByLabel('Prompt').inputValue()).toBe('A boat for later');
    await button('Sign out').click();
    await page().getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page().evaluate(`JSON.stringify(sessionStorage)`)).not.toContain('boat');
    ada = await signInInvited(platform, { email: 'grace@example.org', role: 'admin' });
    await giveSession(screen, ada.cookie);
    await open('/playground');
    expect(await page().getByLabel('Prompt').inputValue()).toBe('');
  });

  it('show an image in the history when it is there, even if nobody follows its task', async () => {
    // Long enough to be seen at work, also where the page is looked at less often.
    const prompt = `A quick boat [[latency=${patientSetting(3_000, 45_000)}ms]]`;
    const isDone = async (): Promise<boolean> =>
      (await platform.pool.query(`SELECT 1 FROM tasks WHERE prompt = $1 AND status = 'completed'`, [prompt]))
        .rowCount === 1;
    await page().route(/\/api\/tasks\/task_\w+\/events$/, (route) => route.abort());
    // The first look at the task comes when it has ended, so there is no end to hear of.
    await page().route(/\/api\/tasks\/task_\w+$/, async (route) => {
      await waitUntil(isDone, { timeoutMs: 60_000 });
      await route.continue();
    });
    await page().getByLabel('Prompt').fill(prompt);
    await button('Generate').click();
    const tile = button(/^A quick boat/);
    await tile.getByText(/Waiting|Running/).waitFor();
    await image(prompt).waitFor();
    await tile.locator('img').waitFor();
    await page().unrouteAll({ behavior: 'wait' });
  });

  it('begin with an image that was made before: edit it, use it, vary it', async () => {
    await openAnew();
    await choose('Model', 'four');
    await page().getByLabel('Prompt').fill('A harbor');
    await button('Generate').click();
    await image('A harbor').waitFor();
    await button('Use as reference').click();
    await page()
      .getByTitle(/^a-harbor-\w{6}\.png$/)
      .waitFor();
    expect(await page().getByLabel('Prompt').inputValue()).toBe('A harbor');
    expect(await page().getByRole('radio', { name: 'Original' }).getAttribute('aria-checked')).toBe('true');
    const note = (text: string) => page().getByRole('status').getByText(text);
    const inFocus = () => page().evaluate<string>(`document.activeElement.id`);
    const prompt = () => page().getByLabel('Prompt').inputValue();
    await note('Image added to the references.').waitFor();
    await page().getByLabel('Prompt').fill('Typed before');
    await button('Continue from this image').click();
    await note('This image is now the reference.').waitFor();
    expect(await waitUntil(async () => (await inFocus()) === 'prompt', { timeoutMs: 30_000 })).toBe(true);
    expect(await prompt()).toBe('');
    await button('Undo').click();
    expect(await prompt()).toBe('Typed before');
    await button('Continue from this image').click();
    await note('This image is now the reference.').waitFor();
    expect(await button(/^Remove reference image/).count()).toBe(1);
    await page().getByLabel('Prompt').fill('Now at night');
    await button('Edit image').click();
    await image('Now at night').waitFor();
    expect(await orderOf('Now at night')).toMatchObject({ action: 'edit', inputs: 1, options: { size: '1:1' } });
    expect(await page().getByRole('status').getByText('Undo').count()).toBe(0);
    // Both turns of the conversation are there to go back to, and a second order from the first is a branch.
    const conversation = page().getByRole('region', { name: 'Conversation' });
    const turn = (name: string) => conversation.getByRole('button', { name, exact: true });
    await turn('A harbor').waitFor();
    await page().getByLabel('Prompt').fill('Now in winter');
    await button('Edit image').click();
    await image('Now in winter').waitFor();
    await conversation
      .getByRole('group', { name: 'Branch 2' })
      .getByRole('button', { name: 'Now in winter' })
      .waitFor();
    expect(await screen.inspect('playground-conversation')).toEqual([]);
    await turn('Now at night').click();
    await image('Now at night').waitFor();
    await page().getByLabel('Prompt').fill('Half a thought');
    await button(/^Variations/).click();
    await note('Image, prompt, and settings filled in for 4 variations. Nothing is generated yet.').waitFor();
    expect(await prompt()).toBe('Now at night');
    await button(/^Generate variations\s*\$0\.08/).waitFor();
    expect(await waitUntil(async () => (await inFocus()) === 'order', { timeoutMs: 30_000 })).toBe(true);
    expect(await screen.inspect('playground-variations')).toEqual([]);
    await button('Undo').click();
    expect(await prompt()).toBe('Half a thought');
    expect(await waitUntil(async () => (await inFocus()) === 'prompt', { timeoutMs: 30_000 })).toBe(true);
    await button(/^Edit image\s*\$0\.02/).waitFor();
    // The order can't be sent before the reference was read.
    await page().evaluate(`{
      const read = createImageBitmap;
      globalThis.createImageBitmap = async (file) => {
        await new Promise((resolve) => { globalThis.readNow = resolve; });
        globalThis.createImageBitmap = read;
        return await read(file);
      };
    }`);
    await button(/^Variations/).click();
    const isRead = () => page().evaluate<boolean>('globalThis.readNow !== undefined');
    expect(await waitUntil(isRead, { timeoutMs: 30_000 })).toBe(true);
    expect(await page().locator('#order').getAttribute('aria-disabled')).toBe('true');
    await page().evaluate('globalThis.readNow()');
    // Nothing is bought before its price was seen.
    await button(/^Generate variations\s*\$0\.08/).click();
    await image('Now at night (4 of 4)').waitFor();
    await button('Use image 2 of 4').click();
    await page().getByRole('menuitem', { name: 'Continue from this image' }).click();
    await page()
      .getByTitle(/^now-at-night-\w{6}-2\.png$/)
      .waitFor();
  });

  it('are looked at closely with the keyboard alone', async () => {
    const view = button('View image 3 of 4');
    await view.focus();
    await page().keyboard.press('Enter');
    const dialog = page().getByRole('dialog');
    const shown = dialog.locator('img');
    await dialog.getByText('Image 3 of 4').waitFor();
    await shown.evaluate('(image) => image.decode()');
    const width = async () => (await shown.boundingBox())?.width ?? 0;
    const fits = await width();
    expect(await screen.inspect('lightbox')).toEqual([]);
    for (const key of ['+', '+']) await page().keyboard.press(key);
    await dialog.getByText('2×').waitFor();
    await becomes(async () => Math.round((await width()) / fits), 2);
    // Zoomed in, what was in the middle is still there.
    const middle = async (part: string) => {
      const box = (await dialog.locator(part).boundingBox())!;
      return box.x + box.width / 2;
    };
    expect(await middle('img')).toBeCloseTo(await middle('.lightbox-view'), 0);
    await page().keyboard.press('0');
    await dialog.getByText('Fit', { exact: true }).waitFor();
    await page().keyboard.press('ArrowLeft');
    await dialog.getByText('Image 2 of 4').waitFor();
    await page().keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await focused('View image 3 of 4');
  });

  it('are compared side by side, each with its time and its price', async () => {
    await openAnew();
    await choose('Model', 'four');
    await page().getByText('Compare', { exact: true }).click();
    const column = (place: number) => page().getByRole('region', { name: `Column ${place}` });
    const pick = async (place: number, label: string, option: string): Promise<void> => {
      await column(place).getByRole('combobox', { name: label }).click();
      await page().getByRole('option', { name: option, exact: true }).click();
    };
    await pick(1, 'Model', 'four');
    await pick(2, 'Model', 'four');
    await column(2).getByText('2K', { exact: true }).click();
    await button(/^Generate both/).waitFor();
    await button('Add column').click();
    await pick(3, 'Model', 'plain');
    await page().getByLabel('Prompt').fill('A compared boat');
    await column(2)
      .getByText(/^\$0\.04/)
      .waitFor();
    await button(/^Generate all 3\s*\$0\.06$/).click();
    for (const place of [1, 2, 3]) await column(place).getByRole('img', { name: 'A compared boat' }).waitFor();
    await column(1)
      .getByText(/^1024 × 1024 · .+ m?s · \$0\.02$/)
      .waitFor();
    await column(2)
      .getByText(/^2048 × 2048 · .+ m?s · \$0\.04$/)
      .waitFor();
    // The one without a price costs nothing; which is the fastest, nobody can say before.
    await column(3).getByText('Cheapest', { exact: true }).waitFor();
    expect(await page().getByText('Cheapest', { exact: true }).count()).toBe(1);
    const { rows } = await platform.pool.query(
      `SELECT model FROM tasks WHERE prompt = 'A compared boat' ORDER BY model`,
    );
    expect(rows).toEqual([{ model: 'four' }, { model: 'four' }, { model: 'plain' }]);
    expect(await screen.inspect('playground-compare')).toEqual([]);
    // Whatever moves one, moves all of them as far.
    await button('Compare closely').click();
    const views = page().getByRole('dialog').locator('.lightbox-view img');
    await views.nth(2).waitFor();
    expect(await screen.inspect('playground-compare-closely')).toEqual([]);
    const box = (await views.first().boundingBox())!;
    await page().mouse.move(box.x + box.width / 4, box.y + box.height / 2);
    await page().mouse.wheel(0, -400);
    const transforms = () =>
      views.evaluateAll((all) => all.map((one) => (one as { style: { transform: string } }).style.transform));
    expect(await waitUntil(async () => !(await transforms())[2]!.endsWith('scale(1)'), { timeoutMs: 30_000 })).toBe(
      true,
    );
    expect(new Set(await transforms()).size).toBe(1);
    await page().keyboard.press('Escape');
    await page().getByRole('dialog').waitFor({ state: 'detached' });
    await button('Remove column 3').click();
    await column(3).waitFor({ state: 'detached' });
    await page().getByText('Single', { exact: true }).click();
  });

  it('are found in the history, whose they are, and kept as favorites', async () => {
    const grace = await signInInvited(platform, { email: 'hopper@example.org', role: 'member' });
    await grace.ask('/images', {
      body: { model: 'gpt-image-2', prompt: 'A lamp of another person', resolution: '1k' },
    });
    await open('/playground');
    const history = page().getByRole('region', { name: 'History' });
    await history.getByText('Somebody', { exact: true }).waitFor();
    await history.getByText('You', { exact: true }).first().waitFor();
    await page().getByLabel('Search history').fill('SQUARE');
    await history.getByRole('button', { name: /^A lamp/ }).waitFor({ state: 'detached' });
    await becomes(() => history.getByRole('button', { name: /^A square boat/ }).count(), 1);
    await history.getByRole('button', { name: 'Favorite: A square boat' }).first().click();
    await history.locator('[aria-pressed=true][aria-label^="Favorite"]').waitFor();
    await page().getByLabel('Search history').fill('');
    await history.getByText('Favorites', { exact: true }).click();
    const found = async (count: number): Promise<boolean> =>
      (await history.getByRole('button', { name: /^A square boat/ }).count()) === count &&
      (await history.getByRole('button', { name: /^A lamp/ }).count()) === 0;
    expect(await waitUntil(() => found(1), { timeoutMs: 20_000 })).toBe(true);
    expect(await screen.inspect('playground-favorites')).toEqual([]);
    const favorites = async () =>
      (await platform.pool.query('SELECT 1 FROM tasks WHERE favorited_at IS NOT NULL')).rowCount;
    expect(await favorites()).toBe(1);
    await history.getByRole('button', { name: 'Favorite: A square boat' }).click();
    await history.getByText('No favorites yet.').waitFor();
    expect(await favorites()).toBe(0);
    // The list of tasks and their pages name the user as well.
    await open('/tasks');
    const key = (prompt: string) => page().getByRole('row').filter({ hasText: prompt }).first().getByRole('cell');
    await key('A compared boat').getByText('You', { exact: true }).waitFor();
    await key('A lamp of another person').getByText('Somebody', { exact: true }).waitFor();
    expect(await screen.inspect('tasks-of-users')).toEqual([]);
    await page().getByRole('link', { name: 'A lamp of another person' }).click();
    await page().getByRole('definition').getByText('Somebody', { exact: true }).waitFor();
  });

  it('say where the sandbox answers, on the page and on every image', async () => {
    await open('/playground');
    await page().getByText('No provider is connected, so these images are drawn by Darkroom itself.').waitFor();
    const history = page().getByRole('region', { name: 'History' });
    await history.locator('img').first().click();
    await page().getByText('Drawn by the built-in sandbox, not by a model.').waitFor();
    const unmarked = async (): Promise<number> =>
      (await history.locator('img').count()) - (await history.getByText('Sandbox', { exact: true }).count());
    await becomes(unmarked, 0);
  });
});
