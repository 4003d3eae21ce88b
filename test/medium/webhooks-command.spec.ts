import { TextSealer } from '#secrets/sealed-text.js';
import { DeliveryLog } from '#notifications/deliveries/delivery-log.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore } from '#notifications/secret-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { allTasksOf } from '#tasks/row/task.js';
import { webhooks } from '../../apps/standalone/src/commands/webhooks.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const SECRET_KEY = 'k'.repeat(40);

describe('npm run webhooks', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  async function run(...args: string[]): Promise<string> {
    const lines: string[] = [];
    await webhooks(args, { DATABASE_URL: room.databaseUrl, SECRET_KEY }, (line) => lines.push(line));
    return lines.join('\n');
  }

  it('keeps endpoints: adds, lists, switches off and on, removes', async () => {
    const [id = ''] = (await run('add', 'https://hooks.example/a', '--events', 'completed,failed')).split(' ');
    expect(id).toMatch(/^whe_/);
    expect(await run('list')).toMatch(new RegExp(`${id} +completed,failed +active +https://hooks.example/a`));
    await run('disable', id);
    expect(await run('list')).toMatch(/disabled \d{4}-/);
    await run('enable', id);
    expect(await run('list')).toMatch(/ active /);
    await run('remove', id);
    expect(await run('list')).not.toContain(id);
    await expect(run('enable', id)).rejects.toThrow(`There is no endpoint ${id}`);
    const { rows } = await room.sql(`SELECT person_id, action, target, details FROM audit_log ORDER BY id`);
    const url = 'https://hooks.example/a';
    const noted = (verb: string, more = {}) => ({
      person_id: null,
      action: `webhook_endpoint.${verb}`,
      target: id,
      details: { url, via: 'command', ...more },
    });
    const events = ['image.task.completed', 'image.task.failed'];
    expect(rows).toEqual([noted('added', { events }), noted('disabled'), noted('enabled'), noted('removed')]);
  });

  it('M3: adds no more endpoints than an account may have', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_full', 'Full')`);
    const add = (): Promise<void> =>
      webhooks(
        ['add', 'https://hooks.example/c', '--account', 'acct_full'],
        { DATABASE_URL: room.databaseUrl, WEBHOOK_ENDPOINTS_PER_ACCOUNT: '1' },
        () => undefined,
      );
    await add();
    await expect(add()).rejects.toThrow('has reached its limit of 1 webhook endpoints');
  });

  it.each([
    [['add', 'http://hooks.example/a'], /https/],
    [['add', 'https://127.0.0.1/a'], /public/],
    [['add', `https://hooks.example/${'a'.repeat(2_048)}`], /too long/],
    [
      ['add', 'https://hooks.example/', '--events', 'begun'],
      /It must be one or more of completed, failed, cancelled, held, separated by commas/,
    ],
    [['rotate', '--overlap-hours', '-1'], /It must be 0 to 720 hours/],
    [['list', '--account', 'acct_nobody'], /no account with the id acct_nobody/],
    [['list', 'more'], /too many arguments/],
    [['deliveries', '--limit', '0'], /whole number from 1 to 100/],
    [[], /rotate \[options\] +create a new signing secret/],
    [['resend', 'whd_none'], /delivery whd_none does not exist/],
  ])('refuses %j', async (args, problem) => {
    await expect(run(...args)).rejects.toThrow(problem);
  });

  it('shows the secret and rotates it, both being valid meanwhile', async () => {
    const first = await run('secret');
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await run('secret')).toBe(first);
    const [current, before] = (await run('rotate', '--overlap-hours', '1')).split('\n');
    expect(current).toMatch(/^whsec_/);
    expect(current).not.toBe(first);
    expect(before).toContain(`${first}  (previous secret, valid until `);
    const store = new WebhookSecretStore(room.database, new TextSealer({ secretKey: SECRET_KEY }, WEBHOOK_SECRETS));
    const valid = await store.valid(TEST_ACCOUNT);
    expect(valid.map(({ secret }) => secret)).toEqual([current, first]);
    expect((valid[1]?.expiresAt?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_000_000);
  });

  it('lists deliveries with what was tried, by task too, and sends one again', async () => {
    const callback = { asynchronous: true, callbackUrl: 'https://hooks.example/b' };
    const { id } = await room.inserts.insert(command(callback), 900_000);
    const { id: other } = await room.inserts.insert(command(callback), 900_000);
    for (const task of [id, other]) await room.store.cancel(allTasksOf(TEST_ACCOUNT), task);
    const log = new DeliveryLog(room.database, new EndpointStore(room.database, new WebhooksConfig()));
    const [delivery] = await log.list(TEST_ACCOUNT, { taskId: id, limit: 10 });
    const claimed = await room.deliveryTransitions.claim(delivery?.id ?? '', 25_000);
    if (claimed === undefined) throw new Error('not claimed');
    await expect(run('resend', claimed.id)).rejects.toThrow('an attempt is in progress');
    const step = { state: 'failed', delayMs: 0, gone: false, counts: true } as const;
    await room.deliveryTransitions.finish(claimed, { error: 'timeout' }, step, 15_000);

    const found = await run('deliveries', '--task', id);
    expect(found).toMatch(
      new RegExp(`${claimed.id} +${id} +cancelled +callback_url +failed +- +\\S+ timeout 15000 ms`),
    );
    expect(found).not.toContain(other);
    expect(found).not.toContain('hooks.example');
    expect(await run('deliveries')).toContain(other);
    await run('resend', claimed.id);
    expect(await room.deliveryLine.heads()).toContainEqual({ deliveryId: claimed.id, epoch: 2 });
  });
});
