import { Get, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#people/audit-log.js';
import { ConsoleController } from './console-controller.js';
import { ProviderListView, QueueView } from './operation-views.js';
import { Operation } from './operation.js';
import { ForRole } from './roles.guard.js';
import { sessionOf } from './session.guard.js';

/** What concerns the whole installation, whosever tasks they are: for its operators. */
@ConsoleController('Operation')
@ForRole('operator')
export class OperationController {
  constructor(
    @Inject(Operation) private readonly operation: Operation,
    @Inject(AuditLog) private readonly audit: AuditLog,
  ) {}

  @Get('providers')
  @ApiResponse({ status: 200, type: ProviderListView })
  async providers(): Promise<ProviderListView> {
    return { data: await this.operation.providers() };
  }

  @Post('providers/:name/drain')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async drain(@Req() request: FastifyRequest): Promise<void> {
    await this.switch(request, 'drain');
  }

  @Post('providers/:name/resume')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async resume(@Req() request: FastifyRequest): Promise<void> {
    await this.switch(request, 'resume');
  }

  @Get('queue')
  @ApiResponse({ status: 200, type: QueueView })
  async queue(): Promise<QueueView> {
    return await this.operation.queue();
  }

  private async switch(request: FastifyRequest, to: 'drain' | 'resume'): Promise<void> {
    const { accountId, personId, email } = sessionOf(request);
    const { name } = request.params as { name: string };
    const found = await this.operation[to](name, `by ${email} in the console`);
    if (!found) throw new AppError('not_found', 'There is no such provider.');
    await this.audit.write({
      accountId,
      personId,
      action: to === 'drain' ? 'provider.drained' : 'provider.resumed',
      target: name,
    });
  }
}
