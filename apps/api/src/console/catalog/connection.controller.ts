import { Body, HttpCode, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { GoneSignal } from '../../common/request.decorators.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { CheckConnection } from './check-connection.js';
import { ConnectionBody } from './dto/catalog-bodies.dto.js';
import { ConnectionView } from './dto/catalog-views.dto.js';

/** Tests a provider's address and keys before it is saved; for operators, who enter them. */
@ConsoleController('Catalog', 'catalog')
@Allow('installation.manage')
export class ConnectionController {
  constructor(private readonly check: CheckConnection) {}

  @Post('connection')
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ConnectionView,
    description: 'Requests the provider’s list of models, which is free of charge.',
  })
  async try(@Body() { name, ...change }: ConnectionBody, @GoneSignal() gone: AbortSignal): Promise<ConnectionView> {
    const { models, problem } = await this.check.run(name, change, gone);
    return { models: [...models], problem };
  }
}
