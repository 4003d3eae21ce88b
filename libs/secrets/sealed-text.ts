import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface SealingSecrets {
  readonly secretKey: string;
  /** Decrypts older texts, never encrypts. */
  readonly secretKeyPrevious?: string | undefined;
}

/** An encrypted text as it is stored. */
export interface SealedText {
  /** Identifies the encryption key and reveals nothing about it. */
  readonly keyId: string;
  /** Nonce, tag and ciphertext. */
  readonly sealed: Buffer;
}

/** The text was encrypted with another SECRET_KEY or for another row, or it was modified. */
export class UnreadableSecret extends Error {
  override readonly name = 'UnreadableSecret';
}

interface SealingKey {
  readonly id: string;
  readonly key: Buffer;
}

/** Encrypts secrets for the database: AES-256-GCM with a key derived from SECRET_KEY, bound to the row's id. */
export class TextSealer {
  private readonly keys: readonly [SealingKey, ...SealingKey[]];

  /** `purpose` gives each room keys of its own. */
  constructor(secrets: SealingSecrets, purpose: string) {
    const previous = secrets.secretKeyPrevious;
    this.keys = [derive(secrets.secretKey, purpose), ...(previous ? [derive(previous, purpose)] : [])];
  }

  /** Whether a text should be encrypted again, because its key is the previous one. */
  isOutdated({ keyId }: SealedText): boolean {
    return keyId !== this.keys[0].id;
  }

  seal(rowId: string, text: string): SealedText {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keys[0].key, nonce).setAAD(Buffer.from(rowId));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return { keyId: this.keys[0].id, sealed: Buffer.concat([nonce, cipher.getAuthTag(), body]) };
  }

  /** Throws UnreadableSecret. */
  open(rowId: string, { keyId, sealed }: SealedText): string {
    const found = this.keys.find(({ id }) => id === keyId);
    if (found === undefined) throw new UnreadableSecret('sealed with a SECRET_KEY that is not known');
    try {
      const opened = createDecipheriv(CIPHER, found.key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(rowId))
        .setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([opened.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), opened.final()]).toString('utf8');
    } catch (cause) {
      throw new UnreadableSecret('not what was sealed for this row', { cause });
    }
  }
}

function derive(secretKey: string, purpose: string): SealingKey {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', `sealed ${purpose}`, 32));
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 12), key };
}

/** Identifies the SECRET_KEY that a stored hash was made with; reveals nothing about it. */
export function secretIdOf(secretKey: string): string {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'secret id', 32));
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}
