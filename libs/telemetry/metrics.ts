import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '#config/package.js';

/** From a poll to the longest held call, in seconds. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** From an idle queue to the default deadline of a task, in seconds. */
const TASK_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 90, 120, 180, 300, 600, 900];
/** From an index lookup to just above the statement timeout, in seconds. */
const STATEMENT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const RATIO_BUCKETS = [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 4, 10];

/** A provider, and its server, if it has a list of them. */
export interface ServerLabels {
  readonly provider: string;
  readonly server?: string;
}

/**
 * Every metric of a process, in one place (docs/operations.md lists them). Labels take few values, all defined by us:
 * never an id, an address, or text from a caller.
 */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  /** `route` is the pattern; status 499: the client closed the connection before the response was complete. */
  readonly requests = this.histogram(
    'http_request_duration_seconds',
    'Duration of HTTP requests, by route and status.',
    {
      labels: ['method', 'route', 'status'],
      buckets: REQUEST_BUCKETS,
    },
  );
  readonly tasksAccepted = this.counter('tasks_accepted_total', 'Image requests accepted as tasks.', [
    'model',
    'action',
  ]);
  readonly tasksUnpriced = this.counter('tasks_unpriced_total', 'Tasks accepted without a known price.', ['model']);
  readonly tasksAttached = this.counter(
    'tasks_attached_total',
    'Repeated requests that were attached to an existing task.',
    [],
  );
  /** `code` of the error that the caller received. */
  readonly tasksRefused = this.counter(
    'tasks_refused_total',
    'Valid requests that were rejected, for example because a limit was reached.',
    ['code'],
  );
  /** `outcome`: completed, failed, cancelled; `code`: the error code of a failed task, or empty. */
  readonly tasksEnded = this.counter('tasks_ended_total', 'Tasks that reached a final state.', ['outcome', 'code']);
  /** `stage`: input, output, unknown; `category`: one of OpenAI's, `other`, or `unknown` if the provider names none. */
  readonly moderationBlocks = this.counter(
    'moderation_blocks_total',
    'Tasks that a provider’s moderation blocked, once for each category it named.',
    ['stage', 'category'],
  );
  /** `outcome`: allowed, changed, blocked, or why there was no check: timeout, tls, unreachable, invalid, busy. */
  readonly guardrailChecks = this.histogram(
    'guardrail_seconds',
    'Duration of the guardrail’s checks of requests, with the wait for their turn.',
    { labels: ['outcome'], buckets: REQUEST_BUCKETS },
  );
  readonly images = this.counter('images_total', 'Images of completed tasks.', ['model', 'provider']);
  readonly taskWait = this.histogram('task_wait_seconds', 'Time from acceptance of a task to its first start.', {
    labels: ['model', 'tier'],
    buckets: TASK_BUCKETS,
  });
  readonly taskService = this.histogram('task_service_seconds', 'Time from start to completion of completed tasks.', {
    labels: ['model', 'tier', 'provider'],
    buckets: TASK_BUCKETS,
  });
  readonly estimateRatio = this.histogram(
    'task_estimate_ratio',
    'Actual duration of completed tasks, divided by the estimate made when they were accepted.',
    { labels: ['model'], buckets: RATIO_BUCKETS },
  );
  /** `direction`: late or early. */
  readonly startError = this.histogram(
    'task_start_error_seconds',
    'Difference between the estimated and the actual time of the first start.',
    { labels: ['model', 'direction'], buckets: TASK_BUCKETS },
  );
  /** `outcome`: ok, the error code, or aborted (cancelled, past its deadline, lease lost, stopping). */
  readonly providerStarts = this.counter('provider_starts_total', 'Calls to providers, by outcome.', [
    'provider',
    'server',
    'outcome',
  ]);
  /** `reason`: drained, open, cooling, busy, rate. */
  readonly providerRefusals = this.counter(
    'provider_refusals_total',
    'Provider calls that were not made because of a limit, a drained provider, a paused key or an open circuit breaker.',
    ['provider', 'server', 'reason'],
  );
  readonly sweeps = this.counter('sweep_actions_total', 'Tasks that a sweep failed, requeued, or enqueued.', [
    'action',
  ]);

  /** `outcome`: ok, not_found, failed, aborted. */
  readonly storeOperations = this.histogram('store_operation_seconds', 'Duration of object store operations.', {
    labels: ['operation', 'outcome'],
    buckets: REQUEST_BUCKETS,
  });
  /** `statement`: a name of a `*.sql.ts` file, `prisma`, or `other`. */
  readonly statements = this.histogram(
    'database_statement_seconds',
    'Duration of SQL statements, excluding the wait for a connection.',
    {
      labels: ['statement', 'outcome'],
      buckets: STATEMENT_BUCKETS,
    },
  );
  /** `outcome`: 2xx to 5xx, or why there was no response; `then`: delivered, pending (will be retried), failed. */
  readonly webhookAttempts = this.counter('webhook_attempts_total', 'Webhook delivery attempts.', ['outcome', 'then']);
  readonly chats = this.histogram('chat_seconds', 'Duration of chats, from the request to the end of the response.', {
    labels: ['model', 'provider', 'outcome'],
    buckets: REQUEST_BUCKETS,
  });
  readonly chatFirstByte = this.histogram(
    'chat_first_byte_seconds',
    'Time from a chat request to the headers of its response.',
    {
      labels: ['model', 'provider'],
      buckets: REQUEST_BUCKETS,
    },
  );
  /** `outcome`: exported or failed. */
  readonly spans = this.counter('trace_spans_total', 'Spans sent to the trace collector, by outcome.', ['outcome']);

  /** A value that is read at each scrape, and omitted when the read rejects. Names get the prefix `darkroom_`. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    this.addGauge(name, help, [], async (gauge) => gauge.set({}, await read()));
  }

  /**
   * Several values of one gauge that are read together, keyed by the value of its one label. Omitted when the read
   * rejects.
   */
  gauges(name: string, help: string, label: string, read: () => Promise<Readonly<Record<string, number>>>): void {
    this.addGauge(name, help, [label], async (gauge) => {
      for (const [value, count] of Object.entries(await read())) gauge.set({ [label]: value }, count);
    });
  }

  /** Like `gauges`, for each server of each provider. */
  serverGauges(name: string, help: string, read: () => Promise<readonly (readonly [ServerLabels, number])[]>): void {
    this.addGauge(name, help, ['provider', 'server'], async (gauge) => {
      for (const [labels, value] of await read()) gauge.set({ ...labels }, value);
    });
  }

  /** Build information, and Node's own metrics: memory, event loop, garbage collection. */
  watchProcess(): void {
    const info = {
      name: 'darkroom_build_info',
      help: 'Always 1; the labels carry the version and the Node.js version.',
    };
    const build = new Gauge({ ...info, labelNames: ['version', 'node'], registers: [this.registry] });
    build.set({ version: VERSION, node: process.versions.node }, 1);
    collectDefaultMetrics({ register: this.registry });
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<string> {
    return this.registry.metrics();
  }

  private addGauge(
    name: string,
    help: string,
    labelNames: string[],
    fill: (gauge: Gauge) => void | Promise<void>,
  ): void {
    const gauge: Gauge = new Gauge({
      name: `darkroom_${name}`,
      help,
      labelNames,
      registers: [this.registry],
      collect: async () => {
        gauge.reset();
        if (labelNames.length === 0) gauge.remove({});
        await Promise.resolve(fill(gauge)).catch(() => undefined);
      },
    });
  }

  private counter<T extends string>(name: string, help: string, labelNames: readonly T[]): Counter<T> {
    return new Counter({ name: `darkroom_${name}`, help, labelNames, registers: [this.registry] });
  }

  private histogram<T extends string>(
    name: string,
    help: string,
    { labels, buckets }: { readonly labels: readonly T[]; readonly buckets: number[] },
  ): Histogram<T> {
    return new Histogram({ name: `darkroom_${name}`, help, labelNames: labels, buckets, registers: [this.registry] });
  }
}

/** Caches a reading that costs a database query for `ms`, however many scrapes there are. Rejections are not cached. */
export function cachedFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly at: number } | undefined;
  return () => {
    if (last !== undefined && performance.now() - last.at < ms) return last.value;
    const reading = { value: read(), at: performance.now() };
    last = reading;
    reading.value.catch(() => {
      if (last === reading) last = undefined;
    });
    return reading.value;
  };
}
