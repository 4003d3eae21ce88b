import { randomBytes } from 'node:crypto';
import { waitUntil } from '#embedded/wait-until.js';
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.js';
import { startApi, startWorker } from '../support/processes.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const CANARY = 'canary-5e0d77';
const TASKS = 40;
const PARKED = 10;
const KILLED = 4;
/** What every task goes through, and is one span. */
const ONCE = ['POST /v1/images/generations/async', 'task.accept', 'image.finish', 'image.store', 'task.complete'];

describe('traces', () => {
  let otlp: OtlpReceiver;
  let web: WebhookPlatform;
  /** The caller's own traceparent by task; every second caller sends one. */
  const callers = new Map<string, string | undefined>();
  let logs: Record<string, unknown>[];

  beforeAll(async () => {
    otlp = await startOtlpReceiver();
    web = await startWebhookPlatform({
      OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
      OTEL_BSP_SCHEDULE_DELAY: '500',
      // The receiver is this process, whose late answers would be attempts, and spans, of their own.
      WEBHOOK_TIMEOUT_MS: '60000',
      WORKER_CONCURRENCY: '50',
    });
    const { platform, receiver } = web;
    for (let n = 0; n < TASKS; n++) {
      const directive = n < PARKED ? '[[pending=800ms]]' : n < PARKED + KILLED ? '[[fault=hang times=1]]' : '';
      const traceparent = n % 2 === 0 ? undefined : `00-${hex(16)}-${hex(8)}-01`;
      callers.set(await submit(`${CANARY} ${n} ${directive}`, traceparent), traceparent);
    }
    const isTaken = (id: string | undefined): boolean =>
      platform.worker.logs().some(({ event, taskId }) => event === 'task.claimed' && taskId === id);
    const slow = [...callers.keys()].slice(PARKED, PARKED + KILLED);
    const areOthersDone = () => receiver.at('/told').length >= TASKS - KILLED;
    expect(await waitUntil(() => slow.every(isTaken) && areOthersDone(), { timeoutMs: 60_000 })).toBe(true);
    // Of what is over, all is sent, so that only what the killed worker was at is lost. Whatever was parked had two attempts.
    const areSent = (tasks: number) => () =>
      count('webhook.deliver') >= tasks && count('task.attempt') >= tasks + PARKED;
    expect(await waitUntil(areSent(TASKS - KILLED), { timeoutMs: 30_000 })).toBe(true);
    platform.worker.kill('SIGKILL');
    await platform.worker.exited;
    // As if they had run out; short leases would be lost whenever a worker stalls, and each task is to be one trace.
    await platform.pool.query('UPDATE tasks SET lease_until = now() WHERE lease_until IS NOT NULL');
    const second = await startWorker(platform.settings);
    await receiver.arrived('/told', TASKS);
    // A process that ends waits no longer than 2 s for its last spans to be sent.
    expect(await waitUntil(areSent(TASKS), { timeoutMs: 60_000 })).toBe(true);
    await platform.api.stop();
    await second.stop();
    logs = [...platform.api.logs(), ...platform.worker.logs(), ...second.logs()];
  }, 240_000);
  afterAll(async () => {
    await web.close();
    await otlp.close();
  });

  const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
  const count = (name: string): number => otlp.spans.filter((span) => span.name === name).length;

  async function submit(prompt: string, traceparent: string | undefined): Promise<string> {
    const body = { model: 'gpt-image-2', resolution: '1k', prompt, callback_url: web.receiver.url('/told') };
    const headers = traceparent === undefined ? {} : { traceparent };
    const response = await web.platform.call('/v1/images/generations/async', { body, headers });
    const { data } = (await response.json()) as { data: [{ task_id: string }] };
    return data[0].task_id;
  }

  /** The spans of a task's trace. */
  function traceOf(taskId: string): ReceivedSpan[] {
    const attempt = otlp.spans.find(
      ({ name, attributes }) => name === 'task.attempt' && attributes['darkroom.task.id'] === taskId,
    );
    return otlp.spans.filter(({ traceId }) => traceId === attempt?.traceId);
  }
  const named = (trace: readonly ReceivedSpan[], name: string) => trace.filter((span) => span.name === name);

  it('each task is one trace from its request to its webhook, through parking and a worker that is killed', () => {
    expect(callers.size).toBe(TASKS);
    const traces = [...callers.keys()].map(traceOf);
    expect(new Set(traces.map(([span]) => span?.traceId)).size).toBe(TASKS);
    for (const trace of traces) {
      for (const name of ONCE) expect([name, named(trace, name).length]).toEqual([name, 1]);
      expect(named(trace, 'webhook.deliver')).toMatchObject([{ attributes: { 'http.response.status_code': 200 } }]);
      expect(named(trace, 'task.queued').length).toBeGreaterThanOrEqual(1);
      expect(named(trace, 'provider.call').length).toBeGreaterThanOrEqual(1);
      expect(new Set(trace.map(({ attributes }) => attributes['darkroom.task.id']).filter(Boolean)).size).toBe(1);
      // Nothing hangs in the air: every span's parent is in the trace, or is the caller's.
      const known = new Set(trace.map(({ spanId }) => spanId));
      const outside = trace.filter(({ parentSpanId }) => !known.has(parentSpanId));
      expect(outside.map(({ name }) => name)).toEqual([ONCE[0]]);
    }
  });

  it('a caller’s traceparent is the parent of what its request becomes', () => {
    for (const [taskId, traceparent] of callers) {
      const [, traceId, spanId] = traceparent?.split('-') ?? [];
      const [request] = named(traceOf(taskId), ONCE[0] ?? '');
      expect(request?.parentSpanId).toBe(spanId ?? '');
      if (traceId !== undefined) expect(request?.traceId).toBe(traceId);
    }
  });

  it('attempts are linked, and waits show for how long a task was parked', () => {
    const ids = [...callers.keys()];
    for (const id of ids.slice(0, PARKED)) {
      const attempts = named(traceOf(id), 'task.attempt').sort(byAttempt);
      expect(attempts.length).toBeGreaterThanOrEqual(2);
      expect(attempts[0]).toMatchObject({ links: [], attributes: { 'darkroom.outcome': 'parked' } });
      attempts.slice(1).forEach(({ links }, index) => {
        expect(links).toEqual([{ traceId: attempts[0]?.traceId, spanId: attempts[index]?.spanId }]);
      });
      expect(Math.max(...named(traceOf(id), 'task.parked').map(({ durationMs }) => durationMs))).toBeGreaterThan(250);
    }
    for (const id of ids.slice(PARKED, PARKED + KILLED)) {
      // The first attempt went with its worker; what followed names it all the same.
      const [attempt] = named(traceOf(id), 'task.attempt').sort(byAttempt);
      expect(attempt?.attributes).toMatchObject({ 'darkroom.losses': 1 });
      expect(attempt?.links).toHaveLength(1);
    }
  });

  it('receivers of webhooks get the trace, and lines of the log name it', () => {
    for (const { headers, event } of web.receiver.at('/told')) {
      const [span] = named(traceOf(event.data.id), 'webhook.deliver');
      expect(headers['traceparent']).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
    }
    for (const [event, taskId] of ['request', 'task.claimed', 'task.completed'].map((e) => [
      e,
      [...callers.keys()].at(-1),
    ])) {
      const line = logs.find((each) => each['event'] === event && each['taskId'] === taskId);
      expect([event, line?.['trace_id']]).toEqual([event, traceOf(taskId ?? '')[0]?.traceId]);
    }
  });

  it('no prompt, key, address or email is in any span', () => {
    const raw = otlp.raw();
    expect(raw).toContain('darkroom.task.id');
    for (const secret of [
      CANARY,
      web.platform.key,
      web.platform.secretKey,
      'iVBOR',
      '@',
      'https:',
      '/told',
      'whsec_',
    ]) {
      expect([secret, raw.includes(secret)]).toEqual([secret, false]);
    }
  });

  it('a receiver that hangs delays no answer and no end of a process', async () => {
    const hanging = await startOtlpReceiver({ hangs: true });
    const api = await startApi({
      ...web.platform.settings,
      PORT: undefined,
      OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url,
      // One that waited for an answer would be ended by force.
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    });
    const ask = async () =>
      await fetch(`${api.url}/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${web.platform.key}`, 'content-type': 'application/json' },
        body: '{"model":"nobody"}',
      });
    for (let n = 0; n < 20; n++) expect((await ask()).status).toBe(400);
    expect(await api.stop()).toMatchObject({ code: 0, signal: null });
    await hanging.close();
  });
});

function byAttempt(one: ReceivedSpan, other: ReceivedSpan): number {
  return Number(one.attributes['darkroom.attempt']) - Number(other.attributes['darkroom.attempt']);
}
