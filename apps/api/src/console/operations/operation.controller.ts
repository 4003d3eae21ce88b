import { Body, Get, HttpCode, Param, Post, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#accounts/audit-log.js';
import { ConsoleController } from '../console-controller.js';
import {
  DrainBody,
  FinishedMinutesView,
  ProviderListView,
  QueueView,
  TestBody,
  TriedView,
} from './dto/operation-views.dto.js';
import { Operation } from './operation.js';
import { ProviderStates } from './provider-states.js';
import { ProviderTest } from './provider-test.js';
import { LatencyView } from '../dto/latency-view.dto.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { TaskLogInterceptor } from '../tasks/task-log.interceptor.js';
import { AcceptedTaskView } from '../tasks/dto/task-views.dto.js';
import { NameParam } from '../../common/params.js';
import { RequestId } from '../../common/request.decorators.js';

/** Pages about the whole installation, across accounts: for operators. */
@ConsoleController('Operation')
@Allow('installation.manage')
export class OperationController {
  constructor(
    private readonly states: ProviderStates,
    private readonly operation: Operation,
    private readonly trial: ProviderTest,
    private readonly audit: AuditLog,
  ) {}

  @Get('providers')
  @ApiResponse({ status: 200, type: ProviderListView })
  async providers(): Promise<ProviderListView> {
    const states = await this.states.list();
    return { data: states.map((state) => ({ ...state, trials: this.trial.trials(state.name) })) };
  }

  @Post('providers/:name/drain')
  @HttpCode(204)
  @ApiBody({ type: DrainBody, required: false })
  async drain(@Session() session: Session, @Param() { name }: NameParam, @Body() { reason }: DrainBody): Promise<void> {
    const by = `by ${session.email} in the console`;
    if (!(await this.states.drain(name, reason ? `${reason} (${by})` : by))) throw noSuchProvider();
    await this.audit.record(session, 'provider.drained', name, reason ? { reason } : {});
  }

  @Post('providers/:name/resume')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async resume(@Session() session: Session, @Param() { name }: NameParam): Promise<void> {
    if (!(await this.states.resume(name))) throw noSuchProvider();
    await this.audit.record(session, 'provider.resumed', name);
  }

  @Post('providers/:name/try')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: TriedView,
    description:
      'Ended the pauses of the provider or server and its keys; one call tests it, and more follow when it succeeds.',
  })
  async tryNow(@Session() session: Session, @Param() { name }: NameParam): Promise<TriedView> {
    const tried = await this.states.tryNow(name);
    if (tried === undefined) throw noSuchProvider();
    if (tried.paused) await this.audit.record(session, 'provider.tried', name, { waiting: tried.waiting });
    return tried;
  }

  @Post('providers/:name/test')
  @RouteConfig({ counted: 'submits' })
  @UseInterceptors(TaskLogInterceptor)
  @HttpCode(202)
  @ApiBody({ type: TestBody, required: false })
  @ApiResponse({
    status: 202,
    type: AcceptedTaskView,
    description:
      'Generates one small image with this provider only, even if it is drained or paused; a success ends the pause. The task ends within two minutes.',
  })
  async test(
    @Session() session: Session,
    @Param() { name }: NameParam,
    @Body() { model }: TestBody,
    @RequestId() requestId: string,
  ): Promise<AcceptedTaskView> {
    const id = await this.trial.run(session, name, model ?? undefined, requestId);
    await this.audit.record(session, 'provider.tested', name, { task: id });
    return { task_id: id };
  }

  @Get('queue')
  @ApiResponse({ status: 200, type: QueueView })
  async queue(): Promise<QueueView> {
    return await this.operation.queue();
  }

  @Get('queue/latency')
  @ApiResponse({
    status: 200,
    type: LatencyView,
    description: 'Of tasks of all accounts that completed in the last hour.',
  })
  async latency(): Promise<LatencyView> {
    return await this.operation.latency();
  }

  @Get('queue/history')
  @ApiResponse({ status: 200, type: FinishedMinutesView })
  async history(): Promise<FinishedMinutesView> {
    return { data: await this.operation.history() };
  }
}

function noSuchProvider(): AppError {
  return new AppError('not_found', 'Provider not found.');
}
