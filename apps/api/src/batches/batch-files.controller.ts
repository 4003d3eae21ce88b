import { Controller, Delete, Get, Header, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import type { DeletedFile, StoredFileList, StoredFileView } from '#contract/stored-file-view.js';
import { unavailable } from '#contract/unavailable.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { UploadRepository, type StoredFile } from '#uploads/upload.repository.js';
import type { Caller as CallerType } from '../auth/caller.js';
import { Caller } from '../auth/caller.decorator.js';
import { goneSignal } from '../common/gone-signal.js';
import { IdParam } from '../common/params.js';
import { discardRest } from '../common/request-stream.js';
import { LinkReads } from '../files/link-reads.js';
import { storedBody } from '../files/stored-body.js';
import {
  DescribeDeletion,
  DescribeFileContent,
  DescribeFiles,
  DescribeNewFile,
  DescribeStoredFile,
} from './batches.openapi.js';
import { fileView, pageOf } from './batch-views.js';
import { FileListQuery } from './dto/page-queries.dto.js';
import { DownloadResults } from './download-results.js';
import { KeepFile } from './keep-file.js';

/** Files on a page, whatever was asked for. */
const MAX_PAGE = 1_000;
const READS = RouteConfig({ scope: 'tasks', counted: 'polls' });

/** Input files and results of batches, in the shape of OpenAI's Files API. */
@ApiTags('Batches')
@Controller('v1/files')
export class BatchFilesController {
  constructor(
    private readonly keepFile: KeepFile,
    private readonly uploads: UploadRepository,
    private readonly reads: LinkReads,
    private readonly results: DownloadResults,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  @Post()
  @RouteConfig({ multipart: 'only', scope: 'images', counted: 'submits' })
  @DescribeNewFile()
  async create(
    @Caller() caller: CallerType,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.keepFile.assertRoom(caller.accountId).catch((error: unknown) => {
      discardRest(request.raw);
      throw error;
    });
    const { file, ignored } = await this.keepFile.keep(request, goneSignal(reply));
    const ignoredParams = ignoredParamsHeader(ignored);
    if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
    void reply.code(200).header('cache-control', 'no-store').send(fileView(file));
  }

  @Get()
  @READS
  @Header('cache-control', 'no-store')
  @DescribeFiles()
  async list(
    @Caller() caller: CallerType,
    @Query() { limit, after, purpose, order }: FileListQuery,
  ): Promise<StoredFileList> {
    const page = { limit: Math.min(limit, MAX_PAGE), after, purpose, ascending: order === 'asc' };
    const { files, hasMore } = await this.uploads.files(caller, page);
    return pageOf(files.map(fileView), hasMore);
  }

  @Get(':id')
  @READS
  @Header('cache-control', 'no-store')
  @DescribeStoredFile()
  async find(@Caller() caller: CallerType, @Param() { id }: IdParam): Promise<StoredFileView> {
    return fileView(await this.named(caller, id));
  }

  @Get(':id/content')
  @READS
  @DescribeFileContent()
  async content(@Caller() caller: CallerType, @Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    const file = await this.named(caller, id);
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
      if (cause instanceof ObjectNotFound) throw missing();
      throw unavailable('The file cannot be read right now.', { retryAfter: 5, cause });
    });
    reply.raw.once('close', () => body.destroy());
    void reply.send(body);
  }

  private async open(file: StoredFile, reply: FastifyReply): Promise<Readable> {
    if (file.purpose === 'batch_output') return await this.results.open(file, reply);
    return storedBody(await this.reads.read(uploadKey(file.id), reply), reply);
  }

  @Delete(':id')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @DescribeDeletion()
  async remove(@Caller() caller: CallerType, @Param() { id }: IdParam): Promise<DeletedFile> {
    if (!(await this.uploads.removeFile(caller, id))) throw missing();
    // An object that can't be deleted now is collected as an orphan.
    await this.store.delete(uploadKey(id)).catch(() => undefined);
    return { id, object: 'file', deleted: true };
  }

  private async named(caller: CallerType, id: string): Promise<StoredFile> {
    const file = await this.uploads.file(caller, id);
    if (file === undefined) throw missing();
    return file;
  }
}

/** The same for a file that is unknown, has expired, or belongs to somebody else. */
function missing(): AppError {
  return new AppError('file_not_found', 'There is no file with this ID, or it has expired.', { param: 'id' });
}
