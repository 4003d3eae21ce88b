import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { EndUserRefusals } from './end-user-refusals.repository.js';
import { EndUserStates } from './end-user-states.js';
import { SafetyNotices } from './safety-notices.repository.js';

const parts = [EndUserStates, EndUserRefusals, SafetyNotices];

/** End users who are flagged, paused, or blocked, and what led to it. */
@Module({ imports: [DatabaseModule], providers: parts, exports: parts })
export class EndUserStatesModule {}
