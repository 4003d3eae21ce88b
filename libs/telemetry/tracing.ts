import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Logger } from './logger.js';
import { Metrics } from './metrics.js';
import { traceWith } from './spans.js';
import type { ExportingTracer } from './trace-exporter.js';
import { TracingConfig } from './telemetry.config.js';

/** A receiver that does not answer holds up the end of a process no longer than this. */
const FLUSH_MS = 2_000;

/** Sends traces while the process lives, if the settings say where to. */
@Injectable()
export class Tracing implements OnModuleInit, OnApplicationShutdown {
  private exporting: ExportingTracer | undefined;

  constructor(
    private readonly config: TracingConfig,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** OpenTelemetry's SDK is loaded only where it is used. */
  async onModuleInit(): Promise<void> {
    const { endpoint, traceProviders: toProviders } = this.config;
    if (endpoint === undefined) return;
    const { createTracer } = await import('./trace-exporter.js');
    this.exporting = createTracer({ ...this.config, endpoint }, this.logger.service, this.logger, (outcome, count) =>
      this.metrics.spans.inc({ outcome }, count),
    );
    traceWith({ tracer: this.exporting.tracer, toProviders });
  }

  /** After every task, call and delivery has ended (they drain before this hook), so that their spans are sent too. */
  async onApplicationShutdown(): Promise<void> {
    if (this.exporting === undefined) return;
    traceWith(undefined);
    const stop = new AbortController();
    const sent = this.exporting.shutdown().catch(() => undefined);
    await Promise.race([sent, delay(FLUSH_MS, undefined, { signal: stop.signal }).catch(() => undefined)]);
    stop.abort();
  }
}
