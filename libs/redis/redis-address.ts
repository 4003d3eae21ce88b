/** One server of a list, such as a Sentinel. */
interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** The Sentinels to ask for the master of a group, and the login of its servers. */
export interface SentinelAddress {
  readonly tls: boolean;
  readonly sentinels: readonly HostAndPort[];
  /** What the Sentinels call the master and its replicas. */
  readonly group: string;
  /** These three belong to the Redis servers, not to the Sentinels. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
}

const DIRECT = /^rediss?:\/\//;
const SENTINEL = /^(rediss?)\+sentinel:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?]+)\/([\w.-]+)(?:\/(\d{1,5}))?$/;
const SENTINEL_PORT = 26_379;

/** Whether REDIS_URL has a supported form. */
export function isRedisUrl(url: string): boolean {
  return DIRECT.test(url) ? URL.canParse(url) : sentinelAddress(url) !== undefined;
}

/** Parses `redis+sentinel://user:password@host:port,host:port/group/database`; undefined for any other URL. */
export function sentinelAddress(url: string): SentinelAddress | undefined {
  const [, scheme, user = '', secret = '', hosts = '', group = '', db = '0'] = SENTINEL.exec(url) ?? [];
  if (scheme === undefined) return undefined;
  const sentinels = hosts.split(',').map(hostAndPort);
  const [username, password] = [decoded(user), decoded(secret)];
  if (username === undefined || password === undefined || !sentinels.every((one) => one !== undefined))
    return undefined;
  const login = { username: username || undefined, password: password || undefined };
  return { tls: scheme === 'rediss', sentinels, group, ...login, db: Number(db) };
}

/** An IPv6 address stands in brackets. */
function hostAndPort(text: string): HostAndPort | undefined {
  const [, bracketed, plain, port] = /^(?:\[([\da-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? undefined : { host, port: port === undefined ? SENTINEL_PORT : Number(port) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
