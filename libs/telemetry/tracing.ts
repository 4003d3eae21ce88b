import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Logger } from './logger.js';
import { Metrics } from './metrics.js';
import { traceWith } from './spans.js';
import type { ExportingTracer } from './trace-exporter.js';
import { TracingConfig } from './telemetry.config.js';

/** The longest that an unresponsive receiver may delay the end of the process. */
const FLUSH_MS = 2_000;

/** Exports traces while the process runs, if a receiver is configured. */
@Injectable()
export class Tracing implements OnModuleInit, OnApplicationShutdown {
  private exporting: ExportingTracer | undefined;

  constructor(
    private readonly config: TracingConfig,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** Loads OpenTelemetry's SDK only when it is used. */
  async onModuleInit(): Promise<void> {
    const { endpoint, traceProviders: toProviders, disabled, exporter } = this.config;
    if (endpoint === undefined || disabled || exporter === 'none') return;
    const { createTracer } = await import('./trace-exporter.js');
    this.exporting = createTracer({ ...this.config, endpoint }, this.logger.service, this.logger, (outcome, count) =>
      this.metrics.spans.inc({ outcome }, count),
    );
    traceWith({ tracer: this.exporting.tracer, toProviders });
  }

  /** Runs after all tasks, calls and deliveries have drained, so that their spans are exported too. */
  async onApplicationShutdown(): Promise<void> {
    if (this.exporting === undefined) return;
    traceWith(undefined);
    const stop = new AbortController();
    const sent = this.exporting.shutdown().catch(() => undefined);
    await Promise.race([sent, delay(FLUSH_MS, undefined, { signal: stop.signal }).catch(() => undefined)]);
    stop.abort();
  }
}
