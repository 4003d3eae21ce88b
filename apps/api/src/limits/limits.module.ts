import { Module } from '@nestjs/common';
import { QueueModule } from '#queue/queue.module.js';
import { RequestLimits } from './limit-requests.js';
import { RateCounter } from './rate-counter.js';

/** Request limits of keys, accounts and networks. */
@Module({ imports: [QueueModule], providers: [RateCounter, RequestLimits], exports: [RateCounter, RequestLimits] })
export class LimitsModule {}
