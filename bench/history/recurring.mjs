// Every recurring statement of the API, the worker and the console, by the classes that run it.
import { createHash, randomBytes } from 'node:crypto';
import { FindKey } from '#accounts/find-key.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { ChatUsageRepository } from '#billing/chat-usage.repository.js';
import { LabeledUsage } from '#billing/labeled-usage.js';
import { UsageRepository } from '#billing/usage.repository.js';
import { Metrics } from '#telemetry/metrics.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import { TaskListStore } from '#tasks/reading/task-list-store.js';
import { DepartedCallers } from '#tasks/intake/departed-callers.js';
import { EqualRequests } from '#tasks/intake/equal-requests.js';
import { InsertTasks } from '#tasks/intake/insert-tasks.js';
import { KeyedRequests } from '#tasks/intake/keyed-requests.js';
import { LostCallers } from '#tasks/intake/lost-callers.js';
import { SearchTasks } from '#tasks/reading/search-tasks.js';
import { SweepTasks } from '#tasks/states/sweep-tasks.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { newRequestId, newTaskId } from '#tasks/row/task-id.js';
import { TaskIntake } from '#tasks/intake/task-intake.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { TaskSlots } from '#tasks/admission/task-slots.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { ToldCosts } from '#tasks/states/told-costs.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { DeliveryLine } from '#notifications/deliveries/delivery-line.js';
import { DeliveryLog } from '#notifications/deliveries/delivery-log.js';
import { DeliveryRecords } from '#notifications/deliveries/delivery-records.js';
import { DeliveryTransitions } from '#notifications/deliveries/delivery-transitions.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { recurringApprovals } from './recurring-approvals.mjs';
import { recurringEndUsers } from './recurring-end-users.mjs';
import { recurringErasures } from './recurring-erasures.mjs';
import { recurringLogs } from './recurring-logs.mjs';
import { recurringOpen } from './recurring-open.mjs';
import { recurringRetention } from './recurring-retention.mjs';

const DELIVERED = { state: 'delivered', delayMs: 0, gone: false, counts: true };
const HOUR_MS = 3_600_000;
const hoursAgo = (hours) => new Date(Date.now() - hours * HOUR_MS);
const OPTIONS = {
  size: '1:1',
  resolution: '1k',
  pixels: { width: 1024, height: 1024 },
  outputFormat: 'png',
  user: null,
};
const IMAGE = {
  key: 'results/none-1.png',
  contentType: 'image/png',
  width: 1024,
  height: 1024,
  bytes: 1_000_000,
  sha256: 'a'.repeat(64),
};
const CALL = { provider: 'provider-0', key: '', model: 'm', free: false };
const ENDED = { outcome: 'succeeded', charged: 'yes' };

/**
 * `[name, work]` for a history of fillHistory, ordered so that each leaves enough for the next. Work that removes rows
 * gets the number of its run, from 0, and finds due rows each time. `room` has what they need besides the database.
 */
export async function recurring(database, room, { tasks, accountId }) {
  const { redis, redisConfig, tasksConfig, webhooksConfig, secretsConfig, queue, events, logger } = room;
  const store = new TaskStore(database);
  const lost = new LostCallers(redis, redisConfig, database);
  const inserts = new InsertTasks(database);
  const departed = new DepartedCallers(database);
  const keyed = new KeyedRequests(database, inserts, store);
  const equal = new EqualRequests(database, tasksConfig, inserts, departed, lost);
  const slots = new TaskSlots(redis, redisConfig, tasksConfig, database);
  const endpoints = new EndpointStore(database, webhooksConfig);
  const context = {
    accountId,
    scope: { accountId, own: undefined },
    tasks,
    store,
    lists: new TaskListStore(database, store),
    logger,
    database,
    webhooksConfig,
    secretsConfig,
    redis,
    redisConfig,
    tasksConfig,
    events,
    keyId: 'key_1',
    intake: new TaskIntake(database, inserts, keyed, equal, departed),
    departed,
    transitions: new TaskTransitions(database),
    sweep: new SweepTasks(database, queue, events, slots, logger, new Metrics()),
    deliveries: new DeliveryTransitions(database, webhooksConfig, new Metrics()),
    line: new DeliveryLine(database, webhooksConfig),
    endpoints,
    log: new DeliveryLog(database, endpoints),
    records: new DeliveryRecords(database, endpoints),
    newDeliveries: new NewDeliveries(database, endpoints),
    findKey: new FindKey(database, secretsConfig),
    lost,
    slots,
    queue,
  };
  const places = await placesOf(database, accountId);
  return [
    ...listsOf(context, places),
    ...figuresOf(context, places),
    ...recurringLogs(context, places),
    ...callsOf(context, places),
    ...recurringOpen(context, places),
    ...repairsOf(context, places),
    ...recurringEndUsers(context),
    ...recurringRetention(context),
    ...recurringErasures(context, places),
  ];
}

/** Ids of tasks near the start, in the middle and at the end of the history. */
async function placesOf({ task, webhookDelivery, auditEntry }, accountId) {
  const place = async (hours, where = {}) => {
    const found = { accountId, createdAt: { lte: hoursAgo(hours) }, ...where };
    return await task.findFirst({
      where: found,
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      select: { id: true, requestId: true, createdAt: true },
    });
  };
  const near = await place(1);
  const middle = await place(84);
  const far = await place(150);
  const failed = await task.findFirst({
    where: { accountId, status: 'failed' },
    orderBy: { finishedAt: 'desc' },
    select: { id: true },
  });
  const deliveries = {
    where: { accountId, createdAt: { lte: hoursAgo(84) } },
    orderBy: { createdAt: 'desc' },
    select: { id: true },
  };
  const audits = { where: { accountId }, orderBy: { id: 'desc' }, skip: 100, select: { id: true } };
  return {
    near,
    middle,
    far,
    failed,
    delivery: await webhookDelivery.findFirst(deliveries),
    audit: await auditEntry.findFirst(audits),
  };
}

function listsOf({ store, lists, database, accountId, scope, tasks }, { near, middle, far, failed }) {
  const searches = new SearchTasks(database);
  const details = new TaskDetails(database, { maxProviderStarts: 3 });
  const list = (name, { own, ...query }, account = accountId) => [
    `tasks/TaskListStore.list: ${name}`,
    () => lists.list({ accountId: account, own }, { limit: 20, ...query }),
  ];
  const search = (name, { own, ...query }, account = accountId) => [
    `tasks/SearchTasks.search: ${name}`,
    () => searches.search({ accountId: account, own }, { limit: 20, ...query }),
  ];
  const count = (name, { own, ...query }, account = accountId) => [
    `tasks/TaskListStore.count: ${name}`,
    () => lists.count({ accountId: account, own }, query),
  ];
  const rare = { apiKeyId: 'key_rare1' };
  const own = { personId: 'person_1', keyIds: ['key_1', 'key_rare1', 'key_none'] };
  const few = { personId: 'person_rare', keyIds: ['key_rare1', 'key_none'] };
  const people = Object.entries({
    'a person': own,
    'a person with few tasks': few,
    'a key that sees its own': { personId: null, keyIds: ['key_1'] },
    'a key that sees its own few': { personId: null, keyIds: ['key_rare1'] },
  });
  const ids = [near, middle, far].map(({ id }) => id);
  // As many tasks as sorting by cost allows, however many a week has, without those that wait.
  const sortable = { since: hoursAgo(24 + 100_000 / tasks), until: hoursAgo(24) };
  return [
    list('newest', {}),
    list('after the middle', { after: middle.id }),
    list('after the first', { after: far.id, limit: 100 }),
    list('since yesterday', { since: hoursAgo(24) }),
    list('pending', { status: 'pending' }),
    list('completed', { status: 'completed', after: middle.id }),
    list('failed', { status: 'failed' }),
    list('failed, after the middle', { status: 'failed', after: middle.id }),
    list('cancelled', { status: 'cancelled', limit: 100 }),
    list('of a key', { apiKeyId: 'key_1' }),
    list('of a key, after the middle', { apiKeyId: 'key_1', after: middle.id }),
    list('of a key with few tasks', rare),
    list('of a key with few tasks, after the middle', { ...rare, after: middle.id }),
    list('of a key with old tasks alone', { apiKeyId: 'key_old' }),
    list('of a key without tasks', { apiKeyId: 'key_none' }),
    list('failed, of a key with few tasks', { ...rare, status: 'failed' }),
    list('completed, of a key with few tasks', { ...rare, status: 'completed' }),
    list('pending, of a key with few tasks', { ...rare, status: 'pending' }),
    list('of a key with few tasks, since yesterday', { ...rare, since: hoursAgo(24) }),
    list('of a model', { model: 'model-1' }),
    list('of a model with few tasks', { model: 'model-rare' }),
    list('of a model with few tasks, after the middle', { model: 'model-rare', after: middle.id }),
    list('of a model without tasks', { model: 'model-none' }),
    list('of an account with few tasks', {}, 'acct_rare'),
    list('completed, of an account with few tasks', { status: 'completed' }, 'acct_rare'),
    list('of an account without tasks', {}, 'acct_none'),
    list('with images', { imagesSince: hoursAgo(73) }),
    list('with images, after the middle', { imagesSince: hoursAgo(73), after: middle.id }),
    list('with images, after the first', { imagesSince: hoursAgo(73), after: far.id }),
    list('with images, of a key', { imagesSince: hoursAgo(73), apiKeyId: 'key_1', after: middle.id }),
    list('with images, of a key with few tasks', { ...rare, imagesSince: hoursAgo(73) }),
    list('with images, of a model without tasks', { imagesSince: hoursAgo(73), model: 'model-none' }),
    list('with images, ordered by a person', { imagesSince: hoursAgo(73), orderedBy: 'person_1' }),
    list('of a key with few tasks, by duration', { ...rare, order: 'longest' }),
    list('of a short time, by cost', { ...sortable, order: 'costliest' }),
    ...people.flatMap(([name, person]) => [
      list(`of ${name}`, { own: person }),
      list(`with images, of ${name}`, { own: person, imagesSince: hoursAgo(73) }),
      list(`of ${name}, after the middle`, { own: person, after: middle.id }),
      count(`of ${name}`, { own: person }),
    ]),
    list('of an end user', { endUser: 'eu_many' }),
    list('of an end user, after the middle', { endUser: 'eu_many', after: middle.id }),
    list('of an end user, oldest first', { endUser: 'eu_many', order: 'oldest' }),
    list('failed, of an end user', { endUser: 'eu_many', status: 'failed' }),
    list('of an end user with few tasks', { endUser: 'eu_6' }),
    list('of an end user with few tasks, by duration', { endUser: 'eu_6', order: 'longest' }),
    list('of an end user without tasks', { endUser: 'eu_none' }),
    list('of a tag', { tag: 'all' }),
    list('of a tag and an end user', { tag: 'tag-1', endUser: 'eu_6' }),
    list('of a tag, of a person', { tag: 'all', own }),
    count('of an end user', { endUser: 'eu_many' }),
    count('of a tag and a model', { tag: 'tag-1', model: 'model-1' }),
    search('words of no prompt, of an end user', { text: 'submarine', endUser: 'eu_6', tag: 'all' }),
    ['tasks/TaskListStore.countByOutcome: of a tag', () => lists.countByOutcome(scope, { tag: 'all' })],
    list('failed, of a person with few tasks', { own: few, status: 'failed' }),
    list('pending, of a person', { own, status: 'pending' }),
    list('favorites, of a person', { own, favorites: true }),
    list('of a person and key', { own, ...rare }),
    list('of a person with few tasks, by duration', { own: few, order: 'longest' }),
    count('all', {}),
    count('failed, of a person', { own, status: 'failed' }),
    count('of a person and a model', { own, model: 'model-1' }),
    count('since yesterday', { since: hoursAgo(24) }),
    count('before the middle', { until: middle.createdAt }),
    count('completed', { status: 'completed' }),
    count('failed', { status: 'failed' }),
    count('pending', { status: 'pending' }),
    count('of a key', { apiKeyId: 'key_1' }),
    count('of a key with few tasks', rare),
    count('of a model', { model: 'model-1' }),
    count('of a model without tasks', { model: 'model-none' }),
    count('completed, of a key', { apiKeyId: 'key_1', status: 'completed' }),
    count('failed, of a key', { apiKeyId: 'key_1', status: 'failed' }),
    count('of a key and a model', { apiKeyId: 'key_1', model: 'model-1' }),
    count('of an account without tasks', {}, 'acct_none'),
    search('words of many prompts', { text: 'Lighthouse' }),
    search('words of no prompt', { text: 'submarine' }),
    search('words of no prompt, after the middle', { text: 'submarine', after: middle }),
    search('words of no prompt, of a key with few tasks', { text: 'submarine', ...rare }),
    search('words of no prompt, of a person with few tasks', { text: 'submarine', own: few }),
    search('the id of a task', { text: far.id }),
    search('the id of a task, of a person', { text: far.id, own }),
    search('the id of a request', { text: newRequestId() }),
    ['tasks/TaskDetails.of', () => details.of(accountId, ids, 200)],
    ['tasks/TaskDetails.order', () => details.order(accountId, far.id)],
    ['tasks/TaskDetails.of: a failed task', () => details.of(accountId, [failed.id], 200)],
    ['tasks/TaskStore.history', () => store.history(scope, far.id)],
    ['tasks/TaskStore.within', () => store.within({ accountId, own }, ids)],
  ];
}

function figuresOf({ database, accountId, line, records }, { failed: { id: failedId } }) {
  const usage = new UsageRepository(database);
  const budgets = new BudgetRepository(database);
  const figures = new TaskFigures(database);
  const failed = new FailedTasks(database);
  const read = (name, by, days, group, filters = {}) => [
    `billing/UsageRepository.read: ${name}`,
    () => usage.read(accountId, { by, group, from: hoursAgo(24 * days), to: new Date(), currency: 'USD', ...filters }),
  ];
  const labeled = (name, days, query) => [
    `billing/LabeledUsage.read: ${name}`,
    () =>
      new LabeledUsage(database, usage).read(accountId, {
        ...query,
        from: hoursAgo(24 * days),
        to: new Date(),
        currency: 'USD',
      }),
  ];
  const kind = { code: 'provider_unavailable', provider: 'provider-0', model: 'model-0', since: hoursAgo(24 * 7) };
  return [
    read('30 days by model', 'day', 30, 'model'),
    read('30 days by key', 'day', 30, 'key'),
    read('366 days by provider', 'day', 366, 'provider'),
    read('two days by hour and model', 'hour', 2, 'model'),
    read('two days by hour and key', 'hour', 2, 'key'),
    read('two days by hour and key, of a model', 'hour', 2, 'key', { model: 'model-1' }),
    read('two days by hour and model, of a key', 'hour', 2, 'model', { key: 'key_1' }),
    labeled('366 days by end user', 366, { kind: 'end_user' }),
    labeled('30 days by tag', 30, { kind: 'tag' }),
    labeled('30 days of an end user', 30, { kind: 'end_user', name: 'eu_6' }),
    ['billing/UsageRepository.since', () => usage.since(accountId)],
    ['billing/BudgetRepository.spentByKey', () => budgets.spentByKey(accountId, 'USD')],
    ['billing/BudgetRepository.spentThisMonth', () => budgets.spentThisMonth([accountId, 'acct_bench'], 'USD')],
    ['billing/BudgetRepository.unpricedByKey', () => budgets.unpricedByKey(accountId)],
    ['billing/BudgetRepository.unpricedThisMonth', () => budgets.unpricedThisMonth([accountId, 'acct_bench'])],
    ['billing/BudgetRepository.find', () => budgets.find([accountId, 'key_1'])],
    ['billing/BudgetRepository.ofAccount', () => budgets.ofAccount(accountId)],
    ['billing/BudgetRepository.countSpent', () => budgets.countSpent(0.8)],
    ['tasks/TaskFigures.queue', () => figures.queue()],
    ['tasks/TaskFigures.inFlightByAccount', () => figures.inFlightByAccount()],
    ['tasks/TaskFigures.outcomesSince', () => figures.outcomesSince(hoursAgo(0.25))],
    [
      'tasks/TaskFigures.outcomesSince: of an account',
      () => figures.outcomesSince(hoursAgo(0.25), { id: accountId, acceptedSince: hoursAgo(0.5) }),
    ],
    ['tasks/TaskFigures.finishedByMinute', () => figures.finishedByMinute()],
    ['tasks/TaskFigures.serviceTimes', () => figures.serviceTimes()],
    ['tasks/FailedTasks.countOpen', () => failed.countOpen(accountId, hoursAgo(24))],
    ['tasks/FailedTasks.groups: a day', () => failed.groups(hoursAgo(24))],
    ['tasks/FailedTasks.groups: 30 days', () => failed.groups(hoursAgo(24 * 30))],
    ['tasks/FailedTasks.page', () => failed.page({ ...kind, limit: 20 })],
    ['tasks/FailedTasks.page: the next one', () => failed.page({ ...kind, limit: 20, after: failedId })],
    ['tasks/FailedTasks.page: of a kind that is rare', () => failed.page({ ...kind, code: 'no_such_code', limit: 20 })],
    ['tasks/FailedTasks.page: not retried yet', () => failed.page({ ...kind, limit: 20, open: true })],
    ['notifications/DeliveryRecords.ofChannels', () => records.ofChannels(accountId)],
    ['notifications/DeliveryLine.heads', () => line.heads()],
    ['notifications/DeliveryRecords.ofEndpoints', () => records.ofEndpoints(accountId, ['whe_bench'])],
  ];
}

function callsOf(context, { near, middle, far }) {
  const { store, intake, departed, transitions, accountId, scope, keyId, database, findKey } = context;
  const command = (changes = {}) => ({
    id: newTaskId(),
    accountId,
    apiKeyId: keyId,
    originalKeyId: keyId,
    accountWeight: 1,
    weight: 1,
    requestId: newRequestId(),
    action: 'generation',
    model: 'model-0',
    prompt: 'a lighthouse at dusk',
    options: OPTIONS,
    inputs: [],
    mask: null,
    callbackUrl: null,
    asynchronous: true,
    cost: { reserved: 40_000, currency: 'USD' },
    ...changes,
  });
  const print = (text) => createHash('sha256').update(text).digest();
  const equal = print('0');
  const take = (identity, changes) => intake.take(command(changes), 900_000, identity);
  const keyed = () => ({ kind: 'keyed', key: randomBytes(8).toString('hex'), fingerprint: equal });
  const unkeyed = (fingerprint, retry = 0) => ({ kind: 'unkeyed', retry, counted: true, fingerprint });
  const claimed = async () => {
    const { task } = await intake.take(command(), 900_000);
    const { attempt: number } = await transitions.claim(task.id, 'worker', 20_000);
    return { id: task.id, attempt: number };
  };
  const usage = new ChatUsageRepository(database);
  const chat = () => ({
    request_id: newRequestId(),
    account_id: accountId,
    api_key_id: keyId,
    model: 'chat',
    provider: 'p',
    provider_key: null,
    provider_model: 'c',
    streamed: true,
    status: 200,
    outcome: 'completed',
    input_tokens: 1,
    output_tokens: 1,
    cached_tokens: 0,
    first_byte_ms: 1,
    duration_ms: 1,
    created_at: new Date().toISOString(),
    cost_micros: 1,
    end_user: 'eu_6',
    tags: ['all'],
  });
  return [
    ['accounts/FindKey.byText', () => findKey.byText('sk-dr-none')],
    ['accounts/FindKey.touch', () => findKey.touch([keyId])],
    ['tasks/TaskIntake.take: a request', () => take()],
    ['tasks/TaskIntake.take: of an end user', () => take(undefined, { endUser: 'eu_6', tags: ['all', 'tag-1'] })],
    ['tasks/TaskIntake.take: with an Idempotency-Key', () => take(keyed())],
    [
      'tasks/TaskIntake.take: with an Idempotency-Key that is taken',
      async () => {
        const identity = keyed();
        await take(identity);
        await take(identity);
      },
    ],
    [
      'tasks/TaskIntake.take: a first try, equal to one whose caller left',
      async () => {
        const identity = unkeyed(randomBytes(32));
        const { task } = await take(identity, { asynchronous: false });
        await departed.markAbandoned(task.id, task.requestId);
        departed.abandonAttached(identity.fingerprint, newRequestId());
        await take(identity, { asynchronous: false });
      },
    ],
    ['tasks/TaskIntake.take: a first try', () => take(unkeyed(randomBytes(32)), { asynchronous: false })],
    ['tasks/TaskIntake.take: a first try, equal to others', () => take(unkeyed(equal), { asynchronous: false })],
    [
      'tasks/TaskIntake.take: a first try after its retry',
      async () => {
        const fingerprint = randomBytes(32);
        await take(unkeyed(fingerprint, 1), { asynchronous: false });
        const call = { gone: new AbortController().signal, ageMs: () => 60_000 };
        await intake.take(command({ asynchronous: false }), 900_000, unkeyed(fingerprint), call);
      },
    ],
    ['tasks/TaskIntake.take: a retry', () => take(unkeyed(equal, 1), { asynchronous: false })],
    ['tasks/TaskStore.find', () => store.find(scope, far.id)],
    ['tasks/TaskStore.findAll', () => store.findAll(scope, [near.id, middle.id, far.id])],
    ['tasks/TaskStore.finished', () => store.finished([near.id, middle.id])],
    ['tasks/TaskStore.cancel', async () => store.cancel(scope, (await intake.take(command(), 900_000)).task.id)],
    ['tasks/ToldCosts.tell', () => new ToldCosts(database).tell(near.id)],
    ['tasks/ToldCosts.takeBack', () => new ToldCosts(database).takeBack(near.id)],
    ['tasks/TaskStore.ofKey', () => store.ofKey(accountId, 'none')],
    ['tasks/DepartedCallers.markRead', () => departed.markRead(near.id)],
    ['tasks/DepartedCallers.markDelivered', () => departed.markDelivered([near.id])],
    ['tasks/DepartedCallers.markAbandoned', () => departed.markAbandoned(middle.id, middle.requestId)],
    [
      'tasks/TaskTransitions: from claim to completed',
      async () => {
        const lease = await claimed();
        await transitions.startProvider(lease, CALL, 3);
        await transitions.acceptedByProvider(lease, 'job');
        await transitions.progress(lease, 50, 'running');
        await transitions.renew([lease], 20_000);
        await transitions.complete(lease, { images: [IMAGE], usage: undefined, warnings: [] }, ENDED);
        await transitions.isCompletedBy(lease);
      },
    ],
    [
      'tasks/TaskTransitions: parked, released, failed',
      async () => {
        const lease = await claimed();
        await transitions.startProvider(lease, CALL, 3);
        await transitions.park(lease, 0);
        await transitions.claim(lease.id, 'worker', 20_000);
        await transitions.release({ id: lease.id, attempt: 2 }, 0, ENDED);
        await transitions.claim(lease.id, 'worker', 20_000);
        await transitions.fail({ id: lease.id, attempt: 3 }, { code: 'provider_unavailable', message: 'no' }, ENDED);
      },
    ],
    ['billing/ChatUsageRepository.add', () => usage.add(Array.from({ length: 20 }, chat))],
    ...recurringApprovals(context, { command, take, unkeyed, equal }),
  ];
}

function repairsOf({ sweep, lost, database, line, deliveries, accountId }, { near }) {
  const objects = new TaskObjects(database);
  const usage = new UsageRepository(database);
  return [
    ['tasks/SweepTasks.failOverdue', () => sweep.failOverdue()],
    ['tasks/SweepTasks.requeueLost', () => sweep.requeueLost()],
    ['tasks/SweepTasks.enqueueForgotten', () => sweep.enqueueForgotten()],
    ['tasks/LostCallers.markAll', () => lost.markAll()],
    ['tasks/TaskObjects.known', () => objects.known([`results/${near.id}-1.png`])],
    ['tasks/TaskObjects.page', () => objects.page(near.id, 1_000)],
    ['notifications/DeliveryLine.headsOfTasks', () => line.headsOfTasks([near.id])],
    ['notifications/DeliveryLine.headsOfAccount', () => line.headsOfAccount(accountId)],
    [
      'notifications/DeliveryTransitions: claim and finish',
      async () => {
        const [head] = await line.headsOfAccount(accountId);
        const delivery = head && (await deliveries.claim(head.deliveryId, 20_000));
        if (delivery) await deliveries.finish(delivery, { status: 200 }, DELIVERED, 20);
      },
    ],
    ['billing/UsageRepository.rollUp', () => usage.rollUp()],
  ];
}
