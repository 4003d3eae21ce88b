import { Injectable } from '@nestjs/common';
import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, type KeyObject } from 'node:crypto';
import { unixSeconds } from '#contract/image-result.js';
import type { ReceiptKeys, TaskReceipt } from '#contract/task-receipt.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import type { TaskScope } from '#tasks/row/task.js';
import { DeletedTasks, type Erasure } from '#tasks/states/deleted-tasks.js';

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  /** The public key, in base64url. */
  readonly x: string;
}

/**
 * Signed receipts of deleted tasks. Ed25519 and not an HMAC, so that whoever verifies one needs no secret. The key is
 * derived from SECRET_KEY, so all processes have it and nothing is stored; a receipt of a row is the same each time.
 */
@Injectable()
export class Receipts {
  private readonly keys: readonly [SigningKey, ...SigningKey[]];

  constructor(
    private readonly tasks: DeletedTasks,
    { secretKey, secretKeyPrevious }: SecretsConfig,
  ) {
    this.keys = [derive(secretKey), ...(secretKeyPrevious ? [derive(secretKeyPrevious)] : [])];
  }

  /** The public keys: the present one, and the one before. */
  get publicKeys(): ReceiptKeys {
    return {
      keys: this.keys.map(({ id, x }) => ({ kty: 'OKP', crv: 'Ed25519', x, kid: id, alg: 'EdDSA', use: 'sig' })),
    };
  }

  /**
   * The receipt of a deleted task: null until the last of its contents is gone; undefined when the scope has no such
   * task, or it was not deleted.
   */
  async of(scope: TaskScope, id: string): Promise<TaskReceipt | null | undefined> {
    const erasure = await this.tasks.erasureOf(scope, id);
    return erasure && this.signed(id, erasure);
  }

  private signed(id: string, { deletedAt, erasedAt, contents }: Erasure): TaskReceipt | null {
    if (erasedAt === null || contents === null) return null;
    const [key] = this.keys;
    const receipt = {
      object: 'task.receipt' as const,
      id,
      deleted_at: unixSeconds(deletedAt),
      erased_at: unixSeconds(erasedAt),
      images: contents.images,
      reference_images: contents.inputs,
      uploads: contents.uploads,
      digest: `sha256:${contents.digest}`,
      key_id: key.id,
    };
    const signed = `${base64url({ alg: 'EdDSA', kid: key.id })}.${base64url(receipt)}`;
    return { ...receipt, jws: `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}` };
  }
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function derive(secretKey: string): SigningKey {
  const seed = Buffer.from(hkdfSync('sha256', secretKey, '', 'deletion receipts', 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { id: createHash('sha256').update(x).digest('hex').slice(0, 12), privateKey, x };
}
