import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { resultFileName } from './object-key.js';

/** 128 bits; more would only make links longer. */
const SIGNATURE_BYTES = 16;
const SIGNATURE = /^[A-Za-z0-9_-]{22}$/;
const EXPIRY = /^[1-9]\d{9,11}$/;
const UPLOAD_ID = /^upload_[0-9A-Z]{26}$/;

/** A link as callers get it. */
export interface ResultLink {
  readonly url: string;
  /** Unix time, in seconds. */
  readonly expiresAt: number;
}

/** The secrets that sign links. */
export interface LinkSecrets {
  readonly secretKey: string;
  /** Verifies links but never signs them, so that links issued before a rotation keep working. */
  readonly previousSecretKey?: string | undefined;
}

/**
 * Signs and verifies this service's links: links to finished images (`/i/`), which are served, and links that identify
 * an upload in a request (`/u/`), which are not. The names in the two can't be mistaken for each other.
 */
export class LinkSigner {
  private readonly keys: readonly [Buffer, ...Buffer[]];
  private readonly base: string;

  /** `publicUrl` is the address that callers use; `now` returns ms since 1970. */
  constructor(
    secrets: LinkSecrets,
    publicUrl: string,
    private readonly now: () => number = Date.now,
  ) {
    this.base = publicUrl.replace(/\/+$/, '');
    const previous = secrets.previousSecretKey;
    this.keys = [deriveKey(secrets.secretKey), ...(previous ? [deriveKey(previous)] : [])];
  }

  /** A link to a result, valid until `expiresAt` (Unix time, s). Throws on an object that is not a result. */
  sign(objectKey: string, expiresAt: number): ResultLink {
    return { url: this.link('i', resultFileName(objectKey), expiresAt), expiresAt };
  }

  /** A link that identifies an upload in requests until `expiresAt` (Unix time, s). */
  signUpload(uploadId: string, expiresAt: number): string {
    return this.link('u', uploadId, expiresAt);
  }

  /**
   * Id of the upload that a link identifies: undefined when it is not an upload link of this service, null when it is
   * invalid or expired.
   */
  uploadNamedBy(address: string): string | null | undefined {
    const id = this.nameIn('u', address);
    return typeof id === 'string' && !UPLOAD_ID.test(id) ? null : id;
  }

  /** File name of the result that a link leads to; undefined and null as for uploads. */
  resultNamedBy(address: string): string | null | undefined {
    return this.nameIn('i', address);
  }

  private nameIn(part: 'i' | 'u', address: string): string | null | undefined {
    if (!URL.canParse(address)) return undefined;
    const url = new URL(address);
    const folder = new URL(`${this.base}/${part}/`);
    if (url.origin !== folder.origin || !url.pathname.startsWith(folder.pathname)) return undefined;
    const name = url.pathname.slice(folder.pathname.length);
    const [exp, sig] = ['exp', 'sig'].map((key) => url.searchParams.getAll(key));
    const once = exp?.length === 1 && sig?.length === 1;
    return once && this.verify(name, exp[0], sig[0]) === 'ok' ? name : null;
  }

  /** `exp` and `sig` are the query's values; missing, repeated, or malformed ones are `invalid`. */
  verify(fileName: string, exp: unknown, sig: unknown): 'ok' | 'expired' | 'invalid' {
    if (typeof exp !== 'string' || typeof sig !== 'string') return 'invalid';
    if (!EXPIRY.test(exp) || !SIGNATURE.test(sig)) return 'invalid';
    const given = Buffer.from(sig, 'base64url');
    // The last character has four spare bits, so a signature has several spellings; only the canonical one is valid.
    if (given.toString('base64url') !== sig) return 'invalid';
    const genuine = this.keys.map((key) => timingSafeEqual(signatureOf(key, fileName, exp), given));
    if (!genuine.includes(true)) return 'invalid';
    return Number(exp) * 1_000 > this.now() ? 'ok' : 'expired';
  }

  private link(folder: 'i' | 'u', name: string, expiresAt: number): string {
    const signature = signatureOf(this.keys[0], name, String(expiresAt)).toString('base64url');
    return `${this.base}/${folder}/${name}?exp=${expiresAt}&sig=${signature}`;
  }
}

function deriveKey(secretKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'signed-link', 32));
}

function signatureOf(key: Buffer, fileName: string, exp: string): Buffer {
  return createHmac('sha256', key).update(`${fileName}\n${exp}`).digest().subarray(0, SIGNATURE_BYTES);
}
