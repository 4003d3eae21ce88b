import { Module } from '@nestjs/common';
import { HealthChecksModule } from '#health/health-checks.module.js';
import { CommonModule } from '../common/common.module.js';
import { HealthController } from './health.controller.js';

/** `/healthz` and `/readyz`. */
@Module({
  imports: [CommonModule, HealthChecksModule],
  controllers: [HealthController],
})
export class HealthModule {}
