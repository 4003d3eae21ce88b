import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { inFolder, runScript, type Outcome } from './clients.js';
import { makeSampleFiles } from './sample-files.js';

const FOLDER = resolve('test', 'clients', 'node', 'generated');
const GENERATE_TIMEOUT_MS = patient(200_000);
/** The steps, and how many images each sends besides a mask. */
const STEPS = { generation: 0, edit: 1, link: 1, files: 2, poll: 0 };
const NAMES = Object.keys(STEPS);
/** A polled task has a link only. */
const IMAGE = { link: expect.stringMatching(/^png /) as string, base64: expect.stringMatching(/^png /) as string };

/**
 * Clients that are generated from openapi.json and type-checked with the calls made through them: what they can't express
 * doesn't compile.
 */
describe('generated clients', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let files: Awaited<ReturnType<typeof makeSampleFiles>>;

  beforeAll(async () => {
    const generated = promisify(execFile)(process.execPath, [resolve(FOLDER, 'generate.mjs')], {
      timeout: GENERATE_TIMEOUT_MS,
    });
    provider = await LedgerProvider.start();
    const started = startPlatform({ OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url });
    // Both are waited for: what started must be stopped, even when nothing was generated.
    await Promise.allSettled([generated, started]);
    platform = await started;
    files = await makeSampleFiles();
    await generated;
  }, 240_000);
  afterAll(async () => {
    await platform.close();
    await provider.close();
    await files.remove();
  });

  it.each(['openapi-fetch', 'hey-api', 'orval'])(
    'of %s generate, edit links and files, and poll, with one task and one start each',
    async (variant) => {
      const markers = Object.fromEntries(NAMES.map((step) => [step, newMarker()]));
      const prompts = Object.fromEntries(NAMES.map((step) => [step, `a house, ${step} ${markers[step]}`]));
      const { images, mask } = files;
      const job = { url: `${platform.url}/v1`, key: platform.key, prompts, images, mask };
      const { steps } = (await runScript(variant, inFolder('generated', variant), job)) as {
        steps: Record<string, Outcome>;
      };
      expect(steps).toEqual({ generation: IMAGE, edit: IMAGE, link: IMAGE, files: IMAGE, poll: { link: IMAGE.link } });
      for (const [step, sent] of Object.entries(STEPS)) {
        const marker = markers[step] ?? '';
        const { rows } = await platform.pool.query(
          `SELECT status, jsonb_array_length(inputs) AS sent, mask IS NOT NULL AS masked FROM tasks WHERE prompt LIKE '%' || $1 || '%'`,
          [marker],
        );
        expect([step, rows]).toEqual([step, [{ status: 'completed', sent, masked: step === 'files' }]]);
        expect([step, provider.startsOf(marker).length]).toEqual([step, 1]);
      }
    },
  );
});
