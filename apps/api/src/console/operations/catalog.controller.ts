import { Body, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { ConsoleCatalog } from '#catalog/console-catalog.js';
import { EditCatalog, type Changed } from '#catalog/edit-catalog.js';
import { RevisionRepository } from '#catalog/revision.repository.js';
import { NameParam } from '../../common/params.js';
import { GoneSignal } from '../../common/request.decorators.js';
import { ConsoleController } from '../console-controller.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { CheckConnection } from './check-connection.js';
import { ConnectionBody, ModelBody, ProviderBody, RevisionBody, RevisionQuery } from './dto/catalog-bodies.dto.js';
import {
  CatalogView,
  catalogView,
  ChangedView,
  ConnectionView,
  RevisionListView,
  revisionView,
} from './dto/catalog-views.dto.js';

/** Path parameters with a revision. */
class RevisionParam {
  readonly revision!: string;
}

/** The catalog for operators: models, their providers, and prices. */
@ConsoleController('Catalog', 'catalog')
@Allow('installation.manage')
export class CatalogController {
  constructor(
    private readonly source: CatalogSource,
    private readonly added: ConsoleCatalog,
    private readonly edit: EditCatalog,
    private readonly revisions: RevisionRepository,
    private readonly connections: CheckConnection,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: CatalogView })
  show(): CatalogView {
    return catalogView(this.added, this.source.current);
  }

  @Put('providers/:name')
  @ApiResponse({ status: 200, type: ChangedView, description: 'Takes effect in all processes within 5 s.' })
  async saveProvider(
    @Session() session: Session,
    @Param() { name }: NameParam,
    @Body() body: ProviderBody,
  ): Promise<ChangedView> {
    return await this.noted(session, name, await this.edit.saveProvider(name, body, session.email));
  }

  @Delete('providers/:name')
  @ApiResponse({ status: 200, type: ChangedView })
  async removeProvider(
    @Session() session: Session,
    @Param() { name }: NameParam,
    @Query() { revision }: RevisionQuery,
  ): Promise<ChangedView> {
    return await this.noted(session, name, await this.edit.remove('providers', name, revision, session.email));
  }

  @Put('models/:name')
  @ApiResponse({ status: 200, type: ChangedView, description: 'Takes effect in all processes within 5 s.' })
  async saveModel(
    @Session() session: Session,
    @Param() { name }: NameParam,
    @Body() body: ModelBody,
  ): Promise<ChangedView> {
    return await this.noted(session, name, await this.edit.saveModel(name, body, session.email));
  }

  @Delete('models/:name')
  @ApiResponse({ status: 200, type: ChangedView })
  async removeModel(
    @Session() session: Session,
    @Param() { name }: NameParam,
    @Query() { revision }: RevisionQuery,
  ): Promise<ChangedView> {
    return await this.noted(session, name, await this.edit.remove('models', name, revision, session.email));
  }

  @Get('revisions')
  @ApiResponse({ status: 200, type: RevisionListView })
  async history(): Promise<RevisionListView> {
    const rows = await this.revisions.list();
    const isBuiltIn = ({ action, target }: (typeof rows)[number]): boolean =>
      this.source.isBuiltIn(action.startsWith('model.') ? 'models' : 'providers', target);
    return { data: rows.map((row) => revisionView(row, isBuiltIn(row))) };
  }

  @Post('revisions/:revision/restore')
  @HttpCode(200)
  @ApiResponse({ status: 200, type: ChangedView, description: 'Restored the catalog of that revision.' })
  async restore(
    @Session() session: Session,
    @Param() { revision: old }: RevisionParam,
    @Body() { revision }: RevisionBody,
  ): Promise<ChangedView> {
    const number = /^\d{1,9}$/.test(old) ? Number(old) : -1;
    return await this.noted(session, old, await this.edit.restore(number, revision, session.email));
  }

  /** Tests a provider's address and keys before it is saved. */
  @Post('connection')
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ConnectionView,
    description: 'Requests the provider’s list of models, which is free of charge.',
  })
  async try(@Body() { name, ...change }: ConnectionBody, @GoneSignal() gone: AbortSignal): Promise<ConnectionView> {
    const { models, problem } = await this.connections.run(name, change, gone);
    return { models: [...models], problem };
  }

  private async noted(session: Session, target: string, { action, ...details }: Changed): Promise<ChangedView> {
    await this.audit.record(session, action, target, details);
    return { revision: details.revision };
  }
}
