import { readFile } from 'node:fs/promises';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

/** The gallery, the lightbox, and the latest images of the overview. */
describe('images as a collection in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  let ada: Browser;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const tile = (prompt: string) => page().locator('[data-open]').filter({ hasText: prompt });
  const dialog = () => page().getByRole('dialog');
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  /** Waits until a condition of the page, as an expression, is true. */
  const holds = async (expression: string): Promise<void> => {
    const isSo = () => page().evaluate<boolean>(expression);
    expect([expression, await waitUntil(isSo, { timeoutMs: 20_000 })]).toEqual([expression, true]);
  };
  const inFocus = (text: string) => holds(`document.activeElement.textContent.includes(${JSON.stringify(text)})`);

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    const grace = await signInInvited(platform, { email: 'grace@example.org', role: 'member' });
    for (const [who, prompt] of [
      [ada, 'A red fox'],
      [ada, 'A green hill'],
      [grace, 'A boat of Grace'],
      [ada, 'A blue door'],
    ] as const) {
      await who.ask('/images', { body: { model: 'gpt-image-2', prompt, resolution: '1k' } });
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
  afterEach(() => {
    expect(screen.troubles).toEqual([]);
  });

  it('are on the overview, the newest first, and look as large as there is room', async () => {
    await open('/');
    const latest = page().getByRole('region', { name: 'Latest images' });
    await latest.getByRole('button', { name: 'A blue door, 1 of 4' }).waitFor();
    await page().getByRole('region', { name: 'Last seven days, in UTC' }).waitFor();
    expect(await screen.inspect('overview-images')).toEqual([]);
    await latest.getByRole('button', { name: /^A boat of Grace/ }).click();
    await dialog().getByText('Image 2 of 4').waitFor();
    await dialog().getByRole('img', { name: 'A boat of Grace' }).waitFor();
    await page().keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await latest.getByRole('link', { name: 'Open gallery' }).click();
    await page().getByRole('heading', { name: 'Gallery', level: 1 }).waitFor();
  });

  it('are by day in the gallery, and reached by the arrow keys', async () => {
    await open('/gallery');
    await page().getByRole('heading', { name: 'Today', level: 2 }).waitFor();
    await becomes(() => page().locator('[data-open]').count(), 4);
    await tile('A blue door').focus();
    await page().keyboard.press('ArrowRight');
    await inFocus('A boat of Grace');
    await page().keyboard.press('End');
    await inFocus('A red fox');
    await page().keyboard.press('ArrowLeft');
    await inFocus('A green hill');
    // One stop of the tab key for all of them, with what belongs to that one.
    expect(await page().locator('[data-open][tabindex="0"]').count()).toBe(1);
    expect(await screen.inspect('gallery')).toEqual([]);
  });

  it('are starred with F, and favorites are a filter in the URL', async () => {
    await tile('A green hill').focus();
    await page().keyboard.press('f');
    await page().locator('.star[aria-pressed=true]').waitFor();
    await button('Favorites').click();
    await tile('A blue door').waitFor({ state: 'detached' });
    await becomes(() => page().locator('[data-open]').count(), 1);
    expect(page().url()).toMatch(/\/gallery\?favorites=true$/);
    await page().locator('.star').click();
    await page().getByText('No favorites yet').waitFor();
    expect(await screen.inspect('gallery-no-favorites')).toEqual([]);
    await button('Favorites').click();
    await page().getByRole('combobox', { name: 'User' }).click();
    await page().getByRole('option', { name: 'Somebody' }).click();
    await tile('A red fox').waitFor({ state: 'detached' });
    await tile('A boat of Grace').waitFor();
    await open('/gallery');
    await page().getByLabel('Search prompts').fill('green');
    await tile('A red fox').waitFor({ state: 'detached' });
    await tile('A green hill').waitFor();
    await page().waitForURL(/\/gallery\?text=green$/);
    await open('/gallery?model=none');
    await page().getByText('No stored image matches your filters.').waitFor();
    await page().getByRole('link', { name: 'Clear filters' }).click();
    await tile('A red fox').waitFor();
  });

  it('are selected with X, downloaded together, and used together', async () => {
    await tile('A blue door').focus();
    await page().keyboard.press('x');
    await page().keyboard.press('End');
    await inFocus('A red fox');
    await page().keyboard.press('x');
    const bar = page().getByRole('region', { name: 'Selection' });
    await bar.getByText('2 selected').waitFor();
    expect(await screen.inspect('gallery-selected')).toEqual([]);
    const downloads = page().waitForEvent('download');
    await bar.getByRole('button', { name: 'Download' }).click();
    const download = await downloads;
    expect(download.suggestedFilename()).toBe('darkroom-images.zip');
    const packed = await readFile(await download.path());
    for (const name of ['a-blue-door-', 'a-red-fox-']) expect(packed.includes(name)).toBe(true);
    await bar.getByRole('button', { name: 'Use as references' }).click();
    await page().getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
    await page()
      .getByTitle(/^a-blue-door-\w{6}\.png$/)
      .waitFor();
    await page()
      .getByTitle(/^a-red-fox-\w{6}\.png$/)
      .waitFor();
  });

  it('are looked at one after the other: by keys, wheel, drag and swipe', async () => {
    await open('/gallery');
    await tile('A boat of Grace').focus();
    await page().keyboard.press('Enter');
    await dialog().getByText('Image 2 of 4').waitFor();
    await dialog().getByRole('img', { name: 'A boat of Grace' }).waitFor();
    expect(await screen.inspect('gallery-lightbox')).toEqual([]);
    // While it is busy, it takes no key: until all that shows it has been read again.
    const star = (pressed: boolean) =>
      dialog().getByRole('button', { name: /^Favorite: A boat of Grace/, pressed, disabled: false });
    for (const isStarred of [true, false]) {
      await page().keyboard.press('f');
      await star(isStarred).waitFor();
    }
    await page().keyboard.press('ArrowRight');
    await dialog().getByText('Image 3 of 4').waitFor();
    const view = dialog().getByRole('group', { name: 'Image; zoom with + and -' });
    const shown = dialog().getByRole('img', { name: 'A green hill' });
    await shown.waitFor();
    await shown.evaluate('(image) => image.decode()');
    const box = (await view.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page().mouse.move(x, y);
    await page().mouse.wheel(0, -600);
    await holds(`document.querySelector('[data-zoomed=true]') !== null`);
    const before = (await shown.boundingBox())!;
    expect(before.width).toBeGreaterThan(box.width * 2);
    await page().mouse.down();
    await page().mouse.move(x + 120, y + 40);
    await page().mouse.up();
    const moved = async () => {
      const after = (await shown.boundingBox())!;
      return [Math.round(after.x - before.x), Math.round(after.y - before.y)];
    };
    await becomes(moved, [120, 40]);
    // Zoomed in, arrow keys move; the whole picture again, they switch.
    await page().keyboard.press('ArrowRight');
    await dialog().getByText('Image 3 of 4').waitFor();
    await page().keyboard.press('0');
    await dialog().getByText('Fit', { exact: true }).waitFor();
    await page().mouse.move(x + 100, y);
    await page().mouse.down();
    await page().mouse.move(x - 100, y + 5, { steps: 4 });
    await page().mouse.up();
    await dialog().getByText('Image 4 of 4').waitFor();
    await dialog().getByRole('img', { name: 'A red fox' }).waitFor();
    expect(await button('Next image').getAttribute('aria-disabled')).toBe('true');
  });

  it('say what they were made from, and become the next order', async () => {
    await page().context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button('Copy prompt').click();
    await holds(`navigator.clipboard.readText().then((text) => text === 'A red fox')`);
    await dialog()
      .getByText(/^gpt-image-2 · 1024 × 1024 · Free · /)
      .waitFor();
    expect(await dialog().getByRole('link', { name: 'Download' }).getAttribute('download')).toMatch(
      /^a-red-fox-\w{6}\.png$/,
    );
    await button('Same again').click();
    await page().getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
    await becomes(() => page().getByLabel('Prompt').inputValue(), 'A red fox');
    await open('/gallery');
    await tile('A green hill').click();
    await dialog().getByRole('link', { name: 'Open task' }).click();
    await page().getByRole('heading', { name: 'A green hill', level: 1 }).waitFor();
    expect(await page().getByRole('link', { name: 'Download' }).getAttribute('download')).toMatch(
      /^a-green-hill-\w{6}\.png$/,
    );
    await button('View image').click();
    await dialog().getByRole('img', { name: 'A green hill' }).waitFor();
    await page().keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
  });
});
