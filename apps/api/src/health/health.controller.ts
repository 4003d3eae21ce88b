import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Readiness, type ReadinessReport } from '#health/readiness.js';
import { Public } from '../auth/api-key.guard.js';
import { Draining } from '../common/draining.js';
import { DescribeHealth, DescribeReadiness } from './health.openapi.js';

/** Probes for load balancers and orchestrators. */
@ApiTags('Health')
@Controller()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly draining: Draining,
  ) {}

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
  ready(@Res({ passthrough: true }) reply: FastifyReply): ReadinessReport {
    const report = this.readiness.report(this.draining.started);
    void reply.code(report.status === 'ready' ? 200 : 503);
    return report;
  }
}
