import { readFileSync } from 'node:fs';

const FORM = /^postgres(?:ql)?:\/\//;
/** The driver takes those between the first and the last for `verify-full`, and warns of each; it knows no other. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const CHECKED = new Set(['prefer', 'require', 'verify-ca']);

/** What is wrong with a DATABASE_URL, without a part of it; undefined when nothing is. */
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

/** The URL as the driver takes it, and the options for the server's process that it had. */
export function driverAddress(text: string): { connectionString: string; options: string } {
  // A socket's URL, with a user and without a host, is read by the driver alone.
  if (!URL.canParse(text)) return { connectionString: text, options: '' };
  const url = new URL(text);
  const options = url.searchParams.get('options') ?? '';
  // The driver would let it take the place of ours.
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
