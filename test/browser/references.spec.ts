import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

const EDGE = 600;
/** What the browser keeps for all tabs. */
const KEPT = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('darkroom-draft', 1);
  opening.onerror = reject;
  opening.onsuccess = () => {
    const all = opening.result.transaction('files').objectStore('files').getAll();
    all.onsuccess = () => {
      opening.result.close();
      resolve(all.result.map(({ part }) => part.files.length + ' files, ' + part.overlay?.kind).join());
    };
  };
})`;

/** The form of the playground as a place to stay in: references, what is painted over them, and the way to the order. */
describe('reference images of the playground in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const dialog = () => page().getByRole('dialog');
  const open = async (): Promise<void> => {
    await page().goto('/console/playground');
    await page().waitForLoadState('networkidle');
  };
  /** Waits until a condition of the page, as an expression, is true. */
  const holds = async (expression: string): Promise<void> => {
    const isSo = () => page().evaluate<boolean>(expression);
    expect([expression, await waitUntil(isSo, { timeoutMs: 20_000 })]).toEqual([expression, true]);
  };
  const ORDER = `[...document.querySelectorAll('[data-reference] img')].map(({ title }) => title).join(' ')`;
  const areInOrder = (names: string) => holds(`${ORDER} === '${names}'`);
  const handle = (place: number) => button(`Drag reference image ${place}, or move it with the arrow keys`);

  beforeAll(async () => {
    platform = await startPlatform();
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
    await open();
    const buffer = await sharp({ create: { width: EDGE, height: EDGE, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    const files = ['a.png', 'b.png', 'c.png'].map((name) => ({ name, mimeType: 'image/png', buffer }));
    await page().locator('input[type=file]').setInputFiles(files);
    await areInOrder('a.png b.png c.png');
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(() => {
    expect(screen.troubles).toEqual([]);
  });

  it('are put in another order with the keyboard and by dragging', async () => {
    await handle(3).focus();
    await page().keyboard.press('ArrowLeft');
    await areInOrder('a.png c.png b.png');
    await page().getByText('Now reference image 2 of 3').waitFor();
    // The focus stays with the image.
    await holds(`document.activeElement.getAttribute('aria-label').startsWith('Drag reference image 2')`);
    await page().keyboard.press('ArrowLeft');
    await areInOrder('c.png a.png b.png');
    await page().keyboard.press('ArrowLeft');
    await areInOrder('c.png a.png b.png');
    const target = (await page().getByTitle('c.png').boundingBox())!;
    await handle(3).hover();
    await page().mouse.down();
    await page().mouse.move(target.x + target.width / 2, target.y + target.height / 2, { steps: 3 });
    await page().mouse.up();
    await areInOrder('b.png c.png a.png');
    expect(await screen.inspect('references')).toEqual([]);
  });

  it('have a mask that is painted closely: zoom, brush size, all but what is painted', async () => {
    await button('Paint over image').click();
    const canvas = page().locator(`canvas[width="${EDGE}"]`);
    await canvas.waitFor();
    const view = (await page().locator('.mask-view').boundingBox())!;
    const width = async () => Number(await dialog().getByRole('slider').getAttribute('aria-valuenow'));
    const before = await width();
    await page().keyboard.press(']');
    expect(await waitUntil(async () => (await width()) > before, { timeoutMs: 30_000 })).toBe(true);
    await page().keyboard.press('[');
    expect(await waitUntil(async () => (await width()) === before, { timeoutMs: 30_000 })).toBe(true);
    // The whole is half a window away from its left half, twice as large.
    for (let step = 0; step < 2; step++) await dialog().getByRole('button', { name: 'Zoom in' }).click();
    await dialog().getByText('2×', { exact: true }).waitFor();
    await dialog().locator('label').filter({ hasText: 'Move' }).click();
    const [left, top] = [view.x, view.y];
    await page().mouse.move(left + view.width / 2, top + view.height / 2);
    await page().mouse.down();
    await page().mouse.move(left + view.width * 1.5, top + view.height * 1.5, { steps: 4 });
    await page().mouse.up();
    await dialog().locator('label').filter({ hasText: 'Brush' }).click();
    // In the corner's quarter, the window's middle is a quarter of the image.
    await page().mouse.move(left + view.width / 2, top + view.height / 2);
    await page().locator('.brush-outline').waitFor();
    await page().mouse.down();
    await page().mouse.move(left + view.width / 2 + 4, top + view.height / 2 + 4);
    await page().mouse.up();
    expect(await screen.inspect('mask-zoomed')).toEqual([]);
    await dialog().getByRole('button', { name: 'Invert' }).click();
    await dialog().getByRole('button', { name: 'Use mask' }).click();
    await button('Edit mask').waitFor();
    await button('Show code').click();
    const [saved] = await Promise.all([
      page().waitForEvent('download'),
      page().getByText('save it as mask.png').click(),
    ]);
    const { data } = await sharp(await readFile(await saved.path()))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const alphaAt = (share: number) => data[(Math.round(share * EDGE) * EDGE + Math.round(share * EDGE)) * 4 + 3];
    // Opaque where it was painted, since everything else is to be changed.
    expect([0.25, 0.1, 0.5, 0.9].map(alphaAt)).toEqual([255, 0, 0, 0]);
  });

  it('are there after a reload, with their mask, and the order is an edit of all of them', async () => {
    await page().getByLabel('Prompt').fill('A kept boat');
    await holds(`${KEPT}.then((kept) => kept === '3 files, mask')`);
    await open();
    await areInOrder('b.png c.png a.png');
    await button('Edit mask').waitFor();
    await button(/^Edit image/).click();
    const ordered = async () =>
      (
        await platform.pool.query<{ action: string; inputs: number; mask: boolean }>(
          `SELECT action, jsonb_array_length(inputs) AS inputs, mask IS NOT NULL AS mask FROM tasks WHERE prompt = 'A kept boat'`,
        )
      ).rows[0];
    expect(await waitUntil(async () => (await ordered()) !== undefined, { timeoutMs: 20_000 })).toBe(true);
    expect(await ordered()).toEqual({ action: 'edit', inputs: 3, mask: true });
    await page().getByRole('img', { name: 'A kept boat', exact: true }).waitFor();
  });

  it('leave the order in reach on a phone, however long the form is', async () => {
    await page().setViewportSize({ width: 390, height: 844 });
    await page().evaluate('scrollTo(0, 0)');
    const order = page().locator('#order');
    const isInReach = async () => {
      const { y, height } = (await order.boundingBox())!;
      return y >= 0 && y + height <= 844;
    };
    expect(await waitUntil(isInReach, { timeoutMs: 30_000 })).toBe(true);
    await page().setViewportSize({ width: 1280, height: 860 });
  });

  it('are forgotten by a sign-out', async () => {
    expect(await page().evaluate(KEPT)).toBe('3 files, mask');
    await button('Sign out').click();
    await page().getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page().evaluate(KEPT)).toBe('');
  });
});
