import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/api-key.guard.js';
import { DescribeHealth, DescribeReadiness } from './health.openapi.js';
import { Readiness, type UnreadyReason } from './readiness.js';

/** For load balancers and orchestrators. */
@ApiTags('Health')
@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('healthz')
  @Public()
  @Header('cache-control', 'no-store')
  @DescribeHealth()
  alive(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('readyz')
  @Public()
  @Header('cache-control', 'no-store')
  @DescribeReadiness()
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<{ status: string; reasons: UnreadyReason[] }> {
    const reasons = await this.readiness.problems();
    void reply.code(reasons.length === 0 ? 200 : 503);
    return { status: reasons.length === 0 ? 'ready' : 'not ready', reasons };
  }
}
