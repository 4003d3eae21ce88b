import { Get, Patch, Post, Req } from '@nestjs/common';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { AuditAction } from '#people/audit-actions.js';
import { AuditLog } from '#people/audit-log.js';
import type { Account } from '#people/account-store.js';
import { AccountChangeBody, NewAccountBody } from './account-bodies.js';
import { AccountListView, AccountRowView, NewAccountView, type AccountLimitsView } from './account-views.js';
import { Accounts } from './accounts.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { Invitations } from './invitations.js';
import { ForRole } from '../roles.guard.js';
import { sessionOf } from '../session.guard.js';
import { InviteAdminBody } from './team-bodies.js';
import { LinkView, linkView } from './team-views.js';

/** The accounts of the installation, for its operators. */
@ConsoleController('Accounts', 'accounts')
@ForRole('operator')
export class AccountsController {
  constructor(
    private readonly accounts: Accounts,
    private readonly invitations: Invitations,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: AccountListView })
  async list(): Promise<AccountListView> {
    return { data: await this.accounts.list() };
  }

  @Post()
  @ApiBody({ type: NewAccountBody })
  @ApiResponse({ status: 201, type: NewAccountView, description: 'The link is for its first admin.' })
  async create(@Req() request: FastifyRequest): Promise<NewAccountView> {
    const { email, ...body } = consoleBody(NewAccountBody, request.body);
    const id = await this.accounts.create(body);
    const link = await this.invitations.invite(id, email, 'admin');
    await this.write(request, id, 'account.created', { name: body.name, email });
    const account = await this.accounts.view(id);
    if (account.budget !== null) await this.writeBudget(request, account);
    await this.writeLimits(request, account, body);
    return { account, ...linkView(link) };
  }

  @Patch(':id')
  @ApiBody({ type: AccountChangeBody })
  @ApiResponse({ status: 200, type: AccountRowView })
  async change(@Req() request: FastifyRequest): Promise<AccountRowView> {
    const body = consoleBody(AccountChangeBody, request.body);
    const before = await this.find(request);
    const account = await this.accounts.change(before, body);
    const { id, name } = account;
    if (name !== before.name) await this.write(request, id, 'account.renamed', { name, from: before.name });
    if (body.budget !== undefined || body.budget_period !== undefined) await this.writeBudget(request, account);
    await this.writeLimits(request, account, body);
    const isDisabled = account.disabled_at !== null;
    if (isDisabled !== (before.disabledAt !== null)) {
      await this.write(request, id, isDisabled ? 'account.disabled' : 'account.enabled', { name });
    }
    return account;
  }

  /** For an account that nobody manages yet, or any more. */
  @Post(':id/admins')
  @ApiBody({ type: InviteAdminBody })
  @ApiResponse({ status: 201, type: LinkView })
  async inviteAdmin(@Req() request: FastifyRequest): Promise<LinkView> {
    const { email } = consoleBody(InviteAdminBody, request.body);
    const { id, name } = await this.find(request);
    const link = await this.invitations.invite(id, email, 'admin');
    await this.write(request, id, 'person.invited', { email, role: 'admin', account: name }, email);
    return linkView(link);
  }

  private async find(request: FastifyRequest): Promise<Account> {
    return await this.accounts.find((request.params as { id: string }).id);
  }

  private async writeBudget(request: FastifyRequest, { id, name, budget }: AccountRowView): Promise<void> {
    const set = { budget: budget?.amount ?? null, period: budget?.period ?? null };
    await this.write(request, id, 'account.budget_set', { name, ...set });
  }

  private async writeLimits(
    request: FastifyRequest,
    { id, name, limits }: AccountRowView,
    body: AccountChangeBody | Omit<NewAccountBody, 'email'>,
  ): Promise<void> {
    const changes = Object.fromEntries(
      Object.entries(limits).filter(([limit]) => body[limit as keyof AccountLimitsView] !== undefined),
    );
    if (Object.keys(changes).length > 0) await this.write(request, id, 'account.limits_set', { name, changes });
  }

  /**
   * Both sides can read what was done; the account that it was done to does not learn by whom, because people of other
   * accounts are none of its business.
   */
  private async write(
    request: FastifyRequest,
    id: string,
    action: AuditAction,
    details: Readonly<Record<string, unknown>>,
    target = id,
  ): Promise<void> {
    const { accountId, personId } = sessionOf(request);
    await this.audit.write({ accountId, personId, action, target, details });
    if (id !== accountId) await this.audit.write({ accountId: id, personId: null, action, target, details });
  }
}
