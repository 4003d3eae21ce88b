import { Body, Get, Patch } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AccountStore } from '#accounts/account-store.js';
import { AuditLog } from '#accounts/audit-log.js';
import { microsOf } from '#contract/money.js';
import { OwnAccountChangeBody } from './dto/account-bodies.dto.js';
import { tagApprovals, tagApprovalsText } from './dto/tag-approvals.dto.js';
import { OwnAccountView } from './dto/account-views.dto.js';
import { Accounts } from './accounts.js';
import { ConsoleController } from '../console-controller.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';

/** The user's account: its name, its rules for members, its budget and spending. */
@ConsoleController('Team', 'account')
export class OwnAccountController {
  constructor(
    private readonly accounts: Accounts,
    private readonly store: AccountStore,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @Allow('budgets.read')
  @ApiResponse({ status: 200, type: OwnAccountView })
  async show(@Session() session: Session): Promise<OwnAccountView> {
    return await this.accounts.own(session.accountId);
  }

  @Patch()
  @Allow('account.manage')
  @ApiResponse({ status: 200, type: OwnAccountView })
  async change(@Session() session: Session, @Body() body: OwnAccountChangeBody): Promise<OwnAccountView> {
    const { accountId } = session;
    if (typeof body.name === 'string') await this.rename(session, body.name);
    if (typeof body.require_two_factor === 'boolean') await this.requireTwoFactor(session, body.require_two_factor);
    await this.setApprovals(session, body);
    return await this.accounts.own(accountId);
  }

  private async setApprovals(session: Session, body: OwnAccountChangeBody): Promise<void> {
    const { own_approve_above: amount, tag_approvals: tags } = body;
    if (amount === undefined && !tags) return;
    const above = typeof amount === 'string' ? microsOf(amount) : amount;
    const byTag = tags ? tagApprovals(tags) : undefined;
    await this.store.setOwnApprovals(session.accountId, { above, byTag });
    const own_approve_above = amount === undefined ? {} : { own_approve_above: amount };
    const changes = { ...own_approve_above, ...(byTag && { tag_approvals: tagApprovalsText(byTag) }) };
    await this.audit.record(session, 'account.limits_set', session.accountId, { name: session.accountName, changes });
  }

  private async rename(session: Session, name: string): Promise<void> {
    const { accountId, accountName: from } = session;
    await this.store.rename(accountId, name);
    await this.audit.record(session, 'account.renamed', accountId, { name, from });
  }

  private async requireTwoFactor(session: Session, required: boolean): Promise<void> {
    const { accountId } = session;
    if ((await this.accounts.find(accountId)).requireTwoFactor === required) return;
    await this.store.requireTwoFactor(accountId, required);
    const action = required ? 'account.two_factor_required' : 'account.two_factor_optional';
    await this.audit.record(session, action, accountId, { name: session.accountName });
  }
}
