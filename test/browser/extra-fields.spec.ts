import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { LOADED, startVllmOmni, type GpuServer } from '../support/gpu-servers.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { waitUntil } from '#embedded/wait-until.js';

describe('fields of a model in the playground in a browser', () => {
  let gpu: GpuServer;
  let platform: Platform;
  let screen: Screen;
  let folder: string;
  const page = (): Screen['page'] => screen.page;

  beforeAll(async () => {
    gpu = await startVllmOmni();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-extra-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  gpu: { type: openai, base_url: "${gpu.url}", free: true, options: { extra: { seed: seed, negative_prompt: negative_prompt } } }
  drawn: { type: sandbox }
models:
  flux:
    kind: image
    extra:
      seed: { type: integer, min: 0, max: 99 }
      negative_prompt: { type: string, max_length: 100 }
      sampler: { type: string, enum: [euler, ddim] }
    routes: [{ provider: gpu, model: ${LOADED} }]
  plain: { kind: image, routes: [{ provider: drawn }] }
`,
    );
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
    await page().goto('/console/playground');
    await page().waitForLoadState('networkidle');
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await gpu.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('are offered and sent, and a model without them has none', async () => {
    const field = (name: string) => page().getByLabel(name, { exact: true });
    const choose = async (label: string, option: string): Promise<void> => {
      await page().getByRole('combobox', { name: label }).click();
      await page().getByRole('option', { name: option, exact: true }).click();
    };
    await page().getByLabel('Prompt').first().fill('a pear');
    await field('Seed').fill('7');
    await field('Negative prompt').fill('blur');
    await choose('Sampler', 'ddim');
    await page().getByRole('button', { name: 'Show code' }).click();
    expect(await page().locator('#as-code').textContent()).toContain('"seed": 7');
    await page()
      .getByRole('button', { name: /^Generate/ })
      .click();
    expect(await waitUntil(() => gpu.drawn.length === 1, { timeoutMs: 30_000 })).toBe(true);
    expect(gpu.drawn[0]).toMatchObject({ prompt: 'a pear', seed: 7, negative: 'blur' });
    await choose('Model', 'plain');
    expect(await field('Seed').count()).toBe(0);
    await choose('Model', 'flux');
    expect(await field('Seed').inputValue()).toBe('');
    expect(screen.troubles).toEqual([]);
  });
});
