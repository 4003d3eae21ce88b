import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface SealingSecrets {
  readonly secretKey: string;
  /** Still opens, never seals. */
  readonly secretKeyPrevious?: string | undefined;
}

/** A text as it is stored. */
export interface SealedText {
  /** Names the key that sealed it; tells nothing of the key. */
  readonly keyId: string;
  /** Nonce, tag and ciphertext. */
  readonly sealed: Buffer;
}

/** The text was sealed with another SECRET_KEY, for another row, or was changed. */
export class UnreadableSecret extends Error {
  override readonly name = 'UnreadableSecret';
}

interface SealingKey {
  readonly id: string;
  readonly key: Buffer;
}

/** Encrypts secrets for the database: AES-256-GCM under a key of SECRET_KEY, bound to the row that holds it. */
export class TextSealer {
  private readonly keys: readonly [SealingKey, ...SealingKey[]];

  /** `purpose` keeps the secrets of different rooms under different keys. */
  constructor(secrets: SealingSecrets, purpose: string) {
    const previous = secrets.secretKeyPrevious;
    this.keys = [derive(secrets.secretKey, purpose), ...(previous ? [derive(previous, purpose)] : [])];
  }

  /** Whether a text should be sealed again, because the key it is under is on its way out. */
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

/** Names a SECRET_KEY beside what was hashed with it; tells nothing of the key. */
export function secretIdOf(secretKey: string): string {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'secret id', 32));
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}
