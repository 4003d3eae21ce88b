import { waitUntil } from '#embedded/wait-until.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { installedClients, runClient, STEPS, type Client, type Job, type Report, type Step } from './clients.js';
import { LosingProxy, type Loss } from './losing-proxy.js';
import { makeSampleFiles } from './sample-files.js';

/** Processes of clients at a time; they wait most of their time. */
const SIDE_BY_SIDE = 3;
const WINDOW_MS = 15_000;
/** Longer than a window, shorter than the three that the SDKs' two retries make. */
const PATIENCE_MS = 22_000;
const LOSSES = [
  ['cut', 'cut'],
  ['badGateway', '502'],
] as const;

const clients = installedClients();

/** Without a size, a generation is 1:1 at 2k and an edit as large as the provider's; LangChain always asks for pixels. */
function sizeOf(client: Client, step: Step): string {
  return step === 'generation' && !client.name.includes('langchain') ? 'png 2048x2048' : 'png 1024x1024';
}

/** Packages as they are published, against real processes: nothing about them is changed but address and key. */
describe('published clients', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let proxy: LosingProxy;
  let files: Awaited<ReturnType<typeof makeSampleFiles>>;
  const losses = new Map<string, Loss>();
  /** By the marker of a request that loses its first answer, what lets its image be made. */
  const knownAsLost = new Map<string, () => void>();
  const markers = new Map<Client, Record<Step, string>>();
  const reports = new Map<Client, Report | Error>();

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({
      SYNC_WAIT_MS: String(WINDOW_MS),
      WORKER_CONCURRENCY: '40',
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
    });
    proxy = await LosingProxy.start({
      target: platform.url,
      losses,
      begun: (marker) => waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 30_000 }),
      left: async (marker) => {
        await waitUntil(() => isAbandoned(marker), { timeoutMs: 30_000 });
        knownAsLost.get(marker)?.();
      },
    });
    files = await makeSampleFiles();
    const left = [...clients];
    const work = async (): Promise<void> => {
      for (let client = left.shift(); client !== undefined; client = left.shift())
        reports.set(client, await runClient(client, jobOf(client)).catch((error: unknown) => error as Error));
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  }, 300_000);
  afterAll(async () => {
    await proxy.close();
    await platform.close();
    await provider.close();
    await files.remove();
  });

  function jobOf(client: Client): Job {
    const own = Object.fromEntries(STEPS.map((step) => [step, newMarker()])) as Record<Step, string>;
    markers.set(client, own);
    for (const step of ['patience', 'editPatience'] as const) provider.plan(own[step], { latencyMs: PATIENCE_MS });
    for (const [step, loss] of LOSSES) {
      losses.set(own[step], loss);
      provider.plan(own[step], { until: new Promise<void>((resolve) => knownAsLost.set(own[step], resolve)) });
    }
    return {
      url: `${proxy.url}/v1`,
      key: platform.key,
      prompts: Object.fromEntries(STEPS.map((step) => [step, `a house, ${step} ${own[step]}`])) as Record<Step, string>,
      images: files.images,
      mask: files.mask,
    };
  }

  function reportOf(client: Client): Report {
    const report = reports.get(client);
    if (report === undefined || report instanceof Error) throw report ?? new Error(`${client.name} did not run`);
    return report;
  }

  async function isAbandoned(marker: string): Promise<boolean> {
    const { rowCount } = await platform.pool.query(
      `SELECT 1 FROM tasks WHERE prompt LIKE '%' || $1 || '%' AND abandoned_at IS NOT NULL`,
      [marker],
    );
    return rowCount === 1;
  }

  const tasksOf = async (marker: string): Promise<{ status: string }[]> =>
    (
      await platform.pool.query<{ status: string }>(
        `SELECT status FROM tasks WHERE prompt LIKE '%' || $1 || '%' ORDER BY created_at`,
        [marker],
      )
    ).rows;

  describe.each(clients.map((client) => [client.name, client] as const))('%s', (_, client) => {
    it('gets an image for everything that it can ask for, though answers are lost, with one task and one start each', async () => {
      const { steps } = reportOf(client);
      const streams: readonly Step[] = ['stream', 'editStream'];
      for (const step of client.steps) {
        const outcome = steps[step];
        for (const read of streams.includes(step) ? (['base64'] as const) : client.reads)
          expect([step, outcome]).toEqual([step, expect.objectContaining({ [read]: sizeOf(client, step) })]);
        expect([step, await tasksOf(markers.get(client)![step])]).toEqual([step, [{ status: 'completed' }]]);
        expect([step, provider.startsOf(markers.get(client)![step]).length]).toEqual([step, 1]);
      }
      expect(
        Object.keys(steps)
          .filter((step) => STEPS.some((known) => known === step))
          .sort(),
      ).toEqual([...client.steps].sort());
      for (const [step, type] of [
        ['stream', 'image_generation.completed'],
        ['editStream', 'image_edit.completed'],
      ] as const)
        if (client.steps.includes(step)) expect(steps[step]?.types?.at(-1)).toBe(type);
    });

    it('gets its image though the window is shorter than the work, and it is bought once', () => {
      const { steps } = reportOf(client);
      for (const step of ['patience', 'editPatience'] as const)
        if (client.steps.includes(step))
          expect([step, steps[step]?.error, (steps[step]?.tries ?? 0) > 1]).toEqual([step, undefined, client.givesUp]);
    });

    it('tells a wrong request from a wrong key, and lists the model where it lists models', () => {
      const { steps } = reportOf(client);
      expect([steps.refused, steps.stranger]).toMatchObject(client.errors);
      if (client.listsModels) expect(steps.models).toContain('gpt-image-2');
      else expect(steps.models).toBeUndefined();
    });
  });
});
