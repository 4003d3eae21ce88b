import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound } from '#storage/object-store.js';
import type { StoredFile } from '#uploads/upload.repository.js';
import { LinkReads } from '../files/link-reads.js';
import { storedBody } from '../files/stored-body.js';
import { DownloadResults } from './download-results.js';

/** Responds with the content of a file of a batch. */
@Injectable()
export class SendFile {
  constructor(
    private readonly reads: LinkReads,
    private readonly results: DownloadResults,
  ) {}

  /** Throws AppError while nothing has been sent. */
  async send(file: StoredFile, reply: FastifyReply): Promise<void> {
    void reply.type('application/jsonl').header('cache-control', 'no-store');
    // How long results are is known only when their images have been read.
    if (file.purpose === 'batch') void reply.header('content-length', file.bytes);
    if (reply.request.method === 'HEAD') {
      // An empty stream keeps the Content-Length; an empty body would set it to 0.
      void reply.send(Readable.from([]));
      return;
    }
    const body = await this.open(file, reply).catch((cause: unknown) => {
      void reply.removeHeader('content-length');
      if (cause instanceof AppError) throw cause;
      if (cause instanceof ObjectNotFound) throw missingFile();
      throw unavailable('The file cannot be read right now.', { retryAfter: 5, cause });
    });
    reply.raw.once('close', () => body.destroy());
    void reply.send(body);
  }

  private async open(file: StoredFile, reply: FastifyReply): Promise<Readable> {
    if (file.purpose === 'batch_output') return await this.results.open(file, reply);
    return storedBody(await this.reads.read(uploadKey(file.id), reply), reply);
  }
}

/** The same for a file that is unknown, has expired, or belongs to somebody else. */
export function missingFile(): AppError {
  return new AppError('file_not_found', 'There is no file with this ID, or it has expired.', { param: 'id' });
}
