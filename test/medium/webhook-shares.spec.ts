import type { AppError } from '#contract/app-error.js';
import { DeliveryLog } from '#notifications/deliveries/delivery-log.js';
import type { ClaimedDelivery } from '#notifications/deliveries/delivery-transitions.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { nextStep, type AttemptResult } from '#notifications/deliveries/next-step.js';
import { allTasksOf } from '#tasks/row/task.js';
import { command, DELIVERIES_AT_ONCE, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const OTHER = 'acct_other';
const LEASE_MS = 60_000;
const URL = 'https://hooks.example/';

// Real: Postgres and Redis. Nobody sends anything here: what is claimed is being sent.
describe('the places of an account for its webhooks', () => {
  let room: TaskRoom;
  let endpoints: EndpointStore;
  let log: DeliveryLog;
  let newDeliveries: NewDeliveries;

  beforeEach(async () => {
    room = await openTaskRoom();
    endpoints = new EndpointStore(room.database, { ...new WebhooksConfig(), endpointsPerAccount: 20 });
    log = new DeliveryLog(room.database, endpoints);
    newDeliveries = new NewDeliveries(room.database, endpoints);
    await room.sql(`INSERT INTO accounts (id, name) VALUES ($1, 'Other')`, [OTHER]);
  });
  afterEach(() => room.close());

  /** Ids of so many deliveries to an endpoint, the first to be sent first. */
  async function waiting(account: string, endpoint: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await newDeliveries.addTest(account, endpoint))?.deliveryId ?? 'none');
    // Those of one millisecond would stand in any order.
    await room.sql(
      `UPDATE webhook_deliveries SET next_try_at = now() - interval '1 hour' + place * interval '1 millisecond'
       FROM unnest($1::text[]) WITH ORDINALITY AS line (name, place) WHERE id = name`,
      [ids],
    );
    return ids;
  }

  async function claimAll(ids: readonly string[]): Promise<ClaimedDelivery[]> {
    const claims = await Promise.all(ids.map((id) => room.deliveryTransitions.claim(id, LEASE_MS)));
    return claims.filter((claim) => claim !== undefined);
  }

  async function end(claimed: ClaimedDelivery | undefined, result: AttemptResult): Promise<void> {
    if (claimed === undefined) throw new Error('nothing was claimed');
    await room.deliveryTransitions.finish(claimed, result, nextStep(result, claimed.tries, [3_600]), 1);
  }

  const heads = async (): Promise<string[]> => (await room.deliveryLine.heads()).map(({ deliveryId }) => deliveryId);

  it('M3: bind its endpoints and callback_urls together, whoever claims at the same moment', async () => {
    const ids = await waiting(TEST_ACCOUNT, await endpoints.add(TEST_ACCOUNT, URL), 10);
    for (let n = 0; n < 5; n++) {
      const { id } = await room.inserts.insert(command({ asynchronous: true, callbackUrl: URL }), 900_000);
      await room.store.cancel(allTasksOf(TEST_ACCOUNT), id);
      for (const delivery of await log.list(TEST_ACCOUNT, { taskId: id, limit: 10 })) ids.push(delivery.id);
    }
    expect(ids.length).toBeGreaterThan(15);
    const sent = await claimAll(ids);
    expect(sent).toHaveLength(DELIVERIES_AT_ONCE);
    expect(await claimAll(ids)).toEqual([]);
    const others = await waiting(OTHER, await endpoints.add(OTHER, URL), 2);
    expect(await claimAll(others)).toHaveLength(2);

    // One that was answered makes room for one, one whose worker died makes room when its lease is over.
    await end(sent[0], { status: 200 });
    expect(await claimAll(ids)).toHaveLength(1);
    await room.sql(`UPDATE webhook_deliveries SET lease_until = now() - interval '1 second' WHERE id = $1`, [
      sent[1]?.id,
    ]);
    expect(await claimAll(ids)).toHaveLength(1);
  });

  it('M3: are all that the queue holds of it, so that 150 deliveries of one are not before the first of another', async () => {
    const first = await endpoints.add(TEST_ACCOUNT, URL);
    const second = await endpoints.add(TEST_ACCOUNT, URL);
    const many = await waiting(TEST_ACCOUNT, first, 150);
    const [few = ''] = await waiting(TEST_ACCOUNT, second, 1);
    const others = await waiting(OTHER, await endpoints.add(OTHER, URL), 2);
    const found = await heads();
    expect(found).toHaveLength(DELIVERIES_AT_ONCE + others.length);
    // Receivers of an account take turns, and accounts do.
    expect(found.slice(0, 4)).toEqual(expect.arrayContaining([many[0], few, ...others]));
    expect(found.slice(4)).toEqual(many.slice(1, DELIVERIES_AT_ONCE - 1));

    expect(await room.deliveries.enqueueForgotten()).toBe(found.length);
    expect(await room.deliveries.enqueueForgotten()).toBe(0);
    const jobs = await room.redis.keys(`${room.prefix}:webhooks:whd_*`);
    expect(jobs.map((key) => key.replace(/^.*:(whd_\w+)-0$/, '$1')).sort()).toEqual([...found].sort());

    const sent = await claimAll(found);
    expect(sent).toHaveLength(found.length);
    expect(await heads()).toEqual([]);
    await end(
      sent.find(({ id }) => id === many[0]),
      { status: 500 },
    );
    expect(await heads()).toEqual([many[DELIVERIES_AT_ONCE - 1]]);
    expect((await room.deliveryLine.headsOfAccount(TEST_ACCOUNT)).length).toBe(1);
    expect(await room.deliveryLine.headsOfAccount(OTHER)).toEqual([]);
  });

  it('M3: are one for an endpoint that let three deliveries in a row time out, until it answers', async () => {
    const slow = await endpoints.add(TEST_ACCOUNT, URL);
    const well = await endpoints.add(TEST_ACCOUNT, URL);
    const ids = await waiting(TEST_ACCOUNT, slow, 12);
    const timedOut = async (): Promise<void> => {
      for (const claimed of await claimAll(ids)) await end(claimed, { error: 'timeout' });
    };
    await end((await claimAll(ids.slice(0, 1)))[0], { error: 'unreachable' });
    await timedOut();
    const [only, ...more] = await claimAll(ids);
    expect(more).toEqual([]);
    expect(await heads()).toEqual([]);
    const fine = await waiting(TEST_ACCOUNT, well, 5);
    expect(await heads()).toEqual(fine.slice(0, DELIVERIES_AT_ONCE - 1));

    await end(only, { status: 500 });
    expect(await heads()).toHaveLength(DELIVERIES_AT_ONCE);
    expect((await claimAll(ids)).length).toBeGreaterThan(1);
    await timedOut();
    await room.sql(`UPDATE webhook_endpoints SET timeouts = 3 WHERE id = $1`, [slow]);
    await endpoints.enable(TEST_ACCOUNT, slow);
    const { rows } = await room.sql(`SELECT timeouts FROM webhook_endpoints WHERE id = $1`, [slow]);
    expect(rows).toEqual([{ timeouts: 0 }]);
  });

  it('M3: an account gets no more endpoints than it may have, however many are added at once', async () => {
    const added = await Promise.allSettled(Array.from({ length: 30 }, () => endpoints.add(TEST_ACCOUNT, URL)));
    const refused = added.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(10);
    expect(refused[0]?.reason).toMatchObject({
      code: 'account_limit_reached',
      status: 409,
    } satisfies Partial<AppError>);
    const [oldest] = await endpoints.list(TEST_ACCOUNT);
    expect(await endpoints.list(TEST_ACCOUNT)).toHaveLength(20);
    await endpoints.add(OTHER, URL);
    await endpoints.remove(TEST_ACCOUNT, oldest?.id ?? '');
    await endpoints.add(TEST_ACCOUNT, URL);
    await expect(endpoints.add(TEST_ACCOUNT, URL)).rejects.toThrow('20 webhook endpoints');
    await new EndpointStore(room.database, { ...new WebhooksConfig(), endpointsPerAccount: 0 }).add(TEST_ACCOUNT, URL);
  });
});
