import { Controller, Get, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/api-key.guard.js';
import { DescribeHealth, DescribeReadiness } from './health.openapi.js';
import { Readiness } from './readiness.js';

/** For load balancers and orchestrators. */
@ApiTags('Health')
@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('healthz')
  @Public()
  @DescribeHealth()
  alive(@Res() reply: FastifyReply): void {
    void reply.header('cache-control', 'no-store').send({ status: 'ok' });
  }

  @Get('readyz')
  @Public()
  @DescribeReadiness()
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const reasons = await this.readiness.problems();
    const status = reasons.length === 0 ? 'ready' : 'not ready';
    void reply
      .code(reasons.length === 0 ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status, reasons });
  }
}
