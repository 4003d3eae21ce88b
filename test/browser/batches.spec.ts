import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { lineOf, type ResultLine } from '../support/batches.js';
import { giveSession, openPage, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, signInInvited } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

const MODELS = `providers:
  sandbox: { type: sandbox }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: sandbox }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;
const BODY = { model: 'gpt-image-2', resolution: '1k', prompt: 'a pear', response_format: 'b64_json' };

describe('batches in a browser', () => {
  let folder: string;
  let platform: Platform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;

  async function start(name: string, lines: readonly object[]): Promise<void> {
    const file = join(folder, name);
    await writeFile(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
    await page().getByRole('button', { name: 'Start batch' }).click();
    const dialog = page().getByRole('dialog', { name: 'Start batch' });
    await dialog.locator('input[type=file]').setInputFiles(file);
    await dialog.getByRole('button', { name: 'Start batch' }).click();
    await page().getByRole('heading', { level: 1, name }).waitFor();
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-batches-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
    await page().goto('/console/');
    await openPage(page(), 'Batches');
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('are started from a file, shown with what failed, and downloaded', async () => {
    await page().getByText('No batches yet').waitFor();
    expect(await screen.inspect('batches-empty')).toEqual([]);
    await start('pears.jsonl', [
      lineOf('first', BODY),
      lineOf('refused', { ...BODY, size: 'huge' }),
      lineOf('last', BODY),
    ]);
    await page().getByText('Completed').waitFor();
    await page().getByText('3 of 3 · 1 failed').waitFor();
    await page().getByText('$0.04').waitFor();
    const failed = page().getByRole('region', { name: 'Failed requests' });
    await failed.getByText('refused').waitFor();
    await failed.getByText('invalid_value').waitFor();
    expect(await screen.inspect('batch')).toEqual([]);
    const [download] = await Promise.all([
      page().waitForEvent('download'),
      page().getByRole('link', { name: 'Results' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^batch_\w+_output\.jsonl$/);
    const lines = (await text(await download.createReadStream())).trimEnd().split('\n');
    const results = lines.map((line) => JSON.parse(line) as ResultLine);
    expect(results.map(({ custom_id: id }) => id)).toEqual(['first', 'last']);
    for (const { response } of results) {
      const [image] = response?.body['data'] as { b64_json: string }[];
      expect(
        Buffer.from(image?.b64_json ?? '', 'base64')
          .subarray(1, 4)
          .toString(),
      ).toBe('PNG');
    }
    await openPage(page(), 'Batches');
    await page().getByRole('row').filter({ hasText: 'pears.jsonl' }).getByText('Completed').waitFor();
    expect(await screen.inspect('batches')).toEqual([]);
  });

  it('say which lines of a file are no requests', async () => {
    await openPage(page(), 'Batches');
    await start('broken.jsonl', [lineOf('twice', BODY), lineOf('twice', BODY)]);
    await page().getByText('File refused').waitFor();
    await page().getByText('Line 2').waitFor();
    await page().getByText('duplicate_custom_id').waitFor();
    expect(await screen.inspect('batch-refused')).toEqual([]);
  });

  it('are canceled after a question', async () => {
    await platform.worker.stop();
    await openPage(page(), 'Batches');
    await start('waiting.jsonl', [lineOf('waits', BODY)]);
    await page().getByText('Running').waitFor();
    await page().getByRole('button', { name: 'Cancel batch' }).click();
    const dialog = page().getByRole('dialog', { name: 'Cancel this batch?' });
    await dialog.getByRole('button', { name: 'Cancel batch' }).click();
    await page().getByText('Canceled', { exact: true }).waitFor();
    await page().getByText('batch_cancelled').waitFor();
  });

  it('are only read by viewers', async () => {
    const viewer = await signInInvited(platform, { email: 'viewer@example.org', role: 'viewer' });
    const other = await openScreen(platform.url);
    try {
      await giveSession(other, viewer.cookie);
      await other.page.goto('/console/batches');
      await other.page.getByRole('row').filter({ hasText: 'pears.jsonl' }).waitFor();
      expect(await other.page.getByRole('button', { name: 'Start batch' }).count()).toBe(0);
    } finally {
      await other.close();
    }
  });
});
