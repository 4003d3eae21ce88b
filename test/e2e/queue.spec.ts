import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';

interface Seen {
  readonly status: string;
  readonly phase: string;
  readonly queue_position?: number;
  readonly estimated_time?: number;
  readonly actual_time?: number;
}

/** One worker with one slot, tasks of about two seconds, and a deadline that fifteen of them would pass. */
describe('waiting in line', () => {
  let platform: Platform;
  let second: TestProcess;
  let worker: TestProcess;
  let redis: Redis;
  let ports: readonly [number, number];
  beforeAll(async () => {
    platform = await startPlatform({ WORKER_CONCURRENCY: '1', TASK_DEADLINE_MS: '30000' });
    await platform.worker.stop();
    ports = [await freePort(), await freePort()];
    second = await startApi({ ...platform.settings, METRICS_PORT: String(ports[0]) });
    worker = await startWorker({ ...platform.settings, METRICS_PORT: String(ports[1]) });
    redis = new Redis(platform.settings['REDIS_URL'] ?? '');
  });
  afterAll(async () => {
    redis.disconnect();
    await Promise.all([second.stop(), worker.stop()]);
    await platform.close();
  });

  function submit(key: string, headers: Readonly<Record<string, string>> = {}, latency = '2s'): Promise<Response> {
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: `a slow harbour [[latency=${latency}]]` };
    return platform.call('/v1/images/generations/async', { key, headers, body });
  }

  async function look(id: string, key = platform.key): Promise<Seen> {
    return ((await (await platform.call(`/v1/tasks/${id}`, { key })).json()) as { data: Seen }).data;
  }

  function idOf(response: Response): string {
    return response.headers.get('x-task-id') ?? '';
  }

  async function metricsAt(port: number): Promise<string> {
    return await (
      await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(patient(60_000)) })
    ).text();
  }

  /** What a process serves once it has these lines: some are counted only after the answer. */
  async function metricsWith(port: number, lines: readonly RegExp[]): Promise<string> {
    let text = '';
    const hasAll = async (): Promise<boolean> => {
      text = await metricsAt(port);
      return lines.every((line) => line.test(text));
    };
    await waitUntil(hasAll, { timeoutMs: 30_000 });
    for (const line of lines) expect(text).toMatch(line);
    return text;
  }

  const cancel = (id: string, key = platform.key): Promise<Response> =>
    platform.call(`/v1/tasks/${id}/cancel`, { key, method: 'POST' });
  const ended = (id: string, key?: string) => async () => (await look(id, key)).status === 'completed';

  it('estimates from what was measured, shows a place that falls, and keeps what it said when it is done', async () => {
    const measured = idOf(await submit(platform.key));
    expect(await waitUntil(ended(measured), { timeoutMs: 20_000 })).toBe(true);
    // The worker tells what it measured within two seconds, and the API reads it within two more.
    let estimate = 99;
    let { actual_time: slowest = 0 } = await look(measured);
    const told = async (): Promise<boolean> => {
      const id = idOf(await submit(platform.key));
      ({ estimated_time: estimate = 99 } = await look(id));
      // Four of them end before the deadline.
      const isShort = estimate <= 7;
      if (isShort) await cancel(id);
      // It is measured, too: when the machine stalled during one, the estimate is that of most.
      else expect(await waitUntil(ended(id), { timeoutMs: 20_000 })).toBe(true);
      slowest = Math.max(slowest, (await look(id)).actual_time ?? 0);
      return isShort;
    };
    expect(await waitUntil(told, { timeoutMs: 60_000, everyMs: 500 })).toBe(true);

    // Each keeps its place until it is cancelled, however slow this machine is.
    const before: string[] = [];
    for (let n = 0; n < 3; n++) before.push(idOf(await submit(platform.key, {}, '60s')));
    const last = idOf(await submit(platform.key));
    const first = await look(last);
    // Autoscalers read the wait behind all of them, from whichever process they ask.
    for (const port of ports) {
      const seconds = Number(/^darkroom_predicted_wait_seconds (\S+)$/m.exec(await metricsAt(port))?.[1]);
      expect([seconds > 2, seconds <= 5 * Math.max(estimate, slowest + 1)]).toEqual([true, true]);
    }
    expect(first.queue_position).toBeGreaterThanOrEqual(3);
    for (const [at, id] of before.entries()) {
      const isNext = async (): Promise<boolean> => (await look(last)).queue_position === before.length - at;
      expect(await waitUntil(isNext, { timeoutMs: 20_000 })).toBe(true);
      await cancel(id);
    }
    const isDone = async (): Promise<boolean> => {
      const seen = await look(last);
      if (seen.phase !== 'queued') expect(seen.queue_position).toBeUndefined();
      return seen.status === 'completed';
    };
    expect(await waitUntil(isDone, { timeoutMs: 60_000, everyMs: 50 })).toBe(true);
    // Three of about two seconds were before it.
    const { estimated_time: kept = 0 } = await look(last);
    expect([first.estimated_time, kept].every((estimate = 0) => estimate >= 6)).toBe(true);
    const listed = (await (await platform.call('/v1/tasks')).json()) as { data: Seen[] };
    expect(listed.data[0]?.estimated_time).toBe(kept);
  });

  it('says at once that a task would not end in time, leaves nothing of it, and takes those whose turn comes sooner', async () => {
    const busy = await platform.newKey({ tasks_in_flight: 100 });
    const idle = await platform.newKey({ tasks_in_flight: 100 });
    const taken: string[] = [];
    let refused: Response | undefined;
    while (refused === undefined && taken.length < 40) {
      // The first one holds the worker, so that none ends meanwhile.
      const latency = taken.length === 0 ? '60s' : '2s';
      const response = await submit(busy, { 'idempotency-key': `busy-${taken.length}` }, latency);
      if (response.ok) taken.push(idOf(response));
      else refused = response;
    }
    expect(refused?.status).toBe(503);
    expect(refused?.headers.get('x-should-retry')).toBe('true');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused?.json()).toMatchObject({ error: { type: 'overloaded_error', code: 'queue_full' } });
    // Room for several, and not for many more than the deadline allows.
    expect(taken.length).toBeGreaterThan(3);
    expect(taken.length).toBeLessThan(20);
    const { rows } = await platform.pool.query<{ rows: number; keys: number; key: string }>(
      `SELECT count(*)::int AS rows, min(api_key_id) AS key, (SELECT count(*)::int FROM idempotency_keys) AS keys
       FROM tasks WHERE api_key_id = (SELECT api_key_id FROM tasks WHERE id = $1)`,
      [taken[0]],
    );
    expect(rows[0]).toMatchObject({ rows: taken.length, keys: taken.length });
    const places = await redis.zrange(`${platform.settings['REDIS_PREFIX']}:in-flight:${rows[0]?.key}`, '0', '-1');
    expect(places.filter((id) => !taken.includes(id))).toEqual([]);
    // What was accepted is answered again, and another key's first turn comes before all but one of these.
    expect(idOf(await submit(busy, { 'idempotency-key': 'busy-0' }, '60s'))).toBe(taken[0]);
    const first = await submit(idle);
    expect(first.status).toBe(202);
    // Or it has begun, and has no place any more.
    const seen = await look(idOf(first), idle);
    expect(seen.phase === 'queued' ? seen.queue_position : 0).toBeLessThanOrEqual(2);
    await Promise.all(taken.map((id) => cancel(id, busy)));
    expect(await waitUntil(async () => (await submit(busy)).status === 202, { timeoutMs: 20_000 })).toBe(true);
  });

  it('serves metrics on a port of their own and nowhere else, without a word of a caller', async () => {
    const key = await platform.newKey();
    await fetch(`${second.url}/v1/tasks/task_00000000000000000000000000`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect((await fetch(`${second.url}/v1/models`)).status).toBe(401);
    for (const { url } of [platform.api, second]) expect((await fetch(`${url}/metrics`)).status).toBe(404);
    const api = await metricsWith(ports[0], [
      /darkroom_http_request_duration_seconds_count\{method="GET",route="\/v1\/tasks\/:taskId",status="404"\} [1-9]/,
      /darkroom_http_request_duration_seconds_count\{method="GET",route="\/v1\/models",status="401"\} [1-9]/,
      /darkroom_queue_jobs\{state="waiting"\} \d/,
      /darkroom_workers\{state="alive"\} [1-9]/,
      /darkroom_queue_oldest_waiting_seconds\{phase="queued"\} \d/,
      /darkroom_redis_accepting 1/,
      /darkroom_held_tasks 0/,
      /process_resident_memory_bytes \d/,
    ]);
    const told = await metricsWith(ports[1], [
      /darkroom_tasks_ended_total\{outcome="completed",code=""\} [1-9]/,
      /darkroom_task_service_seconds_count\{model="gpt-image-2",tier="1k",provider="sandbox"\} [1-9]/,
      /darkroom_task_wait_seconds_count\{model="gpt-image-2",tier="1k"\} [1-9]/,
      /darkroom_task_estimate_ratio_count\{model="gpt-image-2"\} [1-9]/,
      /darkroom_provider_starts_total\{provider="sandbox",outcome="ok"\} [1-9]/,
      /darkroom_worker_slots 1/,
    ]);
    for (const secret of [key, platform.secretKey, 'harbour', 'key_', 'acct_'])
      expect(api + told).not.toContain(secret);
    expect(api + told).not.toMatch(/task_[0-9A-Z]{26}/);
    expect((await fetch(`http://127.0.0.1:${ports[0]}/`)).status).toBe(404);
  });

  it('serves exactly the metrics that docs/operations.md lists, each where it says', async () => {
    const [, section = ''] = readFileSync('docs/operations.md', 'utf8').split('\n## Metrics\n');
    const rows = section.split('\n## ', 1)[0]?.matchAll(/^\| (`[^|]+) \|([^|]*)\| (API|worker|all) \|/gm) ?? [];
    const listed: Record<string, string[]> = { API: [], worker: [] };
    for (const [, names = '', , at = ''] of rows) {
      const found = [...names.matchAll(/`([a-z_]+)`/g)].map(([, name]) => `darkroom_${name}`);
      for (const process of at === 'all' ? ['API', 'worker'] : [at]) listed[process]?.push(...found);
    }
    const api = await metricsAt(ports[0]);
    const told = await metricsAt(ports[1]);
    const served = (text: string) => [...text.matchAll(/^# TYPE (darkroom_\w+) /gm)].map(([, name]) => name);
    // A counter without labels is 0 wherever it is declared. What is counted in one kind of process is declared in every one.
    expect(new Set(served(api + told))).toEqual(new Set(Object.values(listed).flat()));
    const sampled = (text: string) =>
      served(text).filter((name) => new RegExp(`^${name}(?:_count)?(?:\\{.*\\})? (?!0$)`, 'm').test(text));
    for (const [process, text] of [
      ['API', api],
      ['worker', told],
    ] as const) {
      const elsewhere = sampled(text).filter((name) => !listed[process]?.includes(name ?? ''));
      expect([process, elsewhere]).toEqual([process, []]);
    }
    await metricsWith(ports[1], [
      /darkroom_build_info\{version="[\d.]+",node="[\d.]+"\} 1/,
      /darkroom_webhook_backlog\{state="due"\} 0/,
      /darkroom_webhook_oldest_due_seconds\{state="due"\} 0/,
      /darkroom_budgets_nearly_spent\{owner="account"\} 0/,
      /darkroom_database_connections\{state="in_use"\} \d/,
      /darkroom_database_statement_seconds_count\{statement="task_claim",outcome="ok"\} [1-9]/,
      /darkroom_database_statement_seconds_count\{statement="prisma",outcome="ok"\} [1-9]/,
      /darkroom_store_operation_seconds_count\{operation="put",outcome="ok"\} [1-9]/,
      /darkroom_retention_lag_seconds\{kind="images"\} 0/,
      /darkroom_retention_lag_seconds\{kind="audit_entries"\} 0/,
      /darkroom_retention_lag_seconds\{kind="stray_objects"\} 0/,
    ]);
  });
});
