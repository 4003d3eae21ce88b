import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  S3ServiceException,
  type S3Client,
  type GetObjectCommandOutput,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Readable } from 'node:stream';
import { IncomingBody } from './incoming-body.js';
import { assertObjectKey } from './object-key.js';
import { HiddenObjects } from './hidden-objects.js';
import {
  ObjectNotFound,
  RangeNotSatisfiable,
  StorageError,
  type ByteRange,
  type ObjectBody,
  type ObjectStore,
  type StoredObject,
} from './object-store.js';
import { probe } from './probe.js';
import { createS3Client } from './s3-client.js';
import type { StorageConfig } from './storage.config.js';
import { asStorageError, NOT_FOUND, type Doing } from './s3-errors.js';
import { storedStream, streamReader } from './stored-stream.js';

/** S3's minimum part size; with two parts in flight, an upload uses about 15 MiB whatever its length. */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_IN_FLIGHT = 2;

/** Stores objects in a bucket of any S3-compatible store. Time and attempts of each request are limited. */
export class S3Store implements ObjectStore {
  private readonly client: S3Client;
  private readonly bucket: string;
  private readonly hidden: HiddenObjects;

  /** `pageSize` is the number of keys per list request. */
  constructor(
    private readonly config: StorageConfig,
    private readonly pageSize = 1_000,
  ) {
    this.bucket = config.s3Bucket;
    this.client = createS3Client(config);
    this.hidden = new HiddenObjects(this.client, config);
  }

  async put(
    key: string,
    body: ObjectBody,
    options: { contentType: string; signal?: AbortSignal },
  ): Promise<{ bytes: number }> {
    assertObjectKey(key);
    const incoming = new IncomingBody(body, options.signal);
    try {
      const upload = new Upload({
        client: this.client,
        params: { Bucket: this.bucket, Key: key, Body: Readable.from(incoming), ContentType: options.contentType },
        partSize: PART_BYTES,
        queueSize: PARTS_IN_FLIGHT,
      });
      // An abort ends the upload's body instead of calling `upload.abort()`: that returns at once and cleans up in the
      // background, while a failed body makes `done()` wait for the parts in flight and remove them.
      await upload.done();
      return { bytes: incoming.bytes };
    } catch (error) {
      if (incoming.failure !== undefined) throw incoming.failure.error;
      throw asStorageError('writing', error);
    } finally {
      incoming.destroy();
    }
  }

  async open(key: string, options: { signal?: AbortSignal; range?: ByteRange } = {}): Promise<StoredObject> {
    assertObjectKey(key);
    const { signal, range } = options;
    const found = await this.request('reading', signal, async () => await this.getObject(key, signal, range)).catch(
      async (error: unknown) => {
        if (range === undefined || !isUnsatisfiable(error)) {
          throw (await this.hidden.explains(error, key)) ? new ObjectNotFound(NOT_FOUND, { cause: error }) : error;
        }
        // The store's refusal doesn't say how large the object is.
        const whole = await this.open(key, signal === undefined ? {} : { signal });
        whole.stream.destroy();
        throw new RangeNotSatisfiable(whole.bytes);
      },
    );
    if (!(found.Body instanceof Readable) || found.ContentLength === undefined) {
      // An unread body keeps its connection.
      if (found.Body instanceof Readable) found.Body.destroy();
      throw new StorageError('object store: the answer has no length or body');
    }
    const bytes = found.ContentLength;
    const stream = storedStream(found.Body, { bytes, idleTimeoutMs: this.config.s3IdleTimeoutMs, signal });
    // A store may ignore a range and answer with the whole object.
    const part = /^bytes (\d+)-\d+\/(\d+)$/.exec(found.ContentRange ?? '');
    return {
      bytes,
      stream,
      read: streamReader(stream),
      ...(part && { part: { first: Number(part[1]), size: Number(part[2]) } }),
    };
  }

  /** Deletes objects one at a time: bulk deletes need Content-MD5, which not every compatible store supports. */
  async delete(key: string): Promise<void> {
    assertObjectKey(key);
    await this.request('deleting', undefined, async () => {
      await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key }));
    }).catch(ignoreMissing);
  }

  async *list(prefix: string): AsyncGenerator<string, void, undefined> {
    let token: string | undefined;
    do {
      const range = { MaxKeys: this.pageSize, ContinuationToken: token };
      const command = new ListObjectsV2Command({ Bucket: this.bucket, Prefix: prefix, ...range });
      const page = await this.request('listing', undefined, async () => await this.client.send(command));
      for (const { Key } of page.Contents ?? []) if (Key !== undefined) yield Key;
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async check(): Promise<void> {
    await probe(this, { signal: AbortSignal.timeout(this.config.s3TimeoutMs) });
  }

  /** Closes idle connections; the store must not be used afterwards. */
  close(): void {
    this.client.destroy();
  }

  private async getObject(
    key: string,
    signal: AbortSignal | undefined,
    range: ByteRange | undefined,
  ): Promise<GetObjectCommandOutput> {
    const part = range && ('suffix' in range ? `-${range.suffix}` : `${range.first}-${range.last ?? ''}`);
    const command = new GetObjectCommand({ Bucket: this.bucket, Key: key, ...(part && { Range: `bytes=${part}` }) });
    return await this.client.send(command, signal === undefined ? {} : { abortSignal: signal });
  }

  private async request<T>(doing: Doing, signal: AbortSignal | undefined, send: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await send();
    } catch (error) {
      signal?.throwIfAborted();
      throw asStorageError(doing, error);
    }
  }
}

function isUnsatisfiable(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof S3ServiceException && cause.$metadata.httpStatusCode === 416;
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof ObjectNotFound)) throw error;
}
