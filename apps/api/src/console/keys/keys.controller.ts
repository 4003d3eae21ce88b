import { Get, HttpCode, Patch, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { AuditAction } from '#people/audit-actions.js';
import { AuditLog } from '#people/audit-log.js';
import { AccountKeys } from './account-keys.js';
import { consoleBody } from '../console-body.js';
import { ConsoleController } from '../console-controller.js';
import { KeyChangeBody, NewKeyBody, RotateKeyBody } from './key-bodies.js';
import { KeyListView, KeyNameListView, KeyView, NewKeyView } from './key-view.js';
import { sessionOf } from '../session.guard.js';

/** The key management page: admins manage all keys of their account, members those that they made. */
@ConsoleController('Keys', 'keys')
export class KeysController {
  constructor(
    private readonly keys: AccountKeys,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: KeyListView })
  async list(@Req() request: FastifyRequest): Promise<KeyListView> {
    return { data: await this.keys.list(sessionOf(request)) };
  }

  @Get('names')
  @ApiResponse({ status: 200, type: KeyNameListView, description: 'All keys of the account, to find tasks by.' })
  async names(@Req() request: FastifyRequest): Promise<KeyNameListView> {
    return { data: await this.keys.names(sessionOf(request).accountId) };
  }

  @Post()
  @ApiBody({ type: NewKeyBody })
  @ApiResponse({ status: 201, type: NewKeyView })
  async create(@Req() request: FastifyRequest): Promise<NewKeyView> {
    const body = consoleBody(NewKeyBody, request.body);
    const made = await this.keys.create(sessionOf(request), body);
    await this.log(request, 'key.created', made.key.id, { ...body });
    return made;
  }

  @Patch(':id')
  @ApiBody({ type: KeyChangeBody })
  @ApiResponse({ status: 200, type: KeyView })
  async change(@Req() request: FastifyRequest): Promise<KeyView> {
    const body = consoleBody(KeyChangeBody, request.body);
    const key = await this.keys.change(sessionOf(request), idOf(request), body);
    await this.log(request, 'key.changed', key.id, { name: key.name, changes: body });
    return key;
  }

  @Post(':id/rotate')
  @ApiBody({ type: RotateKeyBody })
  @ApiResponse({ status: 201, type: NewKeyView })
  async rotate(@Req() request: FastifyRequest): Promise<NewKeyView> {
    const body = consoleBody(RotateKeyBody, request.body);
    const made = await this.keys.rotate(sessionOf(request), idOf(request), body.overlap_hours);
    const { name, id } = made.key;
    await this.log(request, 'key.rotated', idOf(request), { name, ...body, new_key: id });
    return made;
  }

  @Post(':id/revoke')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @ApiResponse({ status: 200, type: KeyView })
  async revoke(@Req() request: FastifyRequest): Promise<KeyView> {
    const key = await this.keys.revoke(sessionOf(request), idOf(request));
    await this.log(request, 'key.revoked', key.id, { name: key.name });
    return key;
  }

  private async log(request: FastifyRequest, action: AuditAction, target: string, details: object): Promise<void> {
    const { accountId, personId } = sessionOf(request);
    await this.audit.write({ accountId, personId, action, target, details: { ...details } });
  }
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}
