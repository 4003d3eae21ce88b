import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { resultFileName } from './object-key.js';

/** 128 bits; more only makes addresses longer. */
const SIGNATURE_BYTES = 16;
const SIGNATURE = /^[A-Za-z0-9_-]{22}$/;
const EXPIRY = /^[1-9]\d{9,11}$/;

/** A link as callers get it. */
export interface ResultLink {
  readonly url: string;
  /** Unix time in seconds. */
  readonly expiresAt: number;
}

export interface LinkSecrets {
  readonly secretKey: string;
  /** Still verifies, never signs: links given out before a rotation keep working. */
  readonly previousSecretKey?: string | undefined;
}

/** Signs and verifies the links under which this service serves finished pictures. */
export class LinkSigner {
  private readonly keys: readonly [Buffer, ...Buffer[]];

  /** `publicUrl` is the address callers use; `now` gives ms since 1970. */
  constructor(
    secrets: LinkSecrets,
    private readonly publicUrl: string,
    private readonly now: () => number = Date.now,
  ) {
    const previous = secrets.previousSecretKey;
    this.keys = [deriveKey(secrets.secretKey), ...(previous ? [deriveKey(previous)] : [])];
  }

  /** A link to a result that works until `expiresAt` (unix s). Throws on an object that is no result. */
  sign(objectKey: string, expiresAt: number): ResultLink {
    const fileName = resultFileName(objectKey);
    const signature = signatureOf(this.keys[0], fileName, String(expiresAt)).toString('base64url');
    return { url: `${this.publicUrl.replace(/\/+$/, '')}/i/${fileName}?exp=${expiresAt}&sig=${signature}`, expiresAt };
  }

  /** `exp` and `sig` as the query had them: absent, twice or malformed is `invalid`. */
  verify(fileName: string, exp: unknown, sig: unknown): 'ok' | 'expired' | 'invalid' {
    if (typeof exp !== 'string' || typeof sig !== 'string') return 'invalid';
    if (!EXPIRY.test(exp) || !SIGNATURE.test(sig)) return 'invalid';
    const given = Buffer.from(sig, 'base64url');
    // The last character holds four spare bits: of the spellings of one signature only ours counts.
    if (given.toString('base64url') !== sig) return 'invalid';
    const genuine = this.keys.map((key) => timingSafeEqual(signatureOf(key, fileName, exp), given));
    if (!genuine.includes(true)) return 'invalid';
    return Number(exp) * 1_000 > this.now() ? 'ok' : 'expired';
  }
}

function deriveKey(secretKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'signed-link', 32));
}

function signatureOf(key: Buffer, fileName: string, exp: string): Buffer {
  return createHmac('sha256', key).update(`${fileName}\n${exp}`).digest().subarray(0, SIGNATURE_BYTES);
}
