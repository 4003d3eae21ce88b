import { Delete, Get, HttpCode, Patch, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { AuditAction } from '#people/audit-actions.js';
import { AuditLog } from '#people/audit-log.js';
import { LinkStore } from '#people/link-store.js';
import { PersonStore, type Person } from '#people/person-store.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { Invitations } from './invitations.js';
import { ForRole } from '../roles.guard.js';
import { sessionOf } from '../session.guard.js';
import { InviteBody, PersonChangeBody } from './team-bodies.js';
import { InvitationListView, invitationView, LinkView, linkView, personView } from './team-views.js';
import { TeamPersonView, TeamView } from './team-views.js';

/** The people of an account. */
@ConsoleController('Team')
@ForRole('admin')
export class TeamController {
  constructor(
    private readonly people: PersonStore,
    private readonly links: LinkStore,
    private readonly invitations: Invitations,
    private readonly audit: AuditLog,
  ) {}

  @Get('people')
  @ApiResponse({ status: 200, type: TeamView })
  async list(@Req() request: FastifyRequest): Promise<TeamView> {
    return { data: (await this.people.list(sessionOf(request).accountId)).map(personView) };
  }

  @Post('people')
  @ApiBody({ type: InviteBody })
  @ApiResponse({ status: 201, type: LinkView })
  async invite(@Req() request: FastifyRequest): Promise<LinkView> {
    const { email, role } = consoleBody(InviteBody, request.body);
    const link = await this.invitations.invite(sessionOf(request).accountId, email, role);
    await this.write(request, 'person.invited', email, { email, role });
    return linkView(link);
  }

  @Patch('people/:id')
  @ApiBody({ type: PersonChangeBody })
  @ApiResponse({ status: 200, type: TeamPersonView })
  async change(@Req() request: FastifyRequest): Promise<TeamPersonView> {
    const { role, disabled } = consoleBody(PersonChangeBody, request.body);
    const { id, accountId } = await this.another(request);
    const changes = { role: role ?? undefined, disabled: disabled ?? undefined };
    const person = await this.people.change(accountId, id, changes);
    if (person === 'unknown') throw noPerson();
    if (person === 'last') throw new AppError('last_admin', 'An account needs an admin, and this is the last one.');
    await this.write(request, 'person.changed', id, { ...named(person), ...changes });
    return personView(person);
  }

  @Post('people/:id/sign-out')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async signOut(@Req() request: FastifyRequest): Promise<void> {
    const person = await this.another(request);
    await this.people.signOut(person.accountId, person.id);
    await this.write(request, 'person.signed_out', person.id, named(person));
  }

  @Post('people/:id/reset-link')
  @RouteConfig({ bodyless: true })
  @ApiResponse({ status: 201, type: LinkView, description: 'Their sessions end when it is used.' })
  async resetLink(@Req() request: FastifyRequest): Promise<LinkView> {
    const person = await this.another(request);
    const link = await this.links.resetPassword(person);
    await this.write(request, 'person.reset_link_made', person.id, named(person));
    return linkView(link);
  }

  @Get('invitations')
  @ApiResponse({ status: 200, type: InvitationListView })
  async invited(@Req() request: FastifyRequest): Promise<InvitationListView> {
    return { data: (await this.invitations.list(sessionOf(request).accountId)).map(invitationView) };
  }

  @Post('invitations/:id/renew')
  @RouteConfig({ bodyless: true })
  @ApiResponse({ status: 201, type: LinkView, description: 'The link before ends.' })
  async renew(@Req() request: FastifyRequest): Promise<LinkView> {
    const { link, invitation } = await this.invitations.renew(sessionOf(request).accountId, idOf(request));
    const { email, role } = invitation;
    await this.write(request, 'person.invited', email, { email, role });
    return linkView(link);
  }

  @Delete('invitations/:id')
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async withdraw(@Req() request: FastifyRequest): Promise<void> {
    const { email } = await this.invitations.withdraw(sessionOf(request).accountId, idOf(request));
    await this.write(request, 'invitation.withdrawn', email, { email });
  }

  /** Whom a request is about. Nobody does this to themselves: it would get around the password that they must know. */
  private async another(request: FastifyRequest): Promise<Person> {
    const { accountId, personId } = sessionOf(request);
    const id = idOf(request);
    if (id === personId) throw new AppError('invalid_value', 'Another admin must change you.');
    const person = await this.people.find(accountId, id);
    if (person === undefined) throw noPerson();
    return person;
  }

  private async write(request: FastifyRequest, action: AuditAction, target: string, details: object): Promise<void> {
    const { accountId, personId } = sessionOf(request);
    await this.audit.write({ accountId, personId, action, target, details: { ...details } });
  }
}

const named = ({ name, email }: Person) => ({ name, email });

function noPerson(): AppError {
  return new AppError('not_found', 'There is no such person.');
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}
