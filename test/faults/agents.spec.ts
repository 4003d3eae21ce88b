import type { Client } from '@modelcontextprotocol/client';
import { BudgetRepository } from '#billing/budget.repository.js';
import { waitUntil } from '#embedded/wait-until.js';
import { callersOf, newMarker } from '../support/fault-callers.js';
import { FaultRoom } from '../support/fault-room.js';
import { counted } from '../support/figures.js';
import { ManyJobsVendor } from '../support/many-jobs-vendor.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { openPrisma } from '../support/open-prisma.js';
import { patientSetting } from '../support/patience.js';
import { taskAgent } from '../support/task-agent.js';

const ORDERS = 50;
/** In millionths. */
const PRICE = 40_000;
const SIZE = { size: '1024x1024' };

/** Agents whose images are at the vendor, in the queue, or being ordered, while processes and Redis are killed. */
describe('the images of agents', () => {
  let vendor: ManyJobsVendor;
  let room: FaultRoom;
  let callers: ReturnType<typeof callersOf>;

  beforeEach(async () => {
    vendor = await ManyJobsVendor.start();
    room = await FaultRoom.open({
      settings: {
        VENDOR_KEY: 'sk-vendor-key',
        // Longer than a worker beside a busy suite may be kept from its renewal, which would end what it starts.
        LEASE_MS: patientSetting(2_000, 20_000),
        SWEEP_INTERVAL_MS: '500',
        WORKER_CONCURRENCY: '8',
        // A busy machine takes its time to answer; what a worker can't write about a start, it may not repeat.
        DATABASE_CONNECT_TIMEOUT_MS: '10000',
        DATABASE_QUERY_TIMEOUT_MS: '10000',
        REDIS_COMMAND_TIMEOUT_MS: '10000',
      },
      links: { provider: { setting: 'MODELS_FILE', url: vendor.url, file: catalog } },
    });
    callers = callersOf(room);
  });
  afterEach(async () => {
    await room.close();
    await vendor.close();
  });

  function catalog(url: string): string {
    const price = PRICE / 1e6;
    return `providers:
  jobs: { type: toapis, base_url: "${url}", keys: [{ env: VENDOR_KEY }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: jobs, model: gpt-image-2 }]
    prices: [{ from: 2026-01-01, per_image: { 1k: ${price}, 2k: ${price}, 4k: 1 } }]
`;
  }

  /** Redis loses what it has. */
  async function killEverything(): Promise<void> {
    await Promise.all([room.api.kill(), room.worker.kill(), room.killRedis()]);
    await room.restartRedis(true);
    await Promise.all([room.api.start(), room.worker.start()]);
  }

  /** A key with a budget, and what it has spent so far, in millionths. */
  async function payer(): Promise<{ key: string; id: string; spent: () => Promise<number> }> {
    const key = await room.newKey('payer');
    const { rows } = await room.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'payer'`);
    const [{ id } = { id: '' }] = rows;
    const inRoom = async <T>(run: (budgets: BudgetRepository) => Promise<T>): Promise<T> => {
      const database = openPrisma(room.postgres.url);
      return await run(new BudgetRepository(database)).finally(() => database.close());
    };
    await inRoom((budgets) => budgets.set({ ownerId: id, owner: 'key' }, { limit: 1e9, period: 'total' }));
    return { key, id, spent: () => inRoom(async (budgets) => (await budgets.find([id]))[0]?.spent ?? NaN) };
  }

  async function atVendor(count: number): Promise<void> {
    const named = async (): Promise<number> => await rowsWhere('provider_job_id IS NOT NULL');
    expect(await waitUntil(async () => (await named()) === count, { timeoutMs: 60_000, everyMs: 100 })).toBe(true);
  }

  async function rowsWhere(condition: string): Promise<number> {
    const { rows } = await room.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM tasks WHERE ${condition}`);
    return rows[0]?.n ?? NaN;
  }

  it(`come ${ORDERS} of ${ORDERS} through kills of the API, the worker and Redis, each bought once`, async () => {
    const { key, spent } = await payer();
    const agent = await taskAgent({ url: room.api.url, key });
    const markers = Array.from({ length: ORDERS }, newMarker);
    const order = (some: readonly string[]) => some.map((marker) => agent.order({ prompt: marker, ...SIZE }));
    const [third, half] = [Math.floor(ORDERS / 3), Math.floor(ORDERS / 2)];

    // At the vendor when their worker is killed.
    const first = await Promise.all(order(markers.slice(0, third)));
    await atVendor(third);
    await room.worker.kill();

    // Queued in a Redis that dies without a worker.
    const second = await Promise.all(order(markers.slice(third, half)));
    await room.killRedis();
    await room.restartRedis(true);
    await room.worker.start();
    await atVendor(half);

    // Ordered at an API that is killed in the middle of their calls.
    const ordering = Promise.all(order(markers.slice(half)));
    const some = async (): Promise<boolean> => (await rowsWhere('true')) > half;
    expect(await waitUntil(some, { timeoutMs: 30_000, everyMs: 5 })).toBe(true);
    await room.api.kill();
    await room.api.start();
    const orders = [...first, ...second, ...(await ordering)];
    await atVendor(ORDERS);

    await killEverything();
    const settling = Promise.all(orders.map(({ image }) => image()));
    vendor.finish();
    // Results are being stored when their worker is killed.
    const isFirst = async (): Promise<boolean> => (await rowsWhere(`status = 'completed'`)) > 0;
    expect(await waitUntil(isFirst, { timeoutMs: 60_000, everyMs: 20 })).toBe(true);
    await room.worker.kill();
    await room.worker.start();

    const images = await settling;
    expect(images.map(({ isError, facts }) => [isError, facts.status])).toEqual(
      markers.map(() => [false, 'completed']),
    );
    expect(images.map(({ facts }) => facts.id)).toEqual(orders.map(({ id }) => id));
    expect((await fetch(images.at(-1)?.links[0] ?? '')).status).toBe(200);
    expect(markers.filter((marker) => vendor.startsOf(marker) !== 1)).toEqual([]);
    expect([vendor.starts, await rowsWhere('true'), await rowsWhere('provider_starts = 1')]).toEqual([
      ...[ORDERS, ORDERS, ORDERS],
    ]);
    expect(await spent()).toBe(ORDERS * PRICE);
    counted('Agents', `images of ${ORDERS} orders after kills of the API, the worker and Redis`, `${images.length}`);
    await agent.close();
  });

  it('are bought once through an approval, a kill of every process and an equal call', async () => {
    const { key, id: keyId, spent } = await payer();
    await room.pool.query('UPDATE api_keys SET approve_above_micros = $2 WHERE id = $1', [keyId, PRICE - 1]);
    const approver = await room.newKey('approver');
    await room.pool.query(`UPDATE api_keys SET scopes = '{approve}' WHERE name = 'approver'`);
    const marker = newMarker();
    const call = { prompt: marker, ...SIZE };
    const agents: Client[] = [];
    const agent = async (): Promise<Client> => {
      const client = await mcpClient({ url: room.api.url, key });
      agents.push(client);
      return client;
    };

    const held = await callTool(await agent(), 'generate_image', call);
    const id = held.facts.id ?? '';
    expect(held.isError).toBe(false);
    expect(held.facts).toMatchObject({ status: 'pending', phase: 'held', price: { state: 'reserved' } });
    expect(held.text).toContain('has to approve it');
    const decision = await callers.ask(`/v1/tasks/${id}/approve`, { key: approver, method: 'POST' });
    expect(decision.status).toBe(200);
    await atVendor(1);
    await killEverything();

    vendor.finish();
    const again = await callTool(await agent(), 'generate_image', call);
    expect(again.isError).toBe(false);
    expect(again.facts).toMatchObject({ id, attached: true, price: { amount: '0.040000', state: 'settled' } });
    expect(again.facts.status).toBe('completed');
    expect((await fetch(again.links[0] ?? '')).status).toBe(200);
    expect([vendor.starts, await rowsWhere('true'), await spent()]).toEqual([1, 1, PRICE]);
    await Promise.all(agents.map((client) => client.close()));
  });
});
