import { readFileSync } from 'node:fs';

const FORM = /^postgres(?:ql)?:\/\//;
/** The modes the driver supports; it treats `prefer`, `require`, and `verify-ca` as `verify-full`, with a warning. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const CHECKED = new Set(['prefer', 'require', 'verify-ca']);
/** libpq's names for what we need, a server that accepts writes; `any` is its default. */
const TARGETS = ['any', 'read-write', 'primary'];
const MANY_HOSTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*,[^/?#]*)(.*)$/s;

/** What a DATABASE_URL may say besides its address. Everything else is refused, because the driver would ignore it. */
const HONORED = new Set([
  ...['host', 'port', 'user', 'password', 'options', 'target_session_attrs', 'channel_binding'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
]);
/** What to use instead of parameters of Prisma, libpq and other drivers. */
const INSTEAD: Readonly<Record<string, string>> = {
  schema: 'only schema=public can be used: give each installation a database of its own',
  pgbouncer: 'set DATABASE_POOLER=transaction',
  connection_limit: 'set DATABASE_POOL',
  pool_timeout: 'set DATABASE_CONNECT_TIMEOUT_MS',
  connect_timeout: 'set DATABASE_CONNECT_TIMEOUT_MS',
  socket_timeout: 'set DATABASE_QUERY_TIMEOUT_MS',
  statement_timeout: 'set DATABASE_QUERY_TIMEOUT_MS',
  query_timeout: 'set DATABASE_QUERY_TIMEOUT_MS',
  lock_timeout: 'set DATABASE_QUERY_TIMEOUT_MS',
  application_name: 'each process sets its own, by which doctor counts them',
  fallback_application_name: 'each process sets its own, by which doctor counts them',
  ssl: 'use sslmode=verify-full, or sslmode=disable',
  sslaccept: 'use sslmode=verify-full, or sslmode=no-verify',
  sslidentity: 'use sslcert and sslkey',
  uselibpqcompat: 'certificates are always checked, except with sslmode=no-verify',
};
const BINDINGS = ['disable', 'prefer', 'require'];
const NEGOTIATIONS = ['postgres', 'direct'];
/** Without a certificate that was checked, there is nothing to bind to. */
const UNCHECKED = [null, 'disable', 'no-verify'];

const NO_URL =
  'is not a URL: check its host and port, and percent-encode special characters of its user name and password ' +
  '(# is %23, / is %2F, ? is %3F, @ is %40)';

/** The problem of a DATABASE_URL, without quoting any part of it; undefined when it is valid. */
export function databaseUrlProblem(text: string): string | undefined {
  if (!FORM.test(text)) return 'must start with postgresql://';
  if (/[?&]host=[^&]*,/.test(text))
    return 'must name several hosts before its path: postgresql://user:password@one:5432,two:5432/database';
  const addresses = addressesOf(text);
  const url = parsed(addresses[0]);
  if (addresses.length > 1 && !addresses.every((address) => URL.canParse(address) && new URL(address).hostname !== ''))
    return 'has a host or a port that is not valid';
  if (url === undefined || url.hash !== '' || url.pathname.includes('@') || isSplit(text)) return NO_URL;
  return parameterProblem(url.searchParams);
}

/** The driver takes a socket's address with a user but no host, which URL can't parse: `@/` gets one meanwhile. */
const SOCKET = '@socket/';

function parsed(address: string): URL | undefined {
  const text = URL.canParse(address) ? address : address.replace('@/', SOCKET);
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Whether a question mark in the password hides the host. */
function isSplit(text: string): boolean {
  const [before = '', after = ''] = text.split(/\?(.*)/s);
  return !before.includes('@') && after.includes('@');
}

function parameterProblem(parameters: URLSearchParams): string | undefined {
  const names = [...parameters.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) return `has ${shown(repeated)} more than once`;
  const refused = names.find((name) => !HONORED.has(name) && !(name === 'schema' && parameters.get(name) === 'public'));
  if (refused !== undefined)
    return `has the parameter ${shown(refused)}, which is not supported: ${INSTEAD[refused] ?? 'remove it'}`;
  const mode = parameters.get('sslmode');
  const binding = parameters.get('channel_binding');
  const choices: readonly (readonly [string, readonly string[]])[] = [
    ['target_session_attrs', TARGETS],
    ['sslmode', SSL_MODES],
    ['channel_binding', BINDINGS],
    ['sslnegotiation', NEGOTIATIONS],
  ];
  for (const [name, values] of choices) {
    const value = parameters.get(name);
    if (value !== null && !values.includes(value)) return `has a ${name} that is none of ${values.join(', ')}`;
  }
  if (binding === 'require' && UNCHECKED.includes(mode))
    return 'has channel_binding=require, which needs sslmode=verify-full';
  if (parameters.get('sslnegotiation') === 'direct' && (mode === null || mode === 'disable'))
    return 'has sslnegotiation=direct, which needs sslmode=verify-full';
  const files = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => !isReadable(parameters.get(name)));
  return files.length === 0 ? undefined : `names files that can't be read: ${files.join(', ')}`;
}

/** Names as drivers have them; anything else may be a part of a value that is not percent-encoded. */
function shown(name: string): string {
  return /^\w{1,40}$/.test(name) ? name : 'with an unknown name';
}

/** A DATABASE_URL in the form that the driver takes, which supports one host. */
interface DriverAddresses {
  /** A URL for each host, in their order. */
  readonly urls: readonly [string, ...string[]];
  /** The server options that the URL contained. */
  readonly options: string;
  /** Whether the password is bound to the server's certificate, where the server offers that. */
  readonly channelBinding: boolean;
}

/** The addresses of a DATABASE_URL without problems. */
export function driverAddresses(text: string): DriverAddresses {
  const [first, ...others] = addressesOf(text);
  const { url, options, channelBinding } = driverAddress(first);
  return { urls: [url, ...others.map((other) => driverAddress(other).url)], options, channelBinding };
}

/** One URL for each host of a URL. */
function addressesOf(text: string): [string, ...string[]] {
  const [, before, hosts, after = ''] = MANY_HOSTS.exec(text) ?? [];
  if (before === undefined || hosts === undefined) return [text];
  return hosts.split(',').map((host) => before + host + after) as [string, ...string[]];
}

function driverAddress(text: string): { url: string } & Omit<DriverAddresses, 'urls'> {
  const url = parsed(text);
  if (url === undefined) return { url: text, options: '', channelBinding: false };
  const options = url.searchParams.get('options') ?? '';
  // The driver would let options in the URL replace ours.
  url.searchParams.delete('options');
  const binding = url.searchParams.get('channel_binding') ?? 'disable';
  for (const name of ['target_session_attrs', 'channel_binding', 'schema']) url.searchParams.delete(name);
  if (CHECKED.has(url.searchParams.get('sslmode') ?? '')) url.searchParams.set('sslmode', 'verify-full');
  if (url.searchParams.get('sslrootcert') === 'system') {
    url.searchParams.delete('sslrootcert');
    url.searchParams.set('sslmode', 'verify-full');
  }
  return { url: url.href.replace(SOCKET, '@/'), options, channelBinding: binding !== 'disable' };
}

function isReadable(file: string | null): boolean {
  if (file === null || file === 'system') return true;
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}
