import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import type { LoggerService } from '@nestjs/common';
import { redact } from './redact.js';
import { traceIdOf } from './spans.js';
import { standardOutput } from './standard-output.js';

const text = undefined as string | undefined;
const number = undefined as number | undefined;

/**
 * The fields of a log line. Other fields do not compile, and the serializer drops any that slip through, so no prompt,
 * key or image byte reaches a log.
 */
const FIELDS = {
  requestId: text,
  taskId: text,
  /** The request repeats an earlier one and returns its task. */
  attached: undefined as boolean | undefined,
  jobId: text,
  deliveryId: text,
  /** The webhook-id of a delivery. */
  eventId: text,
  accountId: text,
  keyId: text,
  /** The client's network: an IPv4 address, or the /64 of an IPv6 address. */
  network: text,
  method: text,
  /** Route pattern, never the requested URL: links carry signatures. */
  route: text,
  status: number,
  code: text,
  phase: text,
  provider: text,
  model: text,
  attempt: number,
  durationMs: number,
  bytes: number,
  count: number,
  pid: number,
  port: number,
  signal: text,
  setting: text,
  meant: text,
  reason: text,
  clientRequestId: text,
  /** Class, message and stack of an Error, with its causes but never a response body. */
  error: undefined as unknown,
};

/** The fields of a log line: those of FIELDS, and no others. */
export type LogFields = { -readonly [Name in keyof typeof FIELDS]?: (typeof FIELDS)[Name] };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * One JSON line per event on stdout: `{time, level, service, event, ...fields}`, with the `trace_id` of its task,
 * request or delivery.
 */
export class Logger {
  private readonly pino: Pino;

  constructor(
    /** The process that logs: api or worker. */
    readonly service: string,
    level: LogLevel,
    destination?: DestinationStream,
  ) {
    const options = {
      level,
      base: { service },
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    };
    this.pino = pino(options, destination ?? standardOutput());
  }

  /** Whether debug lines are written. */
  get debugs(): boolean {
    return this.pino.isLevelEnabled('debug');
  }

  debug(event: string, fields: LogFields = {}): void {
    if (this.debugs) this.pino.debug(permitted(fields), event);
  }

  info(event: string, fields: LogFields = {}): void {
    this.pino.info(permitted(fields), event);
  }

  warn(event: string, fields: LogFields = {}): void {
    this.pino.warn(permitted(fields), event);
  }

  error(event: string, fields: LogFields = {}): void {
    this.pino.error(permitted(fields), event);
  }
}

function permitted(fields: LogFields): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!Object.hasOwn(FIELDS, name) || value === undefined) continue;
    line[name] = name === 'error' ? describeError(value) : typeof value === 'string' ? redact(value) : value;
  }
  const traceId = traceIdOf(fields.taskId, fields.requestId, fields.deliveryId);
  if (traceId !== undefined) line['trace_id'] = traceId;
  return line;
}

function describeError(value: unknown, depth = 0): unknown {
  if (!(value instanceof Error)) return { name: typeof value };
  return {
    name: value.name,
    message: redact(value.message),
    ...('code' in value && typeof value.code === 'string' ? { code: value.code } : {}),
    ...(depth === 0 && value.stack !== undefined ? { stack: redact(value.stack) } : {}),
    ...(value.cause instanceof Error && depth < 3 ? { cause: describeError(value.cause, depth + 1) } : {}),
  };
}

/**
 * Of NestFactory: its messages wait for our logger (`useLogger`, then `flushLogs`). When a process can't start, its main
 * function says why; Nest would add its own lines, in color and with everything so far.
 */
export const START_OPTIONS = { bufferLogs: true, autoFlushLogs: false, abortOnError: false } as const;

/** Sends Nest's own messages to our logger; its start-up messages are debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown): void {
    this.logger.debug('framework', { reason: String(message) });
  }

  warn(message: unknown): void {
    this.logger.warn('framework', { reason: String(message) });
  }

  error(message: unknown): void {
    this.logger.error('framework', message instanceof Error ? { error: message } : { reason: String(message) });
  }
}
