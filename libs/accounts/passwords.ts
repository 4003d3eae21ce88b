import { Injectable } from '@nestjs/common';
import { hash } from '@node-rs/argon2';
import { timingSafeEqual } from 'node:crypto';
import { HashPlaces } from './hash-places.js';

/** Code points a password has at least, and at most: hashing longer ones would only cost time. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;

/** Argon2id with 19 MiB and two passes, as OWASP recommends; about 20 ms of one core. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** How a password was hashed, as it stands before the hash itself. */
const SCHEME = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})(?=\$)/;
/** Of nobody's password, to do the same work where there is none. */
const NOBODYS = `$argon2id$v=19$m=${OPTIONS.memoryCost},t=${OPTIONS.timeCost},p=${OPTIONS.parallelism}$bm9ib2R5J3Mgc2FsdA`;

/** Hashes passwords, a few at a time; `network` is where a request comes from. */
@Injectable()
export class Passwords {
  constructor(private readonly places: HashPlaces) {}

  /** What is stored of a password; with the salt of another hash, if one is given. Throws AppError like HashPlaces. */
  async hash(network: string, password: string, like?: string): Promise<string> {
    const scheme = like === undefined ? undefined : schemeOf(like);
    return await this.places.run(network, () => hash(password, scheme === undefined ? OPTIONS : optionsOf(scheme)));
  }

  /**
   * Which of the stored hashes a password belongs to. Those with one salt are one hash's work, and none at all is as
   * much, so that the time tells neither who exists nor in how many accounts. Throws AppError like HashPlaces.
   */
  async matching(network: string, password: string, stored: readonly string[]): Promise<ReadonlySet<string>> {
    const schemes = new Set(stored.flatMap((one) => schemeOf(one) ?? []));
    if (schemes.size === 0) schemes.add(NOBODYS);
    const hashes = await this.places.run(network, async () => {
      const made: Buffer[] = [];
      // One after the other: a place is for one hash at a time.
      for (const scheme of schemes) made.push(Buffer.from(await hash(password, optionsOf(scheme))));
      return made;
    });
    return new Set(stored.filter((one) => hashes.some((made) => isSame(made, Buffer.from(one)))));
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
