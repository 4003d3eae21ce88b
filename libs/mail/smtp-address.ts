/** An SMTP server's address, and our credentials there. */
export interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, instead of STARTTLS. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
}

/** Whether a text is `smtp://` or `smtps://` with a host and no path. */
export function isSmtpUrl(text: string): boolean {
  try {
    smtpAddress(text);
    return true;
  } catch {
    return false;
  }
}

/** Parses an SMTP URL and fills in default ports. Throws TypeError or URIError for an invalid one. */
export function smtpAddress(text: string): SmtpAddress {
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  const secure = protocol === 'smtps:';
  const isBare = ['', '/'].includes(pathname) && search === '' && hash === '';
  if (!(secure || protocol === 'smtp:') || hostname === '' || !isBare) throw new TypeError('not an SMTP address');
  return {
    host: decodeURIComponent(hostname.replace(/^\[|\]$/g, '')),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}
