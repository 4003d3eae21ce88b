import { Injectable } from '@nestjs/common';
import type { AuditAction } from '#accounts/audit-actions.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { consoleCookie, type ConsoleCookie, type CookieChange, type Cookies } from '../console-cookie.js';
import { CONSOLE_API } from '../protect-console.js';
import { SealedCookies } from './sealed-cookies.js';

const PURPOSE = 'second step';

/** A user whose password was correct, and the audit event of the sign-in. */
export interface FirstStep {
  readonly personId: string;
  readonly accountId: string;
  /** The step is void once the password has changed. */
  readonly credentialsDigest: string;
  readonly action: AuditAction;
}

/** Remembers for ten minutes that a browser has given the correct password of a user who also needs a code. */
@Injectable()
export class SecondStepCookie {
  private readonly cookie: ConsoleCookie;

  constructor(
    private readonly sealed: SealedCookies,
    config: ApiConfig,
  ) {
    const scope = { path: `${CONSOLE_API}/sign-in`, sameSite: 'strict' } as const;
    this.cookie = consoleCookie(publicUrlOf(config), 'darkroom_second_step', scope);
  }

  set(step: FirstStep): CookieChange {
    return this.sealed.set(this.cookie, PURPOSE, step);
  }

  clear(): CookieChange {
    return { ...this.cookie, value: null };
  }

  /** Undefined when there is no valid cookie, or it has expired. */
  read(cookies: Cookies): FirstStep | undefined {
    return this.sealed.read(this.cookie, PURPOSE, cookies);
  }
}
