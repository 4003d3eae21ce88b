import { diag, DiagLogLevel, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TracerProvider,
  TraceIdRatioBasedSampler,
  type IdGenerator,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { hostname } from 'node:os';
import type { Logger } from './logger.js';
import { chosenIds } from './spans.js';
import type { TracingConfig } from './telemetry.config.js';
import { VERSION } from '#config/package.js';

const BATCH = 512;
/** Unsent spans of a process, about 2 MB: what a busy one makes while its collector is away for seconds. More are dropped. */
const QUEUE = 4_096;
const SAY_EVERY_MS = 60_000;

/** A tracer that exports its spans to the configured receiver only. */
export interface ExportingTracer {
  readonly tracer: Tracer;
  /** Exports the remaining spans. */
  shutdown(): Promise<void>;
}

/** Counts exported and failed spans. */
export type CountSpans = (outcome: 'exported' | 'failed', count: number) => void;

/**
 * OpenTelemetry's SDK, set up from the settings. The operator chooses the receiver, as with a provider or a store, and
 * it is usually on a private network, so the egress rules for user-supplied URLs do not apply.
 */
export function createTracer(
  config: TracingConfig & { readonly endpoint: string },
  role: string,
  logger: Logger,
  count: CountSpans,
): ExportingTracer {
  diag.setLogger(logFailures(logger), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const exporter = new OTLPTraceExporter({
    url: `${config.endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(config.headers),
    timeoutMillis: config.timeoutMs,
    concurrencyLimit: 4,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': config.serviceName ?? `darkroom-${role}`,
      'service.namespace': 'darkroom',
      'service.version': VERSION,
      'service.instance.id': `${hostname()}-${process.pid}`,
      'darkroom.role': role,
    }),
    sampler: samplerOf(config),
    idGenerator: new ChosenIds(),
    spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256, linkCountLimit: 4, eventCountLimit: 8 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: counted(exporter, count),
        maxQueueSize: QUEUE,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: config.scheduleDelayMs,
        exportTimeoutMillis: config.timeoutMs,
      }),
    ],
  });
  return { tracer: provider.getTracer('darkroom', VERSION), shutdown: () => provider.shutdown() };
}

class ChosenIds implements IdGenerator {
  private readonly random = new RandomIdGenerator();

  generateTraceId(): string {
    return chosenIds()?.traceId ?? this.random.generateTraceId();
  }

  generateSpanId(): string {
    return chosenIds()?.spanId ?? this.random.generateSpanId();
  }
}

function samplerOf({ sampler, samplerArg }: TracingConfig): Sampler {
  const root = {
    on: new AlwaysOnSampler(),
    off: new AlwaysOffSampler(),
    ratio: new TraceIdRatioBasedSampler(samplerArg),
  };
  switch (sampler) {
    case 'always_on':
      return root.on;
    case 'always_off':
      return root.off;
    case 'traceidratio':
      return root.ratio;
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: root.on });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: root.off });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: root.ratio });
  }
}

/** Parses W3C Baggage: `name=value` pairs with percent-encoded values. */
function headersOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [name.trim(), decoded(value.join('=').trim())];
    }),
  );
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function counted(exporter: SpanExporter, count: CountSpans): SpanExporter {
  return {
    export: (spans: ReadableSpan[], done) =>
      exporter.export(spans, (result) => {
        count(succeeded(result) ? 'exported' : 'failed', spans.length);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

function succeeded({ code }: { readonly code: number }): boolean {
  return code === 0;
}

/**
 * The SDK logs every failed batch; this logs once a minute, and drops the message, which may quote the receiver's
 * response.
 */
function logFailures(logger: Logger) {
  let saidAt = -Infinity;
  const say = (): void => {
    if (performance.now() - saidAt < SAY_EVERY_MS) return;
    saidAt = performance.now();
    logger.warn('traces.not_exported');
  };
  const nothing = (): void => undefined;
  return { error: say, warn: say, info: nothing, debug: nothing, verbose: nothing };
}
