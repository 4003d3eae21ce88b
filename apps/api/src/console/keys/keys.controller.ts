import { Body, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { AccountKeys } from './account-keys.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { KeyChangeBody, NewKeyBody, RotateKeyBody } from './dto/key-bodies.dto.js';
import { KeyListView, KeyNameListView, KeyView, NewKeyView } from './dto/key-view.dto.js';
import { Session } from '../session.decorator.js';
import { IdParam } from '../../common/params.js';

/** Key management: admins manage all keys of their account, members those that they created. */
@ConsoleController('Keys', 'keys')
@Allow('keys.manage')
export class KeysController {
  constructor(
    private readonly keys: AccountKeys,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @Allow('keys.read')
  @ApiResponse({ status: 200, type: KeyListView })
  async list(@Session() session: Session): Promise<KeyListView> {
    return { data: await this.keys.list(session) };
  }

  @Get('names')
  @Allow('tasks.read')
  @ApiResponse({
    status: 200,
    type: KeyNameListView,
    description: 'Keys to filter tasks by; members see only their own.',
  })
  async names(@Session() session: Session): Promise<KeyNameListView> {
    return { data: await this.keys.names(session) };
  }

  @Post()
  @ApiResponse({ status: 201, type: NewKeyView })
  async create(@Session() session: Session, @Body() body: NewKeyBody): Promise<NewKeyView> {
    const created = await this.keys.create(session, body);
    await this.audit.record(session, 'key.created', created.key.id, { ...body });
    return created;
  }

  @Patch(':id')
  @ApiResponse({ status: 200, type: KeyView })
  async change(@Session() session: Session, @Param() { id }: IdParam, @Body() body: KeyChangeBody): Promise<KeyView> {
    const key = await this.keys.change(session, id, body);
    await this.audit.record(session, 'key.changed', key.id, { name: key.name, changes: body });
    return key;
  }

  @Post(':id/rotate')
  @ApiResponse({ status: 201, type: NewKeyView })
  async rotate(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() body: RotateKeyBody,
  ): Promise<NewKeyView> {
    const created = await this.keys.rotate(session, id, body.overlap_hours);
    await this.audit.record(session, 'key.rotated', id, { name: created.key.name, ...body, new_key: created.key.id });
    return created;
  }

  @Post(':id/revoke')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @ApiResponse({ status: 200, type: KeyView })
  async revoke(@Session() session: Session, @Param() { id }: IdParam): Promise<KeyView> {
    const { key, changed } = await this.keys.revoke(session, id);
    if (changed) await this.audit.record(session, 'key.revoked', key.id, { name: key.name });
    return key;
  }
}
