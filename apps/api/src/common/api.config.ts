import { IsBoolean, IsIn, IsInt, IsOptional, IsString, IsUrl, Max, Min, ValidateBy } from 'class-validator';
import ipaddr from 'ipaddr.js';
import { Setting } from '#config/setting.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/image-request.js';

export class ApiConfig {
  @Setting('PORT', 'Port the API listens on.')
  @IsInt()
  @Min(1)
  @Max(65_535)
  readonly port: number = 3000;

  @Setting('HOST', 'Address the API listens on.')
  @IsString()
  readonly host: string = '127.0.0.1';

  @Setting('PUBLIC_URL', 'Address callers reach the API at, used in links; default http://HOST:PORT.', { unit: 'URL' })
  @IsOptional()
  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['http', 'https'] })
  readonly publicUrl?: string;

  @Setting(
    'HSTS_SECONDS',
    'Where PUBLIC_URL is https: how long browsers must not use plain http for its host, any port of it; 0 = nothing is said.',
    { unit: 's' },
  )
  @IsInt()
  @Min(0)
  @Max(63_072_000)
  readonly hstsSeconds: number = 31_536_000;

  @Setting('SYNC_WAIT_MS', 'How long a synchronous call waits for its image before it is answered still_running.', {
    unit: 'ms',
  })
  @IsInt()
  @Min(1_000)
  @Max(600_000)
  readonly syncWaitMs: number = 100_000;

  @Setting('STREAM_PING_MS', 'How often a comment keeps a streamed answer alive while its image is generated.', {
    unit: 'ms',
  })
  @IsInt()
  @Min(100)
  @Max(60_000)
  readonly streamPingMs: number = 15_000;

  @Setting(
    'DEFAULT_RESPONSE_FORMAT',
    'What a call without response_format is answered with, where its key has no default: both (a link and base64), url or b64_json.',
  )
  @IsIn([...DEFAULT_RESPONSE_FORMATS], {
    message: `DEFAULT_RESPONSE_FORMAT must be one of ${DEFAULT_RESPONSE_FORMATS.join(', ')}`,
  })
  readonly defaultResponseFormat: DefaultResponseFormat = 'both';

  @Setting(
    'ALLOW_PIXEL_SIZE',
    'Take sizes in pixels (1024x1024) in generations, where the key does not say; edits always take them.',
  )
  @IsBoolean()
  readonly allowPixelSize: boolean = true;

  @Setting('JSON_BODY_LIMIT', 'Largest JSON body of an image request.', { unit: 'bytes' })
  @IsInt()
  @Min(1_048_576)
  @Max(268_435_456)
  readonly jsonBodyLimit: number = 67_108_864;

  @Setting('MULTIPART_BODY_LIMIT', 'Largest multipart body of an edit.', { unit: 'bytes' })
  @IsInt()
  @Min(1_048_576)
  @Max(1_073_741_824)
  readonly multipartBodyLimit: number = 200_000_000;

  @Setting(
    'REQUEST_TIMEOUT_MS',
    'How long a request may take to arrive; one that takes longer is answered 408. Its headers have 15 s of it.',
    { unit: 'ms' },
  )
  @IsInt()
  @Min(1_000)
  @Max(3_600_000)
  readonly requestTimeoutMs: number = 120_000;

  @Setting(
    'BODY_MEMORY',
    'Bytes of bodies one process holds at a time, of one account or network at most two thirds; more are rejected. At least 1.5 x JSON_BODY_LIMIT counts.',
    { unit: 'bytes' },
  )
  @IsInt()
  @Min(1_048_576)
  readonly bodyMemory: number = 268_435_456;

  @Setting(
    'UNAUTHENTICATED_CONNECTIONS',
    'Connections that one network address (IPv6: one /64) may hold at an API without having shown a key; those of TRUSTED_PROXIES do not count; 0 = any number.',
  )
  @IsInt()
  @Min(0)
  @Max(1_000_000)
  readonly unauthenticatedConnections: number = 4_096;

  @Setting(
    'UNKNOWN_KEY_LOOKUPS',
    'Look-ups that a process has under way at once for API keys it has not met; one of each network.',
  )
  @IsInt()
  @Min(1)
  @Max(100)
  readonly unknownKeyLookUps: number = 4;

  @Setting(
    'UNKNOWN_KEYS_WAITING',
    'Requests of one network that may wait for such a look-up, and half of those of all networks; more are answered 429 or 503.',
  )
  @IsInt()
  @Min(1)
  @Max(100_000)
  readonly unknownKeysWaiting: number = 2_500;

  @Setting(
    'TRUSTED_PROXIES',
    'Addresses and networks (10.0.0.0/8) of proxies whose X-Forwarded-For names the caller, where attempts to sign in, unknown keys and bodies are counted; empty = none is trusted.',
    { list: true },
  )
  @ValidateBy({
    name: 'networks',
    validator: {
      validate: (networks) => Array.isArray(networks) && networks.every(isNetwork),
      defaultMessage: () => 'TRUSTED_PROXIES must be addresses or networks such as 10.0.0.0/8, never everyone',
    },
  })
  readonly trustedProxies: string[] = [];

  @Setting('SHUTDOWN_GRACE_MS', 'How long a stopping process may finish what it has begun.', { unit: 'ms' })
  @IsInt()
  @Min(0)
  @Max(600_000)
  readonly shutdownGraceMs: number = 25_000;

  @Setting(
    'SHUTDOWN_DELAY_MS',
    'How long a stopping API still takes connections while /readyz already says no; longer than a load balancer needs to look.',
    { unit: 'ms' },
  )
  @IsInt()
  @Min(0)
  @Max(60_000)
  readonly shutdownDelayMs: number = 0;
}

/** Bytes for bodies: a single one of the largest must fit into one source's share. */
export function bodyMemoryOf({ bodyMemory, jsonBodyLimit }: ApiConfig): number {
  return Math.max(bodyMemory, Math.ceil(1.5 * jsonBodyLimit));
}

/** Address callers reach the API at, without a slash at its end. */
export function publicUrlOf(config: ApiConfig): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return (config.publicUrl ?? `http://${host}:${config.port}`).replace(/\/+$/, '');
}

function isNetwork(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  return text.includes('/') ? ipaddr.isValidCIDR(text) && !text.endsWith('/0') : ipaddr.isValid(text);
}
