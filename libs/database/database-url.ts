import { readFileSync } from 'node:fs';

const FORM = /^postgres(?:ql)?:\/\//;
/** The modes the driver supports; it treats `prefer`, `require`, and `verify-ca` as `verify-full`, with a warning. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const CHECKED = new Set(['prefer', 'require', 'verify-ca']);
/** libpq's names for what we need, a server that accepts writes; `any` is its default. */
const TARGETS = ['any', 'read-write', 'primary'];
const MANY_HOSTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*,[^/?#]*)(.*)$/s;

/** The problem of a DATABASE_URL, without quoting any part of it; undefined when it is valid. */
export function databaseUrlProblem(text: string): string | undefined {
  if (!FORM.test(text)) return 'must start with postgresql://';
  if (/[?&]host=[^&]*,/.test(text))
    return 'must name several hosts before its path: postgresql://user:password@one:5432,two:5432/database';
  const addresses = addressesOf(text);
  const [first = ''] = addresses;
  if (!URL.canParse(first)) return addresses.length === 1 ? undefined : 'has a host or a port that is not valid';
  if (addresses.length > 1 && !addresses.every((address) => URL.canParse(address) && new URL(address).hostname !== ''))
    return 'has a host or a port that is not valid';
  const { searchParams } = new URL(first);
  const target = searchParams.get('target_session_attrs') ?? 'any';
  if (!TARGETS.includes(target)) return `has a target_session_attrs that is none of ${TARGETS.join(', ')}`;
  const mode = searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) return `has an sslmode that is none of ${SSL_MODES.join(', ')}`;
  const files = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => !isReadable(searchParams.get(name)));
  return files.length === 0 ? undefined : `names files that can't be read: ${files.join(', ')}`;
}

/** A DATABASE_URL in the form that the driver takes, which supports one host. */
interface DriverAddresses {
  /** A URL for each host, in their order. */
  readonly urls: readonly [string, ...string[]];
  /** The server options that the URL contained. */
  readonly options: string;
}

/** The addresses of a DATABASE_URL without problems. */
export function driverAddresses(text: string): DriverAddresses {
  const [first, ...others] = addressesOf(text);
  const { url, options } = driverAddress(first);
  return { urls: [url, ...others.map((other) => driverAddress(other).url)], options };
}

/** One URL for each host of a URL. */
function addressesOf(text: string): [string, ...string[]] {
  const [, before, hosts, after = ''] = MANY_HOSTS.exec(text) ?? [];
  if (before === undefined || hosts === undefined) return [text];
  return hosts.split(',').map((host) => before + host + after) as [string, ...string[]];
}

function driverAddress(text: string): { url: string; options: string } {
  // URL can't parse a socket address with a user but no host; the driver can.
  if (!URL.canParse(text)) return { url: text, options: '' };
  const url = new URL(text);
  const options = url.searchParams.get('options') ?? '';
  // The driver would let options in the URL replace ours.
  url.searchParams.delete('options');
  url.searchParams.delete('target_session_attrs');
  if (CHECKED.has(url.searchParams.get('sslmode') ?? '')) url.searchParams.set('sslmode', 'verify-full');
  if (url.searchParams.get('sslrootcert') === 'system') {
    url.searchParams.delete('sslrootcert');
    url.searchParams.set('sslmode', 'verify-full');
  }
  return { url: url.href, options };
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
