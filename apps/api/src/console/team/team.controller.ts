import { Body, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#accounts/audit-log.js';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { LinkStore } from '#accounts/link-store.js';
import { isAbove } from '#accounts/person-rules.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import { ConsoleController } from '../console-controller.js';
import { Invitations } from './invitations.js';
import { Allow } from '../abilities.guard.js';
import { assertTyped, DeletionBody, InviteBody, PersonChangeBody, PersonDeletionBody } from './dto/team-bodies.dto.js';
import { InvitationListView, invitationView, LinkView, linkView, personView } from './dto/team-views.dto.js';
import { TeamPersonView, TeamView } from './dto/team-views.dto.js';
import { Session } from '../session.decorator.js';
import { SignInChanges } from '../sign-in/sign-in-changes.js';
import { IdParam } from '../../common/params.js';

/** The users of an account. */
@ConsoleController('Team')
@Allow('team.manage')
export class TeamController {
  constructor(
    private readonly people: PersonStore,
    private readonly keys: ApiKeyRepository,
    private readonly invitations: Invitations,
    private readonly links: LinkStore,
    private readonly factors: SecondFactorStore,
    private readonly audit: AuditLog,
    private readonly changes: SignInChanges,
  ) {}

  @Get('people')
  @ApiResponse({ status: 200, type: TeamView })
  async list(@Session() session: Session): Promise<TeamView> {
    const people = await this.people.list(session.accountId);
    const factors = await this.factors.kindsOf(people.map(({ signInId }) => signInId));
    return { data: people.map((person) => personView(person, factors.get(person.signInId))) };
  }

  @Post('people')
  @ApiResponse({ status: 201, type: LinkView })
  async invite(@Session() session: Session, @Body() { email, role }: InviteBody): Promise<LinkView> {
    const link = await this.invitations.invite(session.accountId, email, role, session.personId);
    await this.audit.record(session, 'person.invited', email, { email, role });
    return linkView(link);
  }

  @Patch('people/:id')
  @ApiResponse({ status: 200, type: TeamPersonView })
  async change(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() { role, disabled }: PersonChangeBody,
  ): Promise<TeamPersonView> {
    const { accountId } = await this.another(session, id);
    if (role && isAbove(role, session.role))
      throw new AppError('not_permitted', 'Only an owner can make someone an owner.');
    const changes = { role: role ?? undefined, disabled: disabled ?? undefined };
    const person = await this.people.change(accountId, id, changes);
    assertChanged(person);
    await this.audit.record(session, 'person.changed', id, { ...named(person), ...changes });
    return personView(person, (await this.factors.kindsOf([person.signInId])).get(person.signInId));
  }

  @Post('people/:id/delete')
  @HttpCode(204)
  @ApiResponse({
    status: 204,
    description: 'Signs the user out immediately and erases their email address and sign-in. The name is kept.',
  })
  async remove(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() { name, revoke_keys: revokeKeys }: PersonDeletionBody,
  ): Promise<void> {
    const person = await this.another(session, id);
    assertTyped(name, person.name);
    assertChanged(await this.people.change(person.accountId, id, { deleted: true }));
    const revoked = revokeKeys === true ? await this.keys.revokeOf(person.accountId, id) : 0;
    await this.audit.record(session, 'person.deleted', id, { ...named(person), revoked_keys: revoked });
  }

  /** Leaves the account; its last owner has to name another one first. */
  @Post('person/leave')
  @Allow('self.manage')
  @HttpCode(204)
  async leave(@Session() session: Session, @Body() { name }: DeletionBody): Promise<void> {
    const { accountId, accountName, personId } = session;
    assertTyped(name, accountName);
    assertChanged(await this.people.change(accountId, personId, { deleted: true }));
    await this.audit.record(session, 'person.left', personId, { name: session.name, email: session.email });
  }

  @Post('people/:id/sign-out')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async signOut(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    const person = await this.another(session, id);
    await this.people.signOut(person.accountId, person.id);
    await this.audit.record(session, 'person.signed_out', person.id, named(person));
  }

  @Post('people/:id/reset-link')
  @RouteConfig({ bodyless: true })
  @ApiResponse({ status: 201, type: LinkView, description: 'Using the link ends the user’s sessions.' })
  async resetLink(@Session() session: Session, @Param() { id }: IdParam): Promise<LinkView> {
    const person = await this.another(session, id);
    const link = await this.invitations.resetPassword(person, session.personId);
    await this.audit.record(session, 'person.reset_link_made', person.id, named(person));
    return linkView(link);
  }

  /** For a user who lost their authenticator app and recovery codes: removes both, and their passkeys. */
  @Delete('people/:id/two-factor')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async resetTwoFactor(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    const person = await this.another(session, id);
    if (await this.people.sharesSignIn(person))
      throw new AppError(
        'not_permitted',
        'This user signs in to other accounts the same way. Create a password-reset link: it gives them a separate sign-in for this account.',
      );
    if (!(await this.factors.reset(id)))
      throw new AppError('not_found', 'This user has neither two-factor authentication nor a passkey.');
    this.changes.tell(person, 'person.second_factor_reset');
    await this.audit.record(session, 'person.second_factor_reset', id, named(person));
  }

  @Get('invitations')
  @ApiResponse({ status: 200, type: InvitationListView })
  async invited(@Session() session: Session): Promise<InvitationListView> {
    return { data: (await this.links.invitations(session.accountId)).map(invitationView) };
  }

  @Post('invitations/:id/renew')
  @RouteConfig({ bodyless: true })
  @ApiResponse({ status: 201, type: LinkView, description: 'The previous link stops working.' })
  async renew(@Session() session: Session, @Param() { id }: IdParam): Promise<LinkView> {
    const { link, invitation } = await this.invitations.renew(session.accountId, id, session.personId);
    const { email, role } = invitation;
    await this.audit.record(session, 'person.invited', email, { email, role });
    return linkView(link);
  }

  @Delete('invitations/:id')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async withdraw(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    const { email } = await this.invitations.withdraw(session.accountId, id);
    await this.audit.record(session, 'invitation.withdrawn', email, { email });
  }

  /**
   * The user that a request is about. Users can't do this to themselves, which would bypass their password, nor to
   * users with a higher role.
   */
  private async another({ accountId, personId, role }: Session, id: string): Promise<Person> {
    if (id === personId) throw new AppError('invalid_value', 'Ask another owner or admin to do this for you.');
    const person = await this.people.find(accountId, id);
    if (person === undefined) throw noPerson();
    if (isAbove(person.role, role)) throw new AppError('not_permitted', 'Only an owner can change another owner.');
    return person;
  }
}

const named = ({ name, email }: Person) => ({ name, email });

/** Throws AppError `not_found`, `last_admin`, or `last_owner` when the user was not changed. */
function assertChanged(outcome: Awaited<ReturnType<PersonStore['change']>>): asserts outcome is Person {
  if (outcome === 'unknown') throw noPerson();
  if (outcome === 'last_admin')
    throw new AppError(outcome, 'This is the last owner or admin, and an account needs at least one.');
  if (outcome === 'last_owner')
    throw new AppError(outcome, 'This is the last owner, and an account needs at least one.');
}

function noPerson(): AppError {
  return new AppError('not_found', 'User not found.');
}
