import { domainToASCII } from 'node:url';

/** An SMTP server's address, and our credentials there. */
export interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, instead of STARTTLS. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
  /** The name to introduce ourselves by (EHLO), if the URL has one. */
  readonly name: string | undefined;
}

/** Host names with a dot; servers that look a client's name up accept no other. */
const FULL_NAME = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/i;
/** Names that no public server can look up. */
const PRIVATE_NAME = /\.(?:local|localdomain|localhost|internal|intranet|lan|home|corp|private|arpa|test|invalid)$/i;

/** Whether a text is `smtp://` or `smtps://` with a host, no path, and at most a `name`. */
export function isSmtpUrl(text: string): boolean {
  try {
    smtpAddress(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The name to introduce ourselves by: that of the URL, or of this machine, or the sender's domain if the machine's name is
 * not one that a server can look up, as in a container. Undefined if none is.
 */
export function helloName({ name }: SmtpAddress, machine: string, senderDomain: string): string | undefined {
  const domain = domainToASCII(senderDomain);
  const own = FULL_NAME.test(machine) && !PRIVATE_NAME.test(machine) ? machine : undefined;
  return name ?? own ?? (FULL_NAME.test(domain) ? domain : undefined);
}

/** Parses an SMTP URL and fills in default ports. Throws TypeError or URIError for an invalid one. */
export function smtpAddress(text: string): SmtpAddress {
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = new URL(text);
  const name = searchParams.get('name') ?? undefined;
  const isNamed = searchParams.size === (name === undefined ? 0 : 1) && (name === undefined || FULL_NAME.test(name));
  const secure = protocol === 'smtps:';
  const isBare = ['', '/'].includes(pathname) && isNamed && hash === '';
  if (!(secure || protocol === 'smtp:') || hostname === '' || !isBare) throw new TypeError('not an SMTP address');
  if ((username === '') !== (password === ''))
    throw new TypeError('a user without a password, or a password without a user');
  return {
    host: decodeURIComponent(hostname.replace(/^\[|\]$/g, '')),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    name,
  };
}
