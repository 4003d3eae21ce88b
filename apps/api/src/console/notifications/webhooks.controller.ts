import { Body, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtraModels, ApiQuery, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { may } from '#accounts/person-rules.js';
import { WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';
import type { TaskScope } from '#tasks/row/task.js';
import { DELIVERY_STATES } from '#notifications/deliveries/next-step.js';
import { shownUrl } from '#notifications/endpoint-store.js';
import { AccountWebhooks } from './account-webhooks.js';
import { VisibleTasks } from '../tasks/visible-tasks.js';
import { VisibleDeliveries } from './visible-deliveries.js';
import { DeliveryPageQuery } from './dto/delivery-query.dto.js';
import { ConsoleController } from '../console-controller.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { EndpointChangeBody, NewEndpointBody, ResendFailedBody, RotateSecretBody } from './dto/webhook-bodies.dto.js';
import {
  DeliveryPage,
  EndpointListView,
  EndpointView,
  ResentView,
  SecretListView,
  SentTestView,
} from './dto/webhook-views.dto.js';
import { IdParam } from '../../common/params.js';
import { ApiPage } from '../../common/query-fields.js';

const OVERLAP_HOURS = 24;

/** Webhook endpoints of an account. Changing endpoints is for admins, and so are secrets. */
@ConsoleController('Webhooks', 'webhooks')
@Allow('webhooks.read')
export class WebhooksController {
  constructor(
    private readonly webhooks: AccountWebhooks,
    private readonly visible: VisibleDeliveries,
    private readonly audit: AuditLog,
  ) {}

  @Get('endpoints')
  @ApiResponse({ status: 200, type: EndpointListView })
  async endpoints(@Session() session: Session): Promise<EndpointListView> {
    return await this.webhooks.endpoints(session.accountId, may(session, 'webhooks.manage'));
  }

  @Post('endpoints')
  @Allow('webhooks.manage')
  @ApiResponse({ status: 201, type: EndpointView })
  async add(@Session() session: Session, @Body() body: NewEndpointBody): Promise<EndpointView> {
    const endpoint = await this.webhooks.add(session.accountId, body);
    const { id, url, events } = endpoint;
    await this.audit.record(session, 'webhook_endpoint.added', id, { url: shownUrl(url), events });
    return endpoint;
  }

  @Patch('endpoints/:id')
  @Allow('webhooks.manage')
  @ApiResponse({ status: 200, type: EndpointView })
  async change(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() body: EndpointChangeBody,
  ): Promise<EndpointView> {
    const endpoint = await this.webhooks.change(session.accountId, id, body);
    const { events } = endpoint;
    const url = shownUrl(endpoint.url);
    if (Array.isArray(body.events)) await this.audit.record(session, 'webhook_endpoint.changed', id, { url, events });
    if (body.active === true) await this.audit.record(session, 'webhook_endpoint.enabled', id, { url });
    if (body.active === false) await this.audit.record(session, 'webhook_endpoint.disabled', id, { url });
    return endpoint;
  }

  @Delete('endpoints/:id')
  @Allow('webhooks.manage')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async remove(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    const { accountId } = session;
    const { url } = await this.webhooks.endpoint(accountId, id);
    await this.webhooks.remove(accountId, id);
    await this.audit.record(session, 'webhook_endpoint.removed', id, { url: shownUrl(url) });
  }

  @Post('endpoints/:id/test')
  @Allow('webhooks.manage')
  @RouteConfig({ bodyless: true })
  @HttpCode(202)
  @ApiResponse({ status: 202, type: SentTestView })
  async test(@Session() session: Session, @Param() { id }: IdParam): Promise<SentTestView> {
    const { accountId } = session;
    const { url } = await this.webhooks.endpoint(accountId, id);
    const deliveryId = await this.webhooks.test(accountId, id);
    await this.audit.record(session, 'webhook_endpoint.tested', id, { url: shownUrl(url), delivery: deliveryId });
    return { id: deliveryId };
  }

  @Post('endpoints/:id/resend-failed')
  @Allow('webhooks.manage')
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ResentView,
    description: 'A batch of the failed deliveries, newest first. What was sent again is not sent a second time.',
  })
  async resendFailed(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() { after }: ResendFailedBody,
  ): Promise<ResentView> {
    const { accountId } = session;
    const endpoint = await this.webhooks.endpoint(accountId, id);
    const view = await this.webhooks.resendFailed(accountId, endpoint, after ?? undefined);
    const details = { url: shownUrl(endpoint.url), count: view.resent };
    if (view.resent > 0) await this.audit.record(session, 'webhook_deliveries.resent', id, details);
    return view;
  }

  @Get('secrets')
  @Allow('webhooks.manage')
  @ApiResponse({ status: 200, type: SecretListView })
  async secrets(@Session() session: Session): Promise<SecretListView> {
    const secrets = await this.webhooks.secrets(session.accountId);
    await this.audit.recordOnce(session, 'webhook_secret.read');
    return secrets;
  }

  @Post('secrets/rotate')
  @Allow('webhooks.manage')
  @HttpCode(200)
  @ApiResponse({ status: 200, type: SecretListView, description: 'The previous secret stays valid for overlap_hours.' })
  async rotate(
    @Session() session: Session,
    @Body() { overlap_hours: hours }: RotateSecretBody,
  ): Promise<SecretListView> {
    const overlapHours = hours ?? OVERLAP_HOURS;
    const secrets = await this.webhooks.rotate(session.accountId, overlapHours);
    await this.audit.record(session, 'webhook_secret.rotated', secrets.data[0]?.id, { overlap_hours: overlapHours });
    return secrets;
  }

  @Get('deliveries')
  @ApiPage()
  @ApiQuery({ name: 'status', required: false, enum: DELIVERY_STATES })
  @ApiQuery({ name: 'endpoint', required: false, description: 'ID of an endpoint.', schema: { type: 'string' } })
  @ApiQuery({ name: 'task', required: false, description: 'ID of a task.', schema: { type: 'string' } })
  @ApiResponse({ status: 200, type: DeliveryPage })
  async deliveries(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Query() { limit, after, status: state, endpoint: endpointId, task: taskId }: DeliveryPageQuery,
  ): Promise<DeliveryPage> {
    const page = await this.visible.page(scope, { limit, after, state, endpointId, taskId });
    if (may(session, 'webhooks.manage')) return page;
    return { ...page, data: page.data.map((one) => ({ ...one, url: one.url && shownUrl(one.url) })) };
  }

  @Get('deliveries/:id/payload')
  @ApiExtraModels(WebhookEvent, WebhookTestEvent)
  @ApiResponse({
    status: 200,
    description: 'The body an attempt would send now; each attempt signs new links.',
    schema: { anyOf: [{ $ref: getSchemaPath(WebhookEvent) }, { $ref: getSchemaPath(WebhookTestEvent) }] },
  })
  async payload(@VisibleTasks() scope: TaskScope, @Param() { id }: IdParam): Promise<WebhookEvent | WebhookTestEvent> {
    return await this.visible.payload(scope, id);
  }

  @Post('deliveries/:id/resend')
  @RouteConfig({ bodyless: true })
  @HttpCode(202)
  @ApiResponse({ status: 202, description: 'Sends it immediately with the same webhook-id.' })
  async resend(@Session() session: Session, @VisibleTasks() scope: TaskScope, @Param() { id }: IdParam): Promise<void> {
    const delivery = await this.visible.findToResend(scope, id);
    const { taskId, url } = await this.webhooks.resend(session.accountId, delivery);
    const details = { task: taskId, ...(url === undefined ? {} : { url: shownUrl(url) }) };
    await this.audit.record(session, 'webhook_delivery.resent', id, details);
  }
}
