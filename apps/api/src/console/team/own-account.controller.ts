import { Body, Get, Patch } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { OwnAccountView } from './dto/account-views.dto.js';
import { Accounts } from './accounts.js';
import { ConsoleController } from '../console-controller.js';
import { NameBody } from '../dto/name-body.dto.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';

/** What an account is called, may spend, and has spent. */
@ConsoleController('Team', 'account')
export class OwnAccountController {
  constructor(
    private readonly accounts: Accounts,
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
  async rename(@Session() session: Session, @Body() { name }: NameBody): Promise<OwnAccountView> {
    const { accountId, accountName: from } = session;
    await this.accounts.rename(accountId, name);
    await this.audit.record(session, 'account.renamed', accountId, { name, from });
    return await this.accounts.own(accountId);
  }
}
