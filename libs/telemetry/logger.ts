import { pino, type DestinationStream, type Logger as Pino } from 'pino';

/**
 * What a log line may carry. Nothing else can be logged: fields not named here do not compile,
 * and the serializer drops what slips through, so no prompt, key or image byte reaches a log.
 */
export interface LogFields {
  requestId?: string | undefined;
  taskId?: string | undefined;
  /** The request repeats an earlier one and got its task. */
  attached?: boolean | undefined;
  jobId?: string | undefined;
  deliveryId?: string;
  /** The webhook-id of a delivery. */
  eventId?: string;
  accountId?: string | undefined;
  keyId?: string | undefined;
  /** Where requests came from: an address, of IPv6 its /64. */
  network?: string;
  method?: string;
  /** Route pattern, never the address as sent: links carry signatures. */
  route?: string;
  status?: number;
  code?: string | undefined;
  phase?: string;
  provider?: string | undefined;
  model?: string;
  attempt?: number;
  durationMs?: number;
  bytes?: number;
  count?: number;
  pid?: number;
  port?: number;
  signal?: string;
  setting?: string;
  meant?: string;
  reason?: string;
  clientRequestId?: string | undefined;
  /** Class, message and stack of an Error of ours or of a library; a cause is followed, bodies are not. */
  error?: unknown;
}

const FIELDS: ReadonlySet<string> = new Set<keyof LogFields>([
  'requestId',
  'taskId',
  'attached',
  'jobId',
  'deliveryId',
  'eventId',
  'accountId',
  'keyId',
  'network',
  'method',
  'route',
  'status',
  'code',
  'phase',
  'provider',
  'model',
  'attempt',
  'durationMs',
  'bytes',
  'count',
  'pid',
  'port',
  'signal',
  'setting',
  'meant',
  'reason',
  'clientRequestId',
  'error',
]);

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** One JSON line per event on stdout: `{time, level, service, event, ...fields}`. */
export class Logger {
  private readonly pino: Pino;

  constructor(service: string, level: LogLevel, destination?: DestinationStream) {
    const options = {
      level,
      base: { service },
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    };
    this.pino = pino(options, destination ?? pino.destination({ dest: 1, sync: false }));
  }

  /** Whether debug lines are written at all. */
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
    if (!FIELDS.has(name) || value === undefined) continue;
    line[name] = name === 'error' ? describeError(value) : typeof value === 'string' ? redact(value) : value;
  }
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

const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer\s+)\S+/gi, '$1[redacted]'],
  [/\bsk-[A-Za-z0-9_-]{8,}/g, 'sk-[redacted]'],
  [/\bwhsec_[A-Za-z0-9+/=]+/g, 'whsec_[redacted]'],
  [/([?&](?:sig|signature|X-Amz-Signature|X-Amz-Credential|token|key)=)[^&\s"]+/gi, '$1[redacted]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:)[^\s@/]+@/gi, '$1[redacted]@'],
  [/data:image\/[a-z+]+;base64,[A-Za-z0-9+/=]*/gi, 'data:[redacted]'],
  [/[A-Za-z0-9+/]{200,}={0,2}/g, '[base64 redacted]'],
];

/** Library messages may quote what they were given; whatever looks like a secret or base64 is cut out, and length is capped. */
export function redact(text: string): string {
  return SECRETS.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text.slice(0, 8_000));
}
