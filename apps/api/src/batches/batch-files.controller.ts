import { Controller, Delete, Get, Header, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import type { DeletedFile, StoredFileList, StoredFileView } from '#contract/stored-file-view.js';
import { uploadKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { UploadRepository, type StoredFile } from '#uploads/upload.repository.js';
import type { Caller as CallerType } from '../auth/caller.js';
import { Caller } from '../auth/caller.decorator.js';
import { goneSignal } from '../common/gone-signal.js';
import { IdParam } from '../common/params.js';
import {
  DescribeDeletion,
  DescribeFileContent,
  DescribeFiles,
  DescribeNewFile,
  DescribeStoredFile,
} from './batches.openapi.js';
import { fileView, pageOf } from './batch-views.js';
import { FileListQuery } from './dto/page-queries.dto.js';
import { KeepFile } from './keep-file.js';
import { missingFile, SendFile } from './send-file.js';

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
    private readonly files: SendFile,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  @Post()
  @RouteConfig({ multipart: 'only', scope: 'images', counted: 'submits' })
  @DescribeNewFile()
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
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
    await this.files.send(await this.named(caller, id), reply);
  }

  @Delete(':id')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @DescribeDeletion()
  async remove(@Caller() caller: CallerType, @Param() { id }: IdParam): Promise<DeletedFile> {
    if (!(await this.uploads.removeFile(caller, id))) throw missingFile();
    // An object that can't be deleted now is collected as an orphan.
    await this.store.delete(uploadKey(id)).catch(() => undefined);
    return { id, object: 'file', deleted: true };
  }

  private async named(caller: CallerType, id: string): Promise<StoredFile> {
    const file = await this.uploads.file(caller, id);
    if (file === undefined) throw missingFile();
    return file;
  }
}
