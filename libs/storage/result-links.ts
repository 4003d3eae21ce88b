import { Injectable, Optional } from '@nestjs/common';
import { resultFileName } from './object-key.js';
import { presignGet } from './presign.js';
import { LinkSigner, type ResultLink } from './signed-link.js';
import { endpointOf, StorageConfig } from './storage.config.js';

/** The object to link, and when its task ended. */
export interface LinkedResult {
  readonly objectKey: string;
  readonly finishedAt: Date;
  /** A favorite, which does not expire. */
  readonly isKept?: boolean;
  /** When it is deleted, if not by retention, in ms since 1970. */
  readonly deletedAt?: number | null | undefined;
}

/**
 * Creates links to finished images, new ones on every read. They lead to this service or, if so configured, directly to
 * the store. A link expires after the configured time, but never later than its object.
 */
@Injectable()
export class ResultLinks {
  /** `now` returns ms since 1970. */
  constructor(
    private readonly config: StorageConfig,
    private readonly signer: LinkSigner,
    @Optional() private readonly now: () => number = Date.now,
  ) {}

  /** Throws on an object that is not a result. Returns undefined once the object has expired. */
  linkFor(result: LinkedResult): ResultLink | undefined {
    const now = Math.floor(this.now() / 1_000);
    const objectExpiresAt = result.isKept === true ? Infinity : this.objectExpiresAt(result.finishedAt);
    const deletedAt = typeof result.deletedAt === 'number' ? Math.floor(result.deletedAt / 1_000) : Infinity;
    const expiresAt = Math.min(now + this.config.linkTtlSeconds, objectExpiresAt, deletedAt);
    if (expiresAt <= now) return undefined;
    const presigned = this.config.storage === 's3' && this.config.s3Links === 'presigned';
    return presigned ? this.presigned(result.objectKey, now, expiresAt) : this.signer.sign(result.objectKey, expiresAt);
  }

  /** Until when the images of a task that ended then are kept, in seconds since 1970, unless it is a favorite. */
  objectExpiresAt(finishedAt: Date): number {
    return Math.floor(finishedAt.getTime() / 1_000) + this.config.imageRetentionHours * 3_600;
  }

  private presigned(objectKey: string, now: number, expiresAt: number): ResultLink {
    resultFileName(objectKey);
    const { s3Region: region, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = this.config;
    const target = { url: bucketUrl(this.config, objectKey), region, accessKeyId, secretAccessKey };
    return { url: presignGet(target, expiresAt - now, new Date(now * 1_000)), expiresAt };
  }
}

/** Origin of links that lead directly to the store; undefined when this service serves all links. */
export function foreignLinkOrigin(config: StorageConfig): string | undefined {
  return config.storage === 's3' && config.s3Links === 'presigned' ? bucketUrl(config, '').origin : undefined;
}

function bucketUrl(config: StorageConfig, key: string): URL {
  const endpoint = config.s3PublicEndpoint ?? endpointOf(config);
  const url = new URL(endpoint);
  const folder = url.pathname.replace(/\/+$/, '');
  url.pathname = config.s3ForcePathStyle ? `${folder}/${config.s3Bucket}/${key}` : `${folder}/${key}`;
  if (!config.s3ForcePathStyle) url.hostname = `${config.s3Bucket}.${url.hostname}`;
  return url;
}
