import { Get, HttpCode, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { AuditAction } from '#people/audit-actions.js';
import { AuditLog } from '#people/audit-log.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import {
  DrainBody,
  FinishedMinutesView,
  ProviderFiguresListView,
  ProviderListView,
  QueueView,
  TestBody,
} from './operation-views.js';
import { Operation } from './operation.js';
import { ProviderTest } from './provider-test.js';
import { ForRole } from '../roles.guard.js';
import { sessionOf } from '../session.guard.js';
import { AcceptedTaskView } from '../tasks/task-views.js';

/** What concerns the whole installation, whosever tasks they are: for its operators. */
@ConsoleController('Operation')
@ForRole('operator')
export class OperationController {
  constructor(
    private readonly operation: Operation,
    private readonly trial: ProviderTest,
    private readonly audit: AuditLog,
  ) {}

  @Get('providers')
  @ApiResponse({ status: 200, type: ProviderListView })
  async providers(): Promise<ProviderListView> {
    const states = await this.operation.providers();
    return { data: states.map((state) => ({ ...state, trials: this.trial.trials(state.name) })) };
  }

  @Get('providers/figures')
  @ApiResponse({ status: 200, type: ProviderFiguresListView })
  async figures(): Promise<ProviderFiguresListView> {
    return { data: await this.operation.figures() };
  }

  @Post('providers/:name/drain')
  @HttpCode(204)
  @ApiBody({ type: DrainBody, required: false })
  async drain(@Req() request: FastifyRequest): Promise<void> {
    const { reason } = consoleBody(DrainBody, request.body ?? {});
    const by = `by ${sessionOf(request).email} in the console`;
    const name = nameOf(request);
    if (!(await this.operation.drain(name, reason ? `${reason} (${by})` : by))) throw noSuchProvider();
    await this.log(request, 'provider.drained', reason ? { reason } : {});
  }

  @Post('providers/:name/resume')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async resume(@Req() request: FastifyRequest): Promise<void> {
    if (!(await this.operation.resume(nameOf(request)))) throw noSuchProvider();
    await this.log(request, 'provider.resumed');
  }

  @Post('providers/:name/test')
  @RouteConfig({ counted: 'submits' })
  @HttpCode(202)
  @ApiBody({ type: TestBody, required: false })
  @ApiResponse({
    status: 202,
    type: AcceptedTaskView,
    description: 'Draws one small picture by this provider alone, drained or not; the task ends within two minutes.',
  })
  async test(@Req() request: FastifyRequest): Promise<AcceptedTaskView> {
    const { model } = consoleBody(TestBody, request.body ?? {});
    const id = await this.trial.run(sessionOf(request), nameOf(request), model ?? undefined, request.id);
    request.taskId = id;
    await this.log(request, 'provider.tested', { task: id });
    return { task_id: id };
  }

  @Get('queue')
  @ApiResponse({ status: 200, type: QueueView })
  async queue(): Promise<QueueView> {
    return await this.operation.queue();
  }

  @Get('queue/history')
  @ApiResponse({ status: 200, type: FinishedMinutesView })
  async history(): Promise<FinishedMinutesView> {
    return { data: await this.operation.history() };
  }

  private async log(request: FastifyRequest, action: AuditAction, details = {}): Promise<void> {
    const { accountId, personId } = sessionOf(request);
    await this.audit.write({ accountId, personId, action, target: nameOf(request), details });
  }
}

function nameOf(request: FastifyRequest): string {
  return (request.params as { name: string }).name;
}

function noSuchProvider(): AppError {
  return new AppError('not_found', 'There is no such provider.');
}
