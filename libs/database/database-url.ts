import { readFileSync } from 'node:fs';

const FORM = /^postgres(?:ql)?:\/\//;
/** The modes the driver supports; it treats `prefer`, `require`, and `verify-ca` as `verify-full`, with a warning. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const CHECKED = new Set(['prefer', 'require', 'verify-ca']);

/** The problem of a DATABASE_URL, without quoting any part of it; undefined when it is valid. */
export function databaseUrlProblem(text: string): string | undefined {
  if (!FORM.test(text)) return 'must start with postgresql://';
  if (/^[^/]+\/\/[^/?]*,|[?&]host=[^&]*,/.test(text))
    return (
      'must name one host, because the driver knows no others: name an address that follows the primary ' +
      '(docs/operations.md, Postgres)'
    );
  if (!URL.canParse(text)) return undefined;
  const { searchParams } = new URL(text);
  const mode = searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) return `has an sslmode that is none of ${SSL_MODES.join(', ')}`;
  const files = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => !isReadable(searchParams.get(name)));
  return files.length === 0 ? undefined : `names files that can't be read: ${files.join(', ')}`;
}

/** The URL in the form that the driver takes, and the server options that it contained. */
export function driverAddress(text: string): { connectionString: string; options: string } {
  // URL can't parse a socket address with a user but no host; the driver can.
  if (!URL.canParse(text)) return { connectionString: text, options: '' };
  const url = new URL(text);
  const options = url.searchParams.get('options') ?? '';
  // The driver would let options in the URL replace ours.
  url.searchParams.delete('options');
  if (CHECKED.has(url.searchParams.get('sslmode') ?? '')) url.searchParams.set('sslmode', 'verify-full');
  if (url.searchParams.get('sslrootcert') === 'system') {
    url.searchParams.delete('sslrootcert');
    url.searchParams.set('sslmode', 'verify-full');
  }
  return { connectionString: url.href, options };
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
