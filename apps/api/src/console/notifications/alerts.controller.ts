import { Body, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { may } from '#accounts/person-rules.js';
import { ALERT_KINDS } from '#contract/alert-message.js';
import { AccountAlerts } from './account-alerts.js';
import { AlertChannels } from './alert-channels.js';
import { TestChannel } from './test-channel.js';
import { ConsoleController } from '../console-controller.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { IdParam } from '../../common/params.js';
import { ApiPage } from '../../common/query-fields.js';
import { AlertPageQuery, AlertRuleBody, NewChannelBody } from './dto/alert-bodies.dto.js';
import {
  ALERT_STATES,
  AlertPage,
  AlertRuleListView,
  AlertRuleView,
  AlertView,
  ChannelListView,
  ChannelView,
  channelView,
  ruleView,
  SentAlertView,
  shownAddress,
} from './dto/alert-views.dto.js';

/** Path parameters with a kind of alert. */
class KindParam {
  readonly kind!: string;
}

/** Alert rules and channels of an account. Rules about the whole installation are for operators. */
@ConsoleController('Alerts', 'alerts')
@Allow('alerts.manage')
export class AlertsController {
  constructor(
    private readonly alerts: AccountAlerts,
    private readonly alertChannels: AlertChannels,
    private readonly testChannel: TestChannel,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiPage()
  @ApiQuery({ name: 'state', required: false, enum: ALERT_STATES })
  @ApiResponse({ status: 200, type: AlertPage })
  async history(@Session() session: Session, @Query() query: AlertPageQuery): Promise<AlertPage> {
    return await this.alerts.history(session.accountId, may(session, 'installation.manage'), query);
  }

  @Get('rules')
  @ApiResponse({ status: 200, type: AlertRuleListView })
  async rules(@Session() session: Session): Promise<AlertRuleListView> {
    return { data: (await this.alerts.rules(session.accountId, may(session, 'installation.manage'))).map(ruleView) };
  }

  @Put('rules/:kind')
  @ApiParam({ name: 'kind', enum: ALERT_KINDS })
  @ApiResponse({ status: 200, type: AlertRuleView })
  async setRule(
    @Session() session: Session,
    @Param() { kind }: KindParam,
    @Body() body: AlertRuleBody,
  ): Promise<AlertRuleView> {
    const { before, after } = await this.alerts.setRule(
      session.accountId,
      may(session, 'installation.manage'),
      kind,
      body,
    );
    const flipped = after.enabled ? 'alert_rule.enabled' : 'alert_rule.disabled';
    const action = after.enabled === before.enabled ? 'alert_rule.changed' : flipped;
    const { thresholds } = after;
    await this.audit.record(session, action, kind, { name: kind.replaceAll('_', ' '), thresholds });
    return ruleView(after);
  }

  @Post(':id/acknowledge')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @ApiResponse({ status: 200, type: AlertView, description: 'It is not repeated until it has ended and fires again.' })
  async acknowledge(@Session() session: Session, @Param() { id }: IdParam): Promise<AlertView> {
    const { alert, changed } = await this.alerts.acknowledge(session, may(session, 'installation.manage'), id);
    if (changed) await this.audit.record(session, 'alert.acknowledged', id, { name: alert.title, kind: alert.kind });
    return alert;
  }

  @Get('channels')
  @ApiResponse({ status: 200, type: ChannelListView })
  async channels(@Session() { accountId }: Session): Promise<ChannelListView> {
    return { data: (await this.alertChannels.list(accountId)).map(channelView), kinds: this.alertChannels.kinds };
  }

  @Post('channels')
  @ApiResponse({ status: 201, type: ChannelView })
  async addChannel(@Session() session: Session, @Body() body: NewChannelBody): Promise<ChannelView> {
    const channel = channelView(await this.alertChannels.add(session.accountId, body));
    await this.audit.record(session, 'alert_channel.added', channel.id, { name: channel.address, kind: channel.kind });
    return channel;
  }

  @Delete('channels/:id')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async removeChannel(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    const { kind, address } = await this.alertChannels.remove(session.accountId, id);
    await this.audit.record(session, 'alert_channel.removed', id, { name: shownAddress(kind, address) });
  }

  @Post('channels/:id/test')
  @RouteConfig({ bodyless: true })
  @HttpCode(202)
  @ApiResponse({ status: 202, type: SentAlertView })
  async test(@Session() session: Session, @Param() { id }: IdParam): Promise<SentAlertView> {
    const channel = await this.alertChannels.find(session.accountId, id);
    const deliveryId = await this.testChannel.send(session.accountId, channel);
    const { kind, address } = channel;
    await this.audit.record(session, 'alert_channel.tested', id, { name: shownAddress(kind, address) });
    return { id: deliveryId };
  }
}
