import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { ulid } from 'ulid';
import { StorageForbidden } from './object-store.js';
import { isForbidden } from './s3-errors.js';
import type { StorageConfig } from './storage.config.js';

/** How long a finding is trusted, in ms: that the store hides missing objects, or that it denies those that are there. */
const HIDES_MS = 600_000;
const DENIES_MS = 5_000;
/** An object of each folder that is always there, for comparison; it is only written where it is needed. */
const MARKER = 'readable';
/** AWS names the right that is missing: without this one, it does not say whether an object is there. */
const OF_LISTS = /\bs3:ListBucket\b/;
/** A right without which an object that is there can't be read. */
const OF_OBJECTS = /\b(?:s3:GetObject|kms:)/;

interface Finding {
  readonly hides: Promise<boolean>;
  readonly until: number;
}

/**
 * To keys without s3:ListBucket, S3 and most compatible stores answer "access denied" for objects that are missing, as if
 * they were there. This class tells the two apart, so that an object that is there is never taken for missing.
 */
export class HiddenObjects {
  /** By folder, of which there are four: a policy may be limited to some. */
  private readonly findings = new Map<string, Finding>();

  constructor(
    private readonly client: S3Client,
    private readonly config: StorageConfig,
  ) {}

  /** Whether a failed read of this key means that it has no object. Never throws. */
  async explains(error: unknown, key: string): Promise<boolean> {
    if (!(error instanceof StorageForbidden)) return false;
    const told = error.cause instanceof Error ? error.cause.message : '';
    if (OF_LISTS.test(told)) return true;
    if (OF_OBJECTS.test(told)) return false;
    const [folder = ''] = key.split('/');
    const now = Date.now();
    let finding = this.findings.get(folder);
    if (finding === undefined || finding.until < now) {
      const hides = this.hides(folder).catch(() => false);
      finding = { hides, until: now + HIDES_MS };
      this.findings.set(folder, finding);
      if (!(await hides)) this.findings.set(folder, { hides, until: now + DENIES_MS });
    }
    return await finding.hides;
  }

  /** The store denies an object that can't be there, but not one that is. */
  private async hides(folder: string): Promise<boolean> {
    if ((await this.read(`${folder}/missing_${ulid()}`)) !== 'denied') return false;
    const marker = `${folder}/${MARKER}`;
    if ((await this.read(marker)) === 'read') return true;
    await this.client.send(
      new PutObjectCommand({ Bucket: this.config.s3Bucket, Key: marker, Body: MARKER, ContentType: 'text/plain' }),
      this.limit,
    );
    return (await this.read(marker)) === 'read';
  }

  private async read(key: string): Promise<'read' | 'denied' | 'missing'> {
    try {
      const { Body } = await this.client.send(
        new GetObjectCommand({ Bucket: this.config.s3Bucket, Key: key }),
        this.limit,
      );
      // An unread body keeps its connection.
      if (Body instanceof Readable) Body.destroy();
      return 'read';
    } catch (error) {
      return isForbidden(error) ? 'denied' : 'missing';
    }
  }

  private get limit(): { abortSignal: AbortSignal } {
    return { abortSignal: AbortSignal.timeout(this.config.s3TimeoutMs) };
  }
}
