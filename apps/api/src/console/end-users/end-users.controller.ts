import { Body, Get, HttpCode, Post, Put } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { EndUserRefusals, type PauseRule } from '#accounts/end-user-refusals.repository.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import { LabelLimits } from '#billing/label-limits.repository.js';
import { AppError } from '#contract/app-error.js';
import { isEndUserIdentifier } from '#contract/labels.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { ListOf } from '../dto/list-views.dto.js';
import { Session } from '../session.decorator.js';
import { EndUserStateBody, FindEndUserBody, PauseRuleBody } from './dto/end-user-bodies.dto.js';
import { EndUserListView, EndUserView, PauseRuleView } from './dto/end-user-views.dto.js';
import { labelLimits, LabelLimitsBody, LabelLimitView, labelLimitView } from './dto/label-limits.dto.js';
import { ShownEndUsers } from './shown-end-users.js';

/** What the form proposes while end users are never paused. */
const PROPOSED = { window_minutes: 60, pause_minutes: 60 };

class FoundEndUsersView extends ListOf(EndUserView, 'The end users that the identifier may mean.') {}

class LabelLimitsView extends ListOf(LabelLimitView, 'Those for each end user or tag first, then by name.') {}

/** End users of the account: owners and admins flag, block, unblock, and limit them, and set when they are paused. */
@ConsoleController('Tasks', 'end-users')
@Allow('end_users.manage')
export class EndUsersController {
  constructor(
    private readonly shown: ShownEndUsers,
    private readonly states: EndUserStates,
    private readonly refusals: EndUserRefusals,
    private readonly limits: LabelLimits,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: EndUserListView })
  async list(@Session() { accountId }: Session): Promise<EndUserListView> {
    return await this.shown.list(accountId);
  }

  @Post('find')
  @HttpCode(200)
  @ApiResponse({ status: 200, type: FoundEndUsersView })
  async find(@Session() { accountId }: Session, @Body() { identifier }: FindEndUserBody): Promise<FoundEndUsersView> {
    return { data: await this.shown.find(accountId, identifier) };
  }

  @Post('state')
  @HttpCode(200)
  @ApiResponse({ status: 200, type: EndUserView, description: 'In effect everywhere within 2 seconds.' })
  async change(@Session() session: Session, @Body() body: EndUserStateBody): Promise<EndUserView> {
    const { end_user: endUser, state, reason = null } = body;
    if (!isEndUserIdentifier(endUser)) {
      throw new AppError('invalid_value', 'end_user must be an identifier as it is recorded.', { param: 'end_user' });
    }
    const { accountId, personId } = session;
    const by = { cause: 'person', provider: null, caseId: null, changedBy: personId, announced: true } as const;
    if (await this.states.change({ accountId, endUser, state, reason, ...by })) {
      const action = state === 'none' ? 'end_user.unblocked' : (`end_user.${state}` as const);
      await this.audit.record(session, action, endUser, reason === null ? {} : { reason });
    }
    return await this.shown.one(accountId, endUser);
  }

  @Get('pause-rule')
  @ApiResponse({ status: 200, type: PauseRuleView })
  async rule(@Session() { accountId }: Session): Promise<PauseRuleView> {
    return ruleView(await this.refusals.rule(accountId));
  }

  @Put('pause-rule')
  @ApiResponse({ status: 200, type: PauseRuleView })
  async setRule(@Session() session: Session, @Body() body: PauseRuleBody): Promise<PauseRuleView> {
    const { refusals = null, window_minutes: windowMinutes, pause_minutes: pauseMinutes } = body;
    const rule = refusals === null ? undefined : { refusals, windowMinutes, pauseMinutes };
    await this.refusals.setRule(session.accountId, rule);
    await this.audit.record(session, 'end_users.pause_rule_set', session.accountId, rule ?? { refusals: 0 });
    return ruleView(rule);
  }

  @Get('limits')
  @ApiResponse({ status: 200, type: LabelLimitsView })
  async showLimits(@Session() { accountId }: Session): Promise<LabelLimitsView> {
    return { data: (await this.limits.read(accountId)).map(labelLimitView) };
  }

  @Put('limits')
  @ApiResponse({ status: 200, type: LabelLimitsView, description: 'In effect everywhere within 5 seconds.' })
  async setLimits(@Session() session: Session, @Body() body: LabelLimitsBody): Promise<LabelLimitsView> {
    const { accountId } = session;
    const limits = labelLimits(body);
    await this.limits.set(accountId, limits);
    await this.audit.record(session, 'end_users.limits_set', accountId, { count: limits.length });
    return await this.showLimits(session);
  }
}

function ruleView(rule: PauseRule | undefined): PauseRuleView {
  if (rule === undefined) return { refusals: null, ...PROPOSED };
  const { refusals, windowMinutes, pauseMinutes } = rule;
  return { refusals, window_minutes: windowMinutes, pause_minutes: pauseMinutes };
}
