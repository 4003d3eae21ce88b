import { jest } from '@jest/globals';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { chromium, type Browser, type Locator, type Page, type Route } from 'playwright-core';
import { patient } from './patience.js';

const PATIENCE_MS = 60_000;
// Each step has its own shorter timeout, so that a hanging test ends there.
jest.setTimeout(600_000);

/** A host name that browsers treat like any server without TLS. */
export const FOREIGN_NAME = 'console.test';
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };
const FITS = 'document.documentElement.scrollWidth <= innerWidth + 1';
const FITS_MS = 30_000;
/** What sticks out of the screen, as HTML. */
const OVERFLOWING = `[...document.body.querySelectorAll('*')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.cloneNode().outerHTML.slice(0, 160))
  .slice(0, 40)
  .join('\\n')`;
/** Waits until the page is rendered, images are loaded, and only endless animations still run. */
const SETTLE = `Promise.all([
  new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  ...[...document.images]
    .filter(({ complete, loading }) => !complete && loading !== 'lazy')
    .map((image) => new Promise((resolve) => { image.onload = image.onerror = resolve; })),
  ...document.getAnimations()
    .filter(({ effect }) => effect.getTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => undefined)),
]).then(() => undefined)`;
/**
 * The console's messages, and what says "Copied", leave by themselves after these times. A slower machine, which looks at
 * the page less often, sees them as long as others do.
 */
const SHORT_LIVED_MS = [4_000, 1_500];
/** How long the console waits for the browser's storage, which is on a disk that others keep busy, too. */
const STORAGE_MS = 3_000;
const LASTING = `{
  const { setTimeout: start } = window;
  window.setTimeout = (run, ms, ...rest) =>
    start(run, ${JSON.stringify(SHORT_LIVED_MS)}.includes(ms) ? ms * ${patient(1)} : ms, ...rest);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => timeout(ms === ${STORAGE_MS} ? ms * ${patient(1)} : ms);
}`;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A page in a real browser, with everything that went wrong in it. */
export interface Screen {
  readonly page: Page;
  /** Dialogs, script errors and Content-Security-Policy violations; a good page has none. */
  readonly troubles: string[];
  /**
   * Checks the page with axe, wide in both color schemes and on a phone in the light one, and returns the findings. Saves
   * a screenshot of each, and of the dark phone, if TEST_SCREENSHOTS names a folder.
   */
  inspect(name: string): Promise<string[]>;
  close(): Promise<void>;
}

/** Gives a page the session of a user who signed in elsewhere; `cookie` is `name=value`. */
export async function giveSession({ page }: Screen, cookie = ''): Promise<void> {
  const [name = '', value = ''] = cookie.split('=');
  await page.context().addCookies([{ name, value, domain: '127.0.0.1', path: '/console', httpOnly: true }]);
}

/** A page in the console's menu. Other links to the page, such as the overview's, appear when their data arrives. */
export function menuLink(page: Page, name: string): Locator {
  return page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name });
}

/** Opens a page of the console's menu. Until its heading is there, what a test clicks may be on the page before. */
export async function openPage(page: Page, name: string): Promise<void> {
  await menuLink(page, name).click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

/** Holds the requests that a page of the console sends, as its menu does now and then, until the returned function lets them go. */
export async function holdRequests(page: Page): Promise<() => Promise<void>> {
  const held: Route[] = [];
  const isOfConsole = /\/console\/api\//;
  await page.route(isOfConsole, (route) => void held.push(route));
  return async () => {
    await page.unroute(isOfConsole);
    // The page may have given some of them up.
    await Promise.all(held.map((route) => route.continue().catch(() => undefined)));
  };
}

/**
 * Expects what is read from a page once the page is up to date. What is read only once may be of the page before, or of one
 * whose data has not arrived.
 */
export async function becomes<Value>(read: () => Promise<Value>, expected: Value): Promise<void> {
  let last: Value | undefined;
  const isSo = async (): Promise<boolean> => JSON.stringify((last = await read())) === JSON.stringify(expected);
  await waitUntil(isSo, { timeoutMs: PATIENCE_MS });
  expect(last).toEqual(expected);
}

/** One browser per file; its screens share no cookies, storage or cache. */
let browser: Promise<Browser> | undefined;

afterAll(async () => {
  await (await browser)?.close();
});

/** Opens Debian's Chromium, as found by scripts/run/test.mjs. */
export async function openScreen(url: string): Promise<Screen> {
  const folder = process.env['TEST_SCREENSHOTS'];
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  browser ??= chromium.launch({
    executablePath: process.env['TEST_CHROMIUM'] ?? '/usr/bin/chromium',
    // Root can't use the sandbox, and only our own pages are opened. A host name other than this machine's has no
    // secure context without TLS.
    args: ['--no-sandbox', `--host-resolver-rules=MAP ${FOREIGN_NAME} 127.0.0.1`],
  });
  const context = await (
    await browser
  ).newContext({
    baseURL: url,
    viewport: WIDE,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    // Far from UTC, in which usage counts days.
    timezoneId: 'America/Los_Angeles',
  });
  context.setDefaultTimeout(patient(PATIENCE_MS));
  const page = await context.newPage();
  await slowDown(page);
  await page.addInitScript(LASTING);
  const troubles: string[] = [];
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) troubles.push(message.text());
  });
  return {
    page,
    troubles,
    inspect: async (name) => {
      const found: string[] = [];
      const isLoaded = async () => (await page.locator('[aria-busy="true"]').count()) === 0;
      if (!(await waitUntil(isLoaded, { timeoutMs: PATIENCE_MS }))) found.push(`${name}: still loading`);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // What differs on a dark phone has been seen on a light one, or wide; each run of axe takes a second.
        const isSeen = colorScheme === 'dark' && folder === undefined;
        for (const [width, size] of Object.entries({ wide: WIDE, ...(!isSeen && { phone: PHONE }) })) {
          await page.setViewportSize(size);
          await page.evaluate(SETTLE);
          if (folder !== undefined) {
            await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
          }
          // The page reacts to its new width asynchronously.
          const fits = await waitUntil(() => page.evaluate<boolean>(FITS), { timeoutMs: FITS_MS });
          if (!fits)
            found.push(`${name}, ${width}: wider than the screen: ${await page.evaluate<string>(OVERFLOWING)}`);
          const seen = await violations(page, colorScheme);
          found.push(...seen.map((violation) => `${name}, ${width}, ${colorScheme}: ${violation}`));
        }
        await page.setViewportSize(WIDE);
      }
      return found;
    },
    close: () => context.close(),
  };
}

/** Simulates a machine that is TEST_SLOW_BROWSER times slower, to find tests that read a page too early. */
async function slowDown(page: Page): Promise<void> {
  const rate = Number(process.env['TEST_SLOW_BROWSER'] ?? 1);
  if (rate === 1) return;
  const debug = await page.context().newCDPSession(page);
  await debug.send('Emulation.setCPUThrottlingRate', { rate });
  const unlimited = { offline: false, downloadThroughput: -1, uploadThroughput: -1 };
  await debug.send('Network.emulateNetworkConditions', { ...unlimited, latency: 100 * rate });
}

/** Violations found by axe; run by the debugger, so that the page's policy stays strict. */
async function violations(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe);
  // Only color rules can differ in dark mode. Preloading is for a disabled rule.
  const rules = colorScheme === 'dark' ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {};
  const options = JSON.stringify({ ...rules, resultTypes: ['violations'], preload: false });
  return await page.evaluate<string[]>(`axe.run(${options}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`);
}
