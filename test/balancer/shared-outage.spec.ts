import { waitUntil } from '#embedded/wait-until.js';
import { startBalancer, type TestBalancer } from '../support/balancer.js';
import { FaultProxy, type Fault } from '../support/fault-proxy.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';
import { startS3, type TestS3 } from '../support/s3.js';

const OUTAGE_MS = 6_000;
const ORDER = { model: 'gpt-image-2', resolution: '1k', prompt: 'a lighthouse' };

// Real: HAProxy with the file we ship, an API that reaches Postgres, Redis and S3 through proxies which fail, a worker.
describe('what all instances share', () => {
  let s3: TestS3;
  let platform: Platform;
  /** More than `timeout check` of deploy/haproxy.cfg. */
  const SLOW_STORE_MS = 2_500;
  let lines: { postgres: FaultProxy; redis: FaultProxy; store: FaultProxy };
  let api: TestProcess;
  let balancer: TestBalancer;
  let link: string;
  let poll: string;

  beforeAll(async () => {
    s3 = await startS3();
    platform = await startPlatform({
      // Short, though a submit must not be refused because a process stalls.
      REDIS_COMMAND_TIMEOUT_MS: patientSetting(2_000, 20_000),
      STORAGE: 's3',
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      HEALTH_CHECK_INTERVAL_MS: '200',
    });
    const { DATABASE_URL = '', REDIS_URL = '' } = platform.settings;
    lines = {
      postgres: await FaultProxy.start(DATABASE_URL),
      redis: await FaultProxy.start(REDIS_URL),
      store: await FaultProxy.start(s3.endpoint),
    };
    api = await startApi({
      ...platform.settings,
      DATABASE_URL: lines.postgres.url,
      REDIS_URL: lines.redis.url,
      S3_ENDPOINT: lines.store.url,
    });
    balancer = await startBalancer({ apis: [api.url] });
    const answer = await ask('POST', '/v1/images/generations', ORDER);
    const { pathname, search } = new URL((answer.body as { data: { url: string }[] }).data[0]?.url ?? '');
    link = pathname + search;
    poll = `/v1/tasks/${answer.taskId}`;
  });
  afterAll(async () => {
    await balancer.stop();
    await api.stop();
    for (const line of Object.values(lines)) await line.close();
    await platform.close();
    await s3.stop();
  });

  interface Answer {
    readonly status: number;
    readonly taskId: string;
    readonly body: unknown;
    readonly headers: Headers;
  }

  async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const response = await fetch(balancer.url + path, {
      method,
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patient(30_000)),
    });
    const { status, headers } = response;
    const isJson = headers.get('content-type')?.startsWith('application/json') === true;
    const bytes = await response.arrayBuffer();
    const parsed: unknown = isJson ? JSON.parse(Buffer.from(bytes).toString()) : undefined;
    return { status, headers, taskId: headers.get('x-task-id') ?? '', body: parsed };
  }

  const submit = (): Promise<Answer> => ask('POST', '/v1/images/generations/async', ORDER);
  const isBalancers = ({ body }: Answer): boolean => JSON.stringify(body ?? '').includes('No instance can take');

  /** Every answer to these calls, asked for again and again while the fault lasts: at least two, until the API has seen it. */
  async function during(
    line: FaultProxy,
    fault: Fault,
    calls: readonly (() => Promise<Answer>)[],
    isSeen = (): boolean => true,
  ): Promise<Answer[][]> {
    line.fault = fault;
    if (fault === 'reset') line.cut();
    const until = performance.now() + OUTAGE_MS;
    try {
      return await Promise.all(
        calls.map(async (call) => {
          const answers: Answer[] = [];
          const isOver = async (): Promise<boolean> => {
            answers.push(await call());
            return answers.length > 1 && performance.now() > until && isSeen();
          };
          await waitUntil(isOver, { timeoutMs: 10 * OUTAGE_MS, everyMs: 100 });
          return answers;
        }),
      );
    } finally {
      line.fault = 'pass';
    }
  }

  const statuses = (answers: readonly Answer[] = []): number[] => [...new Set(answers.map(({ status }) => status))];

  it('O9: while Redis is away, reads are answered and submits get the 503 of the contract', async () => {
    const calls = [() => ask('GET', poll), () => ask('GET', link), submit];
    const [polls, links, submits = []] = await during(lines.redis, 'reset', calls);
    expect([statuses(polls), statuses(links)]).toEqual([[200], [200]]);
    // One that came just before may be in its row already.
    expect(statuses(submits.slice(1))).toEqual([503]);
    for (const { body, headers } of submits.slice(1)) {
      expect(body).toMatchObject({ error: { type: 'overloaded_error', code: 'server_is_overloaded' } });
      expect([headers.get('x-should-retry'), Number(headers.get('retry-after')) > 0]).toEqual(['true', true]);
    }
    expect(submits.filter(isBalancers)).toEqual([]);
    expect(await waitUntil(async () => (await submit()).status === 202, { timeoutMs: 20_000 })).toBe(true);
  });

  it('O10: a store that takes longer for each call than a probe may take makes no instance unready', async () => {
    let isSeen = false;
    const probe = async (): Promise<Answer> => {
      const answer = await ask('GET', '/readyz');
      const { dependencies } = answer.body as { dependencies: { storage: { state: string } } };
      isSeen ||= dependencies.storage.state === 'failing';
      return answer;
    };
    const calls = [() => ask('GET', poll), () => ask('GET', link), submit, probe];
    const found = await during(lines.store, { delayMs: SLOW_STORE_MS }, calls, () => isSeen);
    expect(isSeen).toBe(true);
    expect(found.map(statuses)).toEqual([[200], [200], [202], [200]]);
  });

  it('O9: while Postgres is away, links to images work and the rest gets the error of an instance', async () => {
    let isTaken = false;
    const probe = async (): Promise<boolean> => {
      isTaken ||= (await (await fetch(`${api.url}/readyz`)).text()).includes('"reasons":["database"]');
      return isTaken;
    };
    const calls = [() => ask('GET', link), () => ask('GET', poll)];
    const untilKnown = during(lines.postgres, 'reset', calls, () => isTaken);
    expect(await waitUntil(probe, { timeoutMs: 20_000 })).toBe(true);
    const [links, polls = []] = await untilKnown;
    expect([statuses(links), statuses(polls).filter((status) => status !== 200)]).toEqual([[200], [503]]);
    expect(polls.filter(isBalancers)).toEqual([]);
    expect(await waitUntil(async () => (await ask('GET', poll)).status === 200, { timeoutMs: 20_000 })).toBe(true);
  });
});
