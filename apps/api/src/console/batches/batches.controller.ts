import { Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiConsumes, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuditLog } from '#accounts/audit-log.js';
import { BatchRepository } from '#batches/batch.repository.js';
import { BATCH_ENDPOINTS, type BatchScope } from '#batches/batch.js';
import { newBatchId } from '#tasks/row/task-id.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { callerOf } from '../../auth/caller.js';
import { DEFAULT_KEPT_SECONDS } from '../../batches/file-lifetime.js';
import { KeepFile } from '../../batches/keep-file.js';
import { RunBatches } from '../../batches/run-batches.js';
import { missingFile, SendFile } from '../../batches/send-file.js';
import { goneSignal } from '../../common/gone-signal.js';
import { IdParam } from '../../common/params.js';
import { ApiPage } from '../../common/query-fields.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { VisibleTasks, type TaskViewer } from '../tasks/visible-tasks.js';
import { BatchPageQuery, NewBatchQuery } from './dto/batch-queries.dto.js';
import { BATCH_FILES, ConsoleBatchPage, ConsoleBatchView, type BatchFileName } from './dto/batch-views.dto.js';
import { ShownBatches } from './shown-batches.js';

const FORM = {
  type: 'object',
  properties: { file: { type: 'string', format: 'binary' }, purpose: { type: 'string', enum: ['batch'] } },
  required: ['file', 'purpose'],
};

/** Path parameters with a batch and one of its files. */
class BatchFileParams extends IdParam {
  readonly name!: string;
}

/** The account's batches; members see those that they started, or that their keys did. */
@ConsoleController('Batches', 'batches')
@Allow('tasks.read')
export class ConsoleBatchesController {
  constructor(
    private readonly shown: ShownBatches,
    private readonly batches: BatchRepository,
    private readonly uploads: UploadRepository,
    private readonly keepFile: KeepFile,
    private readonly files: SendFile,
    private readonly runner: RunBatches,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiPage()
  @ApiResponse({ status: 200, type: ConsoleBatchPage })
  async list(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Query() query: BatchPageQuery,
  ): Promise<ConsoleBatchPage> {
    return await this.shown.list(scopeOf(session, viewer), query);
  }

  @Post()
  @Allow('tasks.create')
  @RouteConfig({ multipart: 'only', counted: 'submits' })
  @HttpCode(200)
  @ApiConsumes('multipart/form-data')
  @ApiBody({ schema: FORM })
  @ApiQuery({ name: 'endpoint', required: false, enum: BATCH_ENDPOINTS })
  @ApiResponse({
    status: 200,
    type: ConsoleBatchView,
    description: 'Its file is checked before anything is generated.',
  })
  async create(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Query() { endpoint }: NewBatchQuery,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConsoleBatchView> {
    const { file } = await this.keepFile.keep(request, goneSignal(reply));
    const { accountId, keyId: apiKeyId } = callerOf(request);
    const id = newBatchId();
    const asked = { endpoint, inputFileId: file.id, metadata: null, resultsKept: DEFAULT_KEPT_SECONDS };
    const created = this.batches.create({ id, accountId, apiKeyId, orderedBy: session.personId, ...asked });
    await created.catch(async (error: unknown) => {
      // Nobody could name it; its object is collected as an orphan.
      await this.uploads.removeFile({ accountId }, file.id).catch(() => undefined);
      throw error;
    });
    this.runner.wake();
    await this.audit.record(session, 'batch.created', id, { file: file.fileName });
    return await this.shown.find(scopeOf(session, viewer), id);
  }

  @Get(':id')
  @ApiResponse({ status: 200, type: ConsoleBatchView })
  async find(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Param() { id }: IdParam,
  ): Promise<ConsoleBatchView> {
    return await this.shown.find(scopeOf(session, viewer), id);
  }

  @Get(':id/files/:name')
  @ApiParam({ name: 'id', type: String })
  @ApiParam({ name: 'name', enum: BATCH_FILES })
  @ApiResponse({ status: 200, content: { 'application/jsonl': { schema: { type: 'string' } } } })
  async file(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Param() { id, name }: BatchFileParams,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!isFileName(name)) throw missingFile();
    const file = await this.shown.file(scopeOf(session, viewer), id, name);
    void reply.header('content-disposition', `attachment; filename="${id}_${name}.jsonl"`);
    await this.files.send(file, reply);
  }

  @Post(':id/cancel')
  @Allow('tasks.create')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ConsoleBatchView,
    description: 'Lines that wait never start, and running tasks are canceled. What was done stays in its files.',
  })
  async cancel(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Param() { id }: IdParam,
  ): Promise<ConsoleBatchView> {
    const batch = await this.shown.cancel(scopeOf(session, viewer), id);
    this.runner.wake();
    if (batch.status === 'cancelling') await this.audit.record(session, 'batch.cancelled', id);
    return batch;
  }
}

/** As for tasks: those of a member's keys, and those that they started here. */
function scopeOf({ personId }: Session, { accountId, own }: TaskViewer): BatchScope {
  return { accountId, own, personId };
}

function isFileName(name: string): name is BatchFileName {
  return (BATCH_FILES as readonly string[]).includes(name);
}
