import { Body, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { AuditLog } from '#accounts/audit-log.js';
import { AccountChangeBody, NewAccountBody } from './dto/account-bodies.dto.js';
import { AccountListView, AccountRowView, NewAccountView } from './dto/account-views.dto.js';
import { Accounts } from './accounts.js';
import { ConsoleController } from '../console-controller.js';
import { Invitations } from './invitations.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { IdParam } from '../../common/params.js';
import { DeleteAccount } from './delete-account.js';
import { assertTyped, DeletionBody, InviteAdminBody } from './dto/team-bodies.dto.js';
import { LinkView, linkView } from './dto/team-views.dto.js';

/** The accounts of the installation, for its operators. */
@ConsoleController('Accounts', 'accounts')
@Allow('installation.manage')
export class AccountsController {
  constructor(
    private readonly accounts: Accounts,
    private readonly invitations: Invitations,
    private readonly deletion: DeleteAccount,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: AccountListView })
  async list(): Promise<AccountListView> {
    return { data: await this.accounts.list() };
  }

  @Post()
  @ApiResponse({ status: 201, type: NewAccountView, description: 'Returns a link for its owner.' })
  async create(@Session() session: Session, @Body() { email, ...body }: NewAccountBody): Promise<NewAccountView> {
    const id = await this.accounts.create(body);
    const link = await this.invitations.invite(id, email, 'admin', session.personId);
    await this.write(session, id, 'account.created', { name: body.name, email });
    const account = await this.accounts.view(id);
    if (account.budget !== null) await this.writeBudget(session, account);
    await this.writeLimits(session, account, body);
    return { account, ...linkView(link) };
  }

  @Patch(':id')
  @ApiResponse({ status: 200, type: AccountRowView })
  async change(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() body: AccountChangeBody,
  ): Promise<AccountRowView> {
    const before = await this.accounts.find(id);
    const account = await this.accounts.change(before, body);
    const { name } = account;
    if (name !== before.name) await this.write(session, id, 'account.renamed', { name, from: before.name });
    if (body.budget !== undefined || body.budget_period !== undefined) await this.writeBudget(session, account);
    await this.writeLimits(session, account, body);
    const isDisabled = account.disabled_at !== null;
    if (isDisabled !== (before.disabledAt !== null)) {
      await this.write(session, id, isDisabled ? 'account.disabled' : 'account.enabled', { name });
    }
    return account;
  }

  @Post(':id/delete')
  @HttpCode(204)
  @ApiResponse({
    status: 204,
    description:
      'Revokes its keys within 10 seconds, cancels pending tasks, stops webhooks, and erases its users. Usage and spend are kept.',
  })
  async remove(@Session() session: Session, @Param() { id }: IdParam, @Body() { name }: DeletionBody): Promise<void> {
    const account = await this.accounts.find(id);
    if (id === DEFAULT_ACCOUNT) throw new AppError('invalid_value', 'The first account cannot be deleted.');
    assertTyped(name, account.name);
    await this.deletion.run(account);
    await this.write(session, id, 'account.deleted', { name: account.name });
  }

  /** For an account that has no admin, or none any more. */
  @Post(':id/admins')
  @ApiResponse({ status: 201, type: LinkView })
  async inviteAdmin(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() { email }: InviteAdminBody,
  ): Promise<LinkView> {
    const { name } = await this.accounts.find(id);
    const link = await this.invitations.invite(id, email, 'admin', session.personId);
    await this.write(session, id, 'person.invited', { email, role: 'admin', account: name }, email);
    return linkView(link);
  }

  private async writeBudget(session: Session, { id, name, budget }: AccountRowView): Promise<void> {
    const set = { budget: budget?.amount ?? null, period: budget?.period ?? null };
    await this.write(session, id, 'account.budget_set', { name, ...set });
  }

  private async writeLimits(
    session: Session,
    { id, name, limits, default_response_format, approve_above }: AccountRowView,
    body: AccountChangeBody,
  ): Promise<void> {
    const changes = Object.fromEntries(
      Object.entries({ ...limits, default_response_format, approve_above }).filter(
        ([setting]) => body[setting as keyof AccountChangeBody] !== undefined,
      ),
    );
    if (Object.keys(changes).length > 0) await this.write(session, id, 'account.limits_set', { name, changes });
  }

  /**
   * Records the action in both accounts. The target account does not learn the operator's name, because users of other
   * accounts are private.
   */
  private async write(
    session: Session,
    id: string,
    action: AuditAction,
    details: Readonly<Record<string, unknown>>,
    target = id,
  ): Promise<void> {
    await this.audit.record(session, action, target, details);
    if (id !== session.accountId) await this.audit.write({ accountId: id, personId: null, action, target, details });
  }
}
