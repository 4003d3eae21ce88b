import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { unavailable } from '#contract/unavailable.js';
import { isSessionToken, SessionStore, type Session } from '#accounts/session-store.js';
import { SecretLookUps } from '../auth/secret-look-ups.js';
import { FirstLookUpLimiter } from '../auth/first-look-up-limiter.js';

/** Looks up the sessions of cookies; first lookups are limited together with those of API keys. */
@Injectable()
export class SessionLookUps {
  private readonly lookUps: SecretLookUps;

  constructor(
    private readonly sessions: SessionStore,
    limiter: FirstLookUpLimiter,
  ) {
    this.lookUps = new SecretLookUps(limiter);
  }

  /**
   * Undefined when the token has no valid session. Throws AppError: `rate_limit_exceeded` when the client's network
   * sends too many unknown tokens, or `server_is_overloaded` when the database does not answer.
   */
  async find(token: string, address: string): Promise<Session | undefined> {
    if (!isSessionToken(token)) return undefined;
    return await this.lookUps.run(hash('sha256', token, 'base64'), address, () =>
      this.sessions.find(token).catch((cause: unknown) => {
        throw unavailable('The console is unavailable right now. Try again shortly.', {
          retryAfter: 2,
          cause,
        });
      }),
    );
  }
}
