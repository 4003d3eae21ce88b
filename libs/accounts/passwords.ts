import { Injectable } from '@nestjs/common';
import { hash } from '@node-rs/argon2';
import { timingSafeEqual } from 'node:crypto';
import { PasswordHashLimiter } from './password-hash-limiter.js';

/** Length in code points; hashing longer passwords would only cost time. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;

/** Argon2id with 19 MiB and two passes, as OWASP recommends; about 20 ms of one core. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Algorithm, parameters and salt: everything before the hash itself. */
const SCHEME = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})(?=\$)/;
/** The scheme of no password, to do the same work for an unknown address. */
const DUMMY_HASH = `$argon2id$v=19$m=${OPTIONS.memoryCost},t=${OPTIONS.timeCost},p=${OPTIONS.parallelism}$bm9ib2R5J3Mgc2FsdA`;

/** Hashes passwords, a few at a time; `network` is where a request comes from. */
@Injectable()
export class Passwords {
  constructor(private readonly places: PasswordHashLimiter) {}

  /** The stored form of a password; with the salt of `like`, if given. Throws AppError like PasswordHashLimiter. */
  async hash(network: string, password: string, like?: string): Promise<string> {
    const scheme = like === undefined ? undefined : schemeOf(like);
    return await this.places.run(network, () => hash(password, scheme === undefined ? OPTIONS : optionsOf(scheme)));
  }

  /**
   * The stored hashes that match a password. Hashes with the same salt cost one computation, and so does an empty list:
   * the time reveals neither whether a user exists nor in how many accounts. Throws AppError like PasswordHashLimiter.
   */
  async matching(network: string, password: string, stored: readonly string[]): Promise<ReadonlySet<string>> {
    const schemes = new Set(stored.flatMap((one) => schemeOf(one) ?? []));
    if (schemes.size === 0) schemes.add(DUMMY_HASH);
    const hashes = await this.places.run(network, async () => {
      const computed: Buffer[] = [];
      // One after the other: a place is for one hash at a time.
      for (const scheme of schemes) computed.push(Buffer.from(await hash(password, optionsOf(scheme))));
      return computed;
    });
    return new Set(stored.filter((one) => hashes.some((hashed) => isSame(hashed, Buffer.from(one)))));
  }
}

function schemeOf(stored: string): string | undefined {
  return SCHEME.exec(stored)?.[0];
}

function optionsOf(scheme: string): { memoryCost: number; timeCost: number; parallelism: number; salt: Buffer } {
  const [, memory, passes, lanes, salt = ''] = SCHEME.exec(`${scheme}$`) ?? [];
  return {
    memoryCost: Number(memory),
    timeCost: Number(passes),
    parallelism: Number(lanes),
    salt: Buffer.from(salt, 'base64'),
  };
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
