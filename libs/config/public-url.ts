import { IsUrl, ValidateBy } from 'class-validator';

/**
 * First parts of our own paths. PUBLIC_URL can't have a path that begins with one of them: without its prefix, a
 * request could not be told from one that still has it.
 */
export const OWN_PATHS: readonly string[] = [
  ...['v1', 'i', 'u', 'console', 'docs', 'openapi.json', 'healthz', 'readyz', 'metrics', 'mcp', 'hooks'],
];

/** Path segments that mean the same in URLs, HTML, cookies and the routes of proxies, however they are escaped. */
const PATH = /^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*\/*$/;

/** Requires a base URL that callers and browsers can use: nothing of it would be ignored. */
export function PublicUrl(): PropertyDecorator {
  return (target, property) => {
    IsUrl({ require_tld: false, require_protocol: true, protocols: ['http', 'https'] })(target, property);
    ValidateBy({
      name: 'publicUrl',
      validator: {
        validate: (text: unknown) => problemOf(text) === undefined,
        defaultMessage: (failure) => `$property ${problemOf(failure?.value) ?? 'is not valid'}`,
      },
    })(target, property);
  };
}

function problemOf(text: unknown): string | undefined {
  // Anything else is reported by IsUrl.
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined;
  const { username, password, search, hash } = new URL(text);
  if (username !== '' || password !== '') return 'can’t have a user name or password';
  if (search !== '' || hash !== '' || /[?#]/.test(text)) return 'can’t have a query or fragment';
  // As written: URL would resolve `..` and escape other characters.
  const path = text.replace(/^https?:\/\/[^/]*/i, '');
  if (!PATH.test(path)) return 'can’t have other characters than letters, digits, - . _ and ~ in its path';
  const [, first = ''] = path.split('/');
  return OWN_PATHS.includes(first)
    ? `can’t have a path that begins with /${first}, a path of the API itself`
    : undefined;
}

/** Path of a public URL, without a slash at the end: empty, or for example `/images`. */
export function pathOfPublicUrl(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '');
}
