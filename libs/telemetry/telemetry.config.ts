import { IsBoolean, IsIn, IsInt, IsOptional, IsString, IsUrl, Max, Min } from 'class-validator';
import { Setting, Within } from '#config/setting.js';
import type { LogLevel } from './logger.js';

/** Which events are logged. */
export class TelemetryConfig {
  @Setting('LOG_LEVEL', 'Minimum log level: debug, info, warn, error, or silent.')
  @IsIn(['debug', 'info', 'warn', 'error', 'silent'])
  readonly logLevel: LogLevel = 'info';
}

/** Sampler names as OpenTelemetry defines them. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * Where traces are sent, under OpenTelemetry's setting names. A cluster may set them for every process in it, so a value
 * that can't be used is ignored, as OpenTelemetry says.
 */
export class TracingConfig {
  @Setting('OTEL_SDK_DISABLED', 'Whether no traces are sent, whatever the other settings say.', { shared: true })
  @IsBoolean()
  readonly disabled: boolean = false;

  @Setting('OTEL_TRACES_EXPORTER', 'otlp, or none to send no traces.', { shared: true })
  @IsIn(['otlp', 'none'])
  readonly exporter: 'otlp' | 'none' = 'otlp';

  @Setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'Base URL of an OTLP/HTTP trace collector, such as http://collector:4318; unset = no traces.',
    { unit: 'URL', shared: true },
  )
  @IsOptional()
  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['http', 'https'] })
  readonly endpoint?: string;

  @Setting('OTEL_EXPORTER_OTLP_HEADERS', 'Headers for the trace collector: name=value, separated by commas.', {
    secret: true,
    list: true,
    shared: true,
  })
  @IsString({ each: true })
  readonly headers: readonly string[] = [];

  @Setting('OTEL_EXPORTER_OTLP_TIMEOUT', 'Time limit of one trace export, including retries.', {
    unit: 'ms',
    shared: true,
  })
  @Within(100, 60_000)
  readonly timeoutMs: number = 10_000;

  @Setting('OTEL_SERVICE_NAME', 'service.name in traces; unset = darkroom-api or darkroom-worker.', {
    shared: true,
  })
  @IsOptional()
  @IsString()
  readonly serviceName?: string;

  @Setting('OTEL_TRACES_SAMPLER', `Which requests are traced: ${SAMPLERS.join(', ')}.`, { shared: true })
  @IsIn(SAMPLERS)
  readonly sampler: (typeof SAMPLERS)[number] = 'parentbased_always_on';

  @Setting('OTEL_TRACES_SAMPLER_ARG', 'Sampling ratio of the traceidratio samplers, 0 to 1; unset = 1.', {
    shared: true,
  })
  @IsOptional()
  @Min(0)
  @Max(1)
  readonly samplerArg: number = 1;

  @Setting(
    'OTEL_BSP_SCHEDULE_DELAY',
    'How long spans are collected before they are sent; a killed process loses unsent spans.',
    { unit: 'ms', shared: true },
  )
  @Within(100, 60_000)
  readonly scheduleDelayMs: number = 5_000;

  @Setting('OTEL_BSP_MAX_QUEUE_SIZE', 'Maximum unsent spans per process; spans beyond that are dropped.', {
    shared: true,
  })
  @IsInt()
  @Within(512, 65_536)
  readonly maxQueueSize: number = 4_096;

  @Setting(
    'TRACE_PROVIDERS',
    'Whether to send traceparent to image providers, which reveals trace IDs and whether a call is traced.',
  )
  readonly traceProviders: boolean = false;
}

/** Where metrics are served, never on the API's port. */
export class MetricsConfig {
  @Setting('METRICS_PORT', 'Port that serves /metrics, and nothing else; 0 = no metrics.')
  @Within(0, 65_535)
  readonly metricsPort: number = 0;

  @Setting(
    'METRICS_HOST',
    'Address /metrics listens on. It has no authentication: expose it to the scraper’s network only.',
  )
  @IsString()
  readonly metricsHost: string = '127.0.0.1';
}
