import { gradientImage } from '#images/sample-images.fixture.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Chance } from '../support/chance.js';
import { FaultRoom } from '../support/fault-room.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { StalledCalls, Stalls } from '../support/stalled-calls.js';

const CALLS = Number(process.env['TEST_STALLED_CALLS'] ?? 60);
const AT_ONCE = 20;
const SEED = Number(process.env['TEST_FAULT_SEED'] ?? 44);
const PATIENCE_MS = 300_000;

/**
 * Clients of every kind that cut their calls and retry while intake stalls between any two of its steps: the provider's
 * ledger says how often each image was bought.
 */
describe(`${CALLS} calls that stall, seed ${SEED}`, () => {
  let provider: LedgerProvider;
  let room: FaultRoom;
  let calls: StalledCalls | undefined;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    room = await FaultRoom.open({
      apis: 2,
      workers: 1,
      settings: {
        OPENAI_API_KEY: 'sk-ledger-secret-key',
        SWEEP_INTERVAL_MS: '1000',
        SYNC_WAIT_MS: '20000',
        WORKER_CONCURRENCY: '20',
      },
      links: { provider: { setting: 'OPENAI_BASE_URL', url: provider.url } },
    });
  });
  afterAll(async () => {
    await calls?.close();
    await room.close();
    await provider.close();
  });

  it(
    'buys none twice, and each caller has its answer in the end',
    async () => {
      const image = new Blob([new Uint8Array(await gradientImage(128, 128, 'png'))], { type: 'image/png' });
      calls = new StalledCalls(room, provider, new Chance(SEED), image);
      const stalls = new Stalls(room, new Chance(SEED + 1));
      stalls.start();
      await calls.run(CALLS, AT_ONCE);
      await stalls.stop();
      const pending = async () => (await room.pool.query(`SELECT 1 FROM tasks WHERE status = 'pending'`)).rowCount ?? 0;
      expect(await waitUntil(async () => (await pending()) === 0, { timeoutMs: 60_000 })).toBe(true);
      expect(await calls.boughtTwice()).toEqual([]);
      expect(calls.calls.filter(({ answered }) => !answered)).toEqual([]);
    },
    PATIENCE_MS + CALLS * 2_000,
  );
});
