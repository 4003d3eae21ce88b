import { Controller, Get, Header, Param } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import type { ReceiptKeys, TaskReceipt } from '#contract/task-receipt.js';
import { unavailable } from '#contract/unavailable.js';
import { Receipts } from '#erasure/receipts.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { Public } from '../auth/api-key.guard.js';
import { Caller } from '../auth/caller.decorator.js';
import { TaskIdParam } from '../common/params.js';
import { DescribeReceipt, DescribeReceiptKeys } from './tasks.openapi.js';

/** The proofs that tasks were deleted, and the public keys that verify them. */
@ApiTags('Tasks')
@Controller()
export class ReceiptsController {
  constructor(private readonly receipts: Receipts) {}

  @Get('v1/tasks/:taskId/receipt')
  @RouteConfig({ scope: 'tasks', counted: 'polls' })
  @Header('cache-control', 'no-store')
  @DescribeReceipt()
  async find(@Caller() caller: Caller, @Param() { taskId }: TaskIdParam): Promise<TaskReceipt> {
    const receipt = isTaskId(taskId) ? await this.receipts.of(caller, taskId).catch(unreadable) : undefined;
    if (receipt === undefined) throw new AppError('task_not_found', 'There is no deleted task with this ID.');
    if (receipt === null) throw new AppError('not_found', 'The task is still being erased.', { retryAfter: 5 });
    return receipt;
  }

  @Get('v1/receipts/keys')
  @Public()
  @DescribeReceiptKeys()
  keys(): ReceiptKeys {
    return this.receipts.publicKeys;
  }
}

function unreadable(cause: unknown): never {
  throw unavailable('Tasks cannot be read right now. Please try again shortly.', { retryAfter: 2, cause });
}
