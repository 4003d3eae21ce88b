import { Controller, Get, Headers, Param, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { ownerOfKey, resultOfFileName } from '#storage/object-key.js';
import { ObjectNotFound, RangeNotSatisfiable, type ByteRange, type StoredObject } from '#storage/object-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { taskDeleted } from '#tasks/row/task.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { Public } from '../auth/api-key.guard.js';
import { NameParam } from '../common/params.js';
import { namesTag, wantedRange } from './conditions.js';
import { DescribeFile } from './files.openapi.js';
import { LinkReads } from './link-reads.js';
import { storedBody } from './stored-body.js';

const IMAGE_POLICY = "default-src 'none'; sandbox";
const DRAWING_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/** The raw signature parameters of a link; the signer validates them. */
class SignatureQuery {
  readonly exp?: unknown;
  readonly sig?: unknown;
}

/** The headers that decide what of an image is sent. */
interface LinkHeaders {
  readonly 'if-none-match'?: string;
  readonly 'if-range'?: string;
  readonly range?: string;
}

/** Serves finished images through signed links; the Authorization header is ignored. */
@ApiTags('Files')
@Controller('i')
export class FilesController {
  constructor(
    private readonly reads: LinkReads,
    private readonly signer: LinkSigner,
    private readonly deleted: DeletedTasks,
  ) {}

  @Get(':name')
  @Public()
  @DescribeFile()
  async serve(
    @Param() { name }: NameParam,
    @Query() { exp, sig }: SignatureQuery,
    @Headers() headers: LinkHeaders,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const verdict = this.signer.verify(name, exp, sig);
    if (verdict !== 'ok') {
      throw new AppError(
        'invalid_link',
        verdict === 'expired' ? 'The link has expired. Read the task to get a new one.' : 'The link is invalid.',
      );
    }
    const result = resultOfFileName(name);
    if (result === undefined) throw missing();
    // The bytes of a file name never change, so the name works as an ETag.
    const tag = `"${name}"`;
    protect(reply, name, Number(exp));
    void reply.header('etag', tag);
    if (namesTag(headers['if-none-match'], tag)) {
      void reply.code(304).send();
      return;
    }
    const range = reply.request.method === 'GET' ? wantedRange(headers.range, headers['if-range'], tag) : undefined;
    const stored = await this.open(result.key, reply, range);
    void reply.type(result.contentType).header('content-length', stored.bytes);
    if (range !== undefined && stored.part !== undefined) {
      const { first, size } = stored.part;
      void reply.code(206).header('content-range', `bytes ${first}-${first + stored.bytes - 1}/${size}`);
    }
    if (reply.request.method === 'HEAD') {
      stored.stream.destroy();
      // An empty stream keeps the Content-Length; an empty body would set it to 0.
      void reply.send(Readable.from([]));
      return;
    }
    reply.raw.once('close', () => stored.stream.destroy());
    void reply.send(storedBody(stored, reply));
  }

  private async open(key: string, reply: FastifyReply, range: ByteRange | undefined): Promise<StoredObject> {
    return this.reads.read(key, reply, range).catch(async (cause: unknown) => {
      if (cause instanceof AppError) throw cause;
      if (cause instanceof RangeNotSatisfiable) {
        void reply.header('content-range', `bytes */${cause.size}`);
        throw new AppError('range_not_satisfiable', `The image has only ${cause.size} bytes.`, { param: 'Range' });
      }
      if (cause instanceof ObjectNotFound) throw await this.missing(key);
      throw unavailable('The image cannot be read right now.', { retryAfter: 5, cause });
    });
  }

  /** Why an object is not there. Only now is the database asked: images are served without it. */
  private async missing(key: string): Promise<AppError> {
    const { id } = ownerOfKey(key);
    return (await this.deleted.isDeleted(id).catch(() => false)) ? taskDeleted(id) : missing();
  }
}

/**
 * Opened on its own, an image can run no scripts, load no files, and send no referrer, and it is saved under our file
 * name. A drawing may have styles of its own.
 */
function protect(reply: FastifyReply, name: string, expiresAt: number): void {
  const seconds = Math.max(0, expiresAt - Math.ceil(Date.now() / 1000));
  void reply
    .header('accept-ranges', 'bytes')
    .header('cache-control', `private, max-age=${seconds}, immutable`)
    .header('content-disposition', `inline; filename="${name}"`)
    .header('content-security-policy', name.endsWith('.svg') ? DRAWING_POLICY : IMAGE_POLICY)
    .header('cross-origin-resource-policy', 'cross-origin')
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff');
}

function missing(): AppError {
  return new AppError('file_not_found', 'The image is no longer available.');
}
