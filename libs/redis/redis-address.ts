/** One server of a list, such as a Sentinel. */
interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** The login of Redis, and the database to work in. */
interface Login {
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
}

/** One Redis server. */
export type ServerAddress = HostAndPort & Login;

/** The Sentinels to ask for the master of a group. The login is that of the Redis servers, not of the Sentinels. */
export interface SentinelAddress extends Login {
  readonly sentinels: readonly HostAndPort[];
  /** What the Sentinels call the master and its replicas. */
  readonly group: string;
}

const DIRECT = /^rediss?:\/\//;
const SENTINEL = /^(rediss?)\+sentinel:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?]+)\/([\w.-]+)(?:\/(\d{1,5}))?$/;
const PORT = 6_379;
const SENTINEL_PORT = 26_379;
const DATABASE = /^\/?(\d{0,5})$/;

/** The problem of a REDIS_URL, without quoting a secret; undefined when it is valid. */
export function redisUrlProblem(url: string): string | undefined {
  const [name] = URL.canParse(url) ? new URL(url).searchParams.keys() : [];
  if (name !== undefined)
    return `has a query (?${/^\w{1,40}$/.test(name) ? name : '...'}), which is not supported: remove it`;
  const address = DIRECT.test(url) ? serverAddress(url) : sentinelAddress(url);
  if (address === undefined) {
    return (
      'must look like redis://user:password@host:port/database, or rediss:// for TLS, ' +
      'or redis+sentinel://user:password@host:port,host:port/group/database, ' +
      'with percent-encoded special characters in user and password'
    );
  }
  if (address.username !== undefined && address.password === undefined)
    return 'has a user without a password, so it would be ignored: redis://user:password@host';
  return undefined;
}

/** Parses `redis://user:password@host:port/database`; undefined for any other URL. */
export function serverAddress(text: string): ServerAddress | undefined {
  if (!DIRECT.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const [, database] = DATABASE.exec(url.pathname) ?? [];
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (database === undefined || username === undefined || password === undefined) return undefined;
  if (url.search !== '' || url.hash !== '' || url.hostname === '') return undefined;
  return {
    tls: url.protocol === 'rediss:',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? PORT : Number(url.port),
    username: username || undefined,
    password: password || undefined,
    db: Number(database),
  };
}

/** Parses `redis+sentinel://user:password@host:port,host:port/group/database`; undefined for any other URL. */
export function sentinelAddress(url: string): SentinelAddress | undefined {
  const [, scheme, user = '', secret = '', hosts = '', group = '', db = '0'] = SENTINEL.exec(url) ?? [];
  if (scheme === undefined) return undefined;
  const sentinels = hosts.split(',').map(hostAndPort);
  const username = decoded(user);
  const password = decoded(secret);
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
