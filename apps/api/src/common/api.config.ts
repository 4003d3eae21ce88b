import { IsBoolean, IsIn, IsOptional, ValidateBy } from 'class-validator';
import ipaddr from 'ipaddr.js';
import { pathOfPublicUrl } from '#config/public-url.js';
import { Setting, Within } from '#config/setting.js';
import { HostSetting, PublicUrlSetting, ShutdownGraceSetting } from '#config/shared-settings.js';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';

/** Maximum JSON body of an image request, in bytes: the contract's. One source's half of the memory for bodies must fit it. */
export const JSON_BODY_LIMIT = 67_108_864;
/** Maximum form of an edit, in bytes: the contract's. It is never held as a whole. */
export const MULTIPART_BODY_LIMIT = 200_000_000;

/** Where the API listens, its public address, and the limits of requests. */
export class ApiConfig {
  @Setting('PORT', 'Port the API listens on.', { who: 'start' })
  @Within(1, 65_535)
  readonly port: number = 3000;

  @HostSetting()
  readonly host: string = '127.0.0.1';

  @IsOptional()
  @PublicUrlSetting()
  readonly publicUrl?: string;

  @Setting(
    'HSTS_SECONDS',
    'With an https PUBLIC_URL: how long browsers must use https for its host, on every port (Strict-Transport-Security); 0 = no header.',
    { who: 'rules', unit: 's' },
  )
  @Within(0, 63_072_000)
  readonly hstsSeconds: number = 31_536_000;

  @Setting(
    'SYNC_WAIT_MS',
    'How long a synchronous request waits for its image before it is answered with still_running.',
    { who: 'traffic', unit: 'ms' },
  )
  @Within(1_000, 600_000)
  readonly syncWaitMs: number = 100_000;

  @Setting(
    'STREAM_PING_MS',
    'How often a comment is sent to keep a streamed response alive while its image is generated.',
    { who: 'traffic', unit: 'ms' },
  )
  @Within(100, 60_000)
  readonly streamPingMs: number = 15_000;

  @Setting(
    'DEFAULT_RESPONSE_FORMAT',
    'Response format of requests without response_format whose key and account set no default: both (a link and base64), url, or b64_json.',
    { who: 'rules' },
  )
  @IsIn([...DEFAULT_RESPONSE_FORMATS], {
    message: `DEFAULT_RESPONSE_FORMAT must be one of ${DEFAULT_RESPONSE_FORMATS.join(', ')}`,
  })
  readonly defaultResponseFormat: DefaultResponseFormat = 'both';

  @Setting(
    'ALLOW_PIXEL_SIZE',
    'Whether generations accept sizes in pixels (1024x1024) unless the key sets it; edits always accept them.',
    { who: 'rules' },
  )
  @IsBoolean()
  readonly allowPixelSize: boolean = true;

  @Setting(
    'REQUEST_TIMEOUT_MS',
    'Time limit for receiving a request, at most 15 s of it for the headers, checked every 5 s; slower requests get 408. A connection whose client reads nothing of a waiting response is closed within the same time.',
    { who: 'traffic', unit: 'ms' },
  )
  @Within(1_000, 3_600_000)
  readonly requestTimeoutMs: number = 120_000;

  @Setting(
    'BODY_MEMORY',
    'Maximum memory of one process for request bodies, and for partial images and chats waiting for slow readers. One account or network may use half of it; requests beyond that are rejected.',
    { who: 'traffic', unit: 'bytes' },
  )
  @Within(2 * JSON_BODY_LIMIT)
  readonly bodyMemory: number = 268_435_456;

  @Setting(
    'UNAUTHENTICATED_CONNECTIONS',
    'Maximum connections without an API key from one IP address (IPv6: one /64) to an API process; one wider network (IPv4 /24, IPv6 /48) may have twice as many. TRUSTED_PROXIES don’t count; 0 = unlimited.',
    { who: 'traffic' },
  )
  @Within(0, 1_000_000)
  readonly unauthenticatedConnections: number = 4_096;

  @Setting(
    'ACCOUNT_FOLLOWERS',
    'Maximum open long polls and event streams of one account, per API process; 0 = unlimited.',
    { who: 'traffic' },
  )
  @Within(0, 1_000_000)
  readonly accountFollowers: number = 2_000;

  @Setting(
    'UNKNOWN_KEYS_WAITING',
    'Maximum requests of one network that wait for a lookup of an unknown key; all networks together may have twice as many. Requests beyond that get 429 or 503.',
    { who: 'debugging' },
  )
  @Within(1, 100_000)
  readonly unknownKeysWaiting: number = 2_500;

  @Setting(
    'TRUSTED_PROXIES',
    'IP addresses and networks (10.0.0.0/8) of proxies whose X-Forwarded-For is trusted to identify the caller, for limits on sign-in attempts, unknown keys, and bodies; empty = none.',
    { who: 'processes', list: true },
  )
  @ValidateBy({
    name: 'networks',
    validator: {
      validate: (networks) => Array.isArray(networks) && networks.every(isNetwork),
      defaultMessage: () => 'TRUSTED_PROXIES must be addresses or networks such as 10.0.0.0/8, but not all addresses',
    },
  })
  readonly trustedProxies: string[] = [];

  @ShutdownGraceSetting()
  readonly shutdownGraceMs: number = 25_000;

  @Setting(
    'SHUTDOWN_DELAY_MS',
    'How long a stopping API process keeps accepting connections after /readyz starts to fail; set it longer than the load balancer’s check interval.',
    { who: 'processes', unit: 'ms' },
  )
  @Within(0, 60_000)
  readonly shutdownDelayMs: number = 0;
}

/** Public address of the API, without a trailing slash. */
export function publicUrlOf(config: ApiConfig): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return (config.publicUrl ?? `http://${host}:${config.port}`).replace(/\/+$/, '');
}

/** Path of the public address, without a trailing slash: empty, or for example `/images`. */
export function publicPathOf(config: ApiConfig): string {
  return pathOfPublicUrl(publicUrlOf(config));
}

function isNetwork(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  return text.includes('/') ? ipaddr.isValidCIDR(text) && !text.endsWith('/0') : ipaddr.isValid(text);
}
