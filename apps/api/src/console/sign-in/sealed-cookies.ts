import { Injectable } from '@nestjs/common';
import { TextSealer } from '#secrets/sealed-text.js';
import { setCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';

/** Longer texts can't be our cookies. */
const MAX_LENGTH = 2_000;

/**
 * Encrypted cookies that a browser keeps during a sign-in. `purpose` prevents one cookie from being used as another.
 */
@Injectable()
export class SealedCookies {
  constructor(private readonly sealer: TextSealer) {}

  set(cookie: ConsoleCookie, purpose: string, kept: object, minutes = 10): CookieChange {
    const text = JSON.stringify({ ...kept, until: Date.now() + minutes * 60_000 });
    const { keyId, sealed } = this.sealer.seal(purpose, text);
    return setCookie(cookie, `${keyId}.${sealed.toString('base64url')}`, minutes * 60);
  }

  /** Undefined when there is no valid cookie, or it has expired. */
  read<T extends object>(cookie: ConsoleCookie, purpose: string, cookies: Cookies): T | undefined {
    const text = cookies[cookie.name];
    if (text === undefined || text.length > MAX_LENGTH) return undefined;
    const [keyId = '', sealed = ''] = text.split('.');
    try {
      const opened = this.sealer.open(purpose, { keyId, sealed: Buffer.from(sealed, 'base64url') });
      const { until, ...kept } = JSON.parse(opened) as T & { until: number };
      return until > Date.now() ? (kept as unknown as T) : undefined;
    } catch {
      return undefined;
    }
  }
}
