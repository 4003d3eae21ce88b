import { Delete, Get, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiProperty, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import { IsArray, IsDefined, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { Rule } from '#contract/field-rule.js';
import { WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { AuditLog } from '#people/audit-log.js';
import { isTaskId } from '#tasks/task-id.js';
import { AccountWebhooks } from './account-webhooks.js';
import { consoleBody } from './console-body.js';
import { ConsoleController } from './console-controller.js';
import { ForRole } from './roles.guard.js';
import { sessionOf } from './session.guard.js';

const MAX_URL_LENGTH = 2_048;
const MAX_OVERLAP_HOURS = 720;

class EndpointBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  url!: string;

  @ApiPropertyOptional({ type: [String], enum: WEBHOOK_EVENTS })
  @IsOptional()
  @IsArray()
  @Rule('areEvents', (value, property) => {
    const all: readonly unknown[] = WEBHOOK_EVENTS;
    if (!Array.isArray(value) || (value.length > 0 && value.every((event) => all.includes(event)))) return undefined;
    return { code: 'invalid_value', message: `${property} must be some of ${WEBHOOK_EVENTS.join(', ')}` };
  })
  events?: WebhookEventType[] | null;
}

class RotateBody {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: MAX_OVERLAP_HOURS })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_OVERLAP_HOURS)
  overlap_hours?: number | null;
}

/** Where an account is told of the ends of its tasks. Whom to tell, and what it is signed with, is for admins. */
@ConsoleController('Webhooks', 'webhooks')
export class WebhooksController {
  constructor(
    @Inject(AccountWebhooks) private readonly webhooks: AccountWebhooks,
    @Inject(EgressConfig) private readonly egress: EgressConfig,
    @Inject(AuditLog) private readonly audit: AuditLog,
  ) {}

  @Get('endpoints')
  @ApiResponse({ status: 200, description: 'data: id, url, events, created_at, disabled_at and disabled_reason.' })
  async endpoints(@Req() request: FastifyRequest) {
    return { data: await this.webhooks.endpoints(sessionOf(request).accountId) };
  }

  @Post('endpoints')
  @ForRole('admin')
  @ApiBody({ type: EndpointBody })
  @ApiResponse({ status: 201, description: 'id' })
  async add(@Req() request: FastifyRequest): Promise<{ id: string }> {
    const { url, events } = consoleBody(EndpointBody, request.body);
    const tooLong = url.length > MAX_URL_LENGTH ? 'url is too long' : undefined;
    const problem = tooLong ?? publicUrlProblem(url, this.egress, { httpsOnly: true });
    if (problem !== undefined) throw new AppError('invalid_value', problem, { param: 'url' });
    const id = await this.webhooks.add(sessionOf(request).accountId, url, events ?? WEBHOOK_EVENTS);
    await this.log(request, 'webhook_endpoint.added', id);
    return { id };
  }

  @Delete('endpoints/:id')
  @ForRole('admin')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async remove(@Req() request: FastifyRequest): Promise<void> {
    const { id } = request.params as { id: string };
    if (!(await this.webhooks.remove(sessionOf(request).accountId, id))) {
      throw new AppError('not_found', 'There is no such endpoint.');
    }
    await this.log(request, 'webhook_endpoint.removed', id);
  }

  @Get('secrets')
  @ForRole('admin')
  @ApiResponse({ status: 200, description: 'data: id, secret, created_at and expires_at; the current one first.' })
  async secrets(@Req() request: FastifyRequest) {
    return { data: await this.webhooks.secrets(sessionOf(request).accountId) };
  }

  @Post('secrets/rotate')
  @ForRole('admin')
  @HttpCode(200)
  @ApiBody({ type: RotateBody })
  @ApiResponse({ status: 200, description: 'As GET /secrets; the one before stays valid for overlap_hours (24).' })
  async rotate(@Req() request: FastifyRequest) {
    const { overlap_hours: hours } = consoleBody(RotateBody, request.body ?? {});
    const data = await this.webhooks.rotate(sessionOf(request).accountId, hours ?? 24);
    await this.log(request, 'webhook_secret.rotated');
    return { data };
  }

  @Get('deliveries')
  @ApiResponse({ status: 200, description: 'data: the newest 100, with every attempt; `task` names one task.' })
  async deliveries(@Req() request: FastifyRequest) {
    const { task } = request.query as { task?: unknown };
    const taskId = typeof task === 'string' && isTaskId(task) ? task : undefined;
    return { data: await this.webhooks.deliveries(sessionOf(request).accountId, taskId), has_more: false, next: null };
  }

  @Post('deliveries/:id/resend')
  @RouteConfig({ bodyless: true })
  @HttpCode(202)
  async resend(@Req() request: FastifyRequest): Promise<void> {
    const { id } = request.params as { id: string };
    if (!(await this.webhooks.resend(sessionOf(request).accountId, id))) {
      throw new AppError('not_found', 'There is no such delivery, or it is being attempted at this moment.');
    }
    await this.log(request, 'webhook_delivery.resent', id);
  }

  private async log(request: FastifyRequest, action: string, target?: string): Promise<void> {
    const { accountId, personId } = sessionOf(request);
    await this.audit.write({ accountId, personId, action, ...(target === undefined ? {} : { target }) });
  }
}
