/** Where an SMTP server is, and who we are there. */
export interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, instead of STARTTLS. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
}

/** Whether a text is `smtp://` or `smtps://` with a host, and nothing behind it. */
export function isSmtpUrl(text: string): boolean {
  try {
    smtpAddress(text);
    return true;
  } catch {
    return false;
  }
}

/** Takes an address apart; ports have their defaults. Throws TypeError or URIError for what is none. */
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
