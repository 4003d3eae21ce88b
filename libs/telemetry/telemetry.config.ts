import { IsBoolean, IsIn, IsOptional, IsString, IsUrl, Max, Min } from 'class-validator';
import { Setting, Within } from '#config/setting.js';
import type { LogLevel } from './logger.js';

/** Which events are logged. */
export class TelemetryConfig {
  @Setting('LOG_LEVEL', 'Minimum log level: debug, info, warn, error, or silent.', { who: 'start' })
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
  @Setting('OTEL_SDK_DISABLED', 'Whether no traces are sent, whatever the other settings say.', {
    who: 'debugging',
    shared: true,
  })
  @IsBoolean()
  readonly disabled: boolean = false;

  @Setting('OTEL_TRACES_EXPORTER', 'otlp, or none to send no traces.', { who: 'debugging', shared: true })
  @IsIn(['otlp', 'none'])
  readonly exporter: 'otlp' | 'none' = 'otlp';

  @Setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'Base URL of an OTLP/HTTP trace collector, such as http://collector:4318; unset = no traces.',
    { who: 'debugging', unit: 'URL', shared: true },
  )
  @IsOptional()
  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['http', 'https'] })
  readonly endpoint?: string;

  @Setting('OTEL_EXPORTER_OTLP_HEADERS', 'Headers for the trace collector: name=value, separated by commas.', {
    who: 'debugging',
    secret: true,
    list: true,
    shared: true,
  })
  @IsString({ each: true })
  readonly headers: readonly string[] = [];

  @Setting('OTEL_EXPORTER_OTLP_TIMEOUT', 'Time limit of one trace export, including retries.', {
    who: 'debugging',
    unit: 'ms',
    shared: true,
  })
  @Within(100, 60_000)
  readonly timeoutMs: number = 10_000;

  @Setting('OTEL_SERVICE_NAME', 'service.name in traces; unset = darkroom-api or darkroom-worker.', {
    who: 'debugging',
    shared: true,
  })
  @IsOptional()
  @IsString()
  readonly serviceName?: string;

  @Setting('OTEL_TRACES_SAMPLER', `Which requests are traced: ${SAMPLERS.join(', ')}.`, {
    who: 'debugging',
    shared: true,
  })
  @IsIn(SAMPLERS)
  readonly sampler: (typeof SAMPLERS)[number] = 'parentbased_always_on';

  @Setting('OTEL_TRACES_SAMPLER_ARG', 'Sampling ratio of the traceidratio samplers, 0 to 1; unset = 1.', {
    who: 'debugging',
    shared: true,
  })
  @IsOptional()
  @Min(0)
  @Max(1)
  readonly samplerArg: number = 1;

  @Setting(
    'OTEL_BSP_SCHEDULE_DELAY',
    'How long spans are collected before they are sent; a killed process loses unsent spans.',
    { who: 'debugging', unit: 'ms', shared: true },
  )
  @Within(100, 60_000)
  readonly scheduleDelayMs: number = 5_000;

  @Setting(
    'TRACE_PROVIDERS',
    'Whether to send traceparent to image providers, which reveals trace IDs and whether a call is traced.',
    { who: 'debugging' },
  )
  readonly traceProviders: boolean = false;
}

/** Where metrics are served, never on the API's port. */
export class MetricsConfig {
  @Setting('METRICS_PORT', 'Port that serves /metrics, and nothing else; 0 = no metrics.', { who: 'processes' })
  @Within(0, 65_535)
  readonly metricsPort: number = 0;

  @Setting(
    'METRICS_HOST',
    'Address /metrics listens on. It has no authentication: expose it to the scraper’s network only.',
    { who: 'processes' },
  )
  @IsString()
  readonly metricsHost: string = '127.0.0.1';
}
