import { Get, Patch, Req } from '@nestjs/common';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AuditLog } from '#people/audit-log.js';
import { OwnAccountView } from './account-views.js';
import { Accounts } from './accounts.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { NameBody } from '../name-body.js';
import { ForRole } from '../roles.guard.js';
import { sessionOf } from '../session.guard.js';

/** What the admins of an account see and change of it. */
@ConsoleController('Team', 'account')
@ForRole('admin')
export class OwnAccountController {
  constructor(
    private readonly accounts: Accounts,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: OwnAccountView })
  async show(@Req() request: FastifyRequest): Promise<OwnAccountView> {
    return await this.accounts.own(sessionOf(request).accountId);
  }

  @Patch()
  @ApiBody({ type: NameBody })
  @ApiResponse({ status: 200, type: OwnAccountView })
  async rename(@Req() request: FastifyRequest): Promise<OwnAccountView> {
    const { accountId, personId, accountName: from } = sessionOf(request);
    const { name } = consoleBody(NameBody, request.body);
    await this.accounts.rename(accountId, name);
    await this.audit.write({
      ...{ accountId, personId, action: 'account.renamed', target: accountId, details: { name, from } },
    });
    return await this.accounts.own(accountId);
  }
}
