import { Body, Controller, Get, Header, HttpCode, Param, Post, Query } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import { BatchRepository } from '#batches/batch.repository.js';
import { hasChats, WINDOW_MS, type Batch } from '#batches/batch.js';
import { AppError } from '#contract/app-error.js';
import type { BatchList, BatchView } from '#contract/batch-view.js';
import { newBatchId } from '#tasks/row/task-id.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { assertScope, type Caller as CallerType } from '../auth/caller.js';
import { Caller } from '../auth/caller.decorator.js';
import { IdParam } from '../common/params.js';
import { DescribeBatch, DescribeBatchCancel, DescribeBatches, DescribeNewBatch } from './batches.openapi.js';
import { batchView, pageOf } from './batch-views.js';
import { BatchBody } from './dto/batch-body.dto.js';
import { BatchListQuery } from './dto/page-queries.dto.js';
import { DEFAULT_KEPT_SECONDS, keptSeconds } from './file-lifetime.js';
import { RunBatches } from './run-batches.js';

const READS = RouteConfig({ scope: 'tasks', counted: 'polls' });

/** Many image requests in one file, in the shape of OpenAI's Batch API. */
@ApiTags('Batches')
@Controller('v1/batches')
export class BatchesController {
  constructor(
    private readonly batches: BatchRepository,
    private readonly uploads: UploadRepository,
    private readonly runner: RunBatches,
  ) {}

  @Post()
  @RouteConfig({ scope: 'images', counted: 'submits' })
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @DescribeNewBatch()
  async create(@Caller() caller: CallerType, @Body() body: BatchBody): Promise<BatchView> {
    const { input_file_id: inputFileId, endpoint, metadata, output_expires_after: kept } = body;
    if (hasChats(body)) assertScope(caller, 'chat');
    const resultsKept = kept ? keptSeconds(kept, 'output_expires_after') : DEFAULT_KEPT_SECONDS;
    await this.assertInput(caller, inputFileId);
    const { accountId, keyId: apiKeyId } = caller;
    const asked = { accountId, apiKeyId, endpoint, inputFileId, metadata: metadata ?? null, resultsKept };
    const batch = await this.batches.create({ id: newBatchId(), ...asked });
    this.runner.wake();
    return batchView(batch);
  }

  @Get()
  @READS
  @Header('cache-control', 'no-store')
  @DescribeBatches()
  async list(@Caller() caller: CallerType, @Query() query: BatchListQuery): Promise<BatchList> {
    const { batches, hasMore } = await this.batches.list(caller, query);
    return pageOf(batches.map(batchView), hasMore);
  }

  @Get(':id')
  @READS
  @Header('cache-control', 'no-store')
  @DescribeBatch()
  async find(@Caller() caller: CallerType, @Param() { id }: IdParam): Promise<BatchView> {
    return viewOf(await this.batches.find(caller, id));
  }

  @Post(':id/cancel')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @DescribeBatchCancel()
  async cancel(@Caller() caller: CallerType, @Param() { id }: IdParam): Promise<BatchView> {
    const batch = await this.batches.cancel(caller, id);
    this.runner.wake();
    return viewOf(batch);
  }

  /** The lines are read from the file as long as the batch runs. */
  private async assertInput(caller: CallerType, id: string): Promise<void> {
    const param = 'input_file_id';
    const file = await this.uploads.file(caller, id);
    if (file === undefined) {
      throw new AppError('invalid_value', 'There is no file with this ID, or it has expired.', { param });
    }
    if (file.purpose !== 'batch') {
      throw new AppError('invalid_value', 'The file has another purpose than batch.', { param });
    }
    if (file.expiresAt.getTime() >= Date.now() + WINDOW_MS) return;
    const text = 'The file expires within 24 hours, before the batch may end. Upload it again.';
    throw new AppError('invalid_value', text, { param });
  }
}

/** The same error for a batch that is unknown or belongs to somebody else. */
function viewOf(batch: Batch | undefined): BatchView {
  if (batch === undefined) throw new AppError('not_found', 'There is no batch with this ID.', { param: 'id' });
  return batchView(batch);
}
