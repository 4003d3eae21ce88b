import { Body, HttpCode, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { AuthorizeClient } from './authorize-client.js';
import { AuthorizationBody, AuthorizationRequestView, AuthorizationView } from './dto/authorization.dto.js';

/** MCP clients that ask users for access. */
@ConsoleController('Keys', 'authorizations')
@Allow('keys.manage')
export class AuthorizationsController {
  constructor(
    private readonly clients: AuthorizeClient,
    private readonly audit: AuditLog,
  ) {}

  @Post('check')
  @RouteConfig({ uncapped: true })
  @HttpCode(200)
  @ApiResponse({ status: 200, type: AuthorizationRequestView, description: 'What the user is asked; changes nothing.' })
  async check(@Session() session: Session, @Body() body: AuthorizationBody): Promise<AuthorizationRequestView> {
    return await this.clients.describe(session, body);
  }

  @Post()
  @ApiResponse({ status: 201, type: AuthorizationView, description: 'Creates a key for the client.' })
  async authorize(@Session() session: Session, @Body() body: AuthorizationBody): Promise<AuthorizationView> {
    const { keyId, client, redirectUrl } = await this.clients.authorize(session, body);
    await this.audit.record(session, 'key.authorized', keyId, {
      name: client,
      returns_to: new URL(body.redirect_uri).host,
    });
    return { redirect_url: redirectUrl };
  }
}
