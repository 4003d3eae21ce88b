import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ExpireSignIns } from '#accounts/expire-sign-ins.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { EXPIRE_EVERY_MS, Retention } from './retention.js';

/** Schedules the removal of expired idempotency keys, links, and sessions. */
@Injectable()
export class KeyAndSessionRetention implements OnApplicationBootstrap {
  constructor(
    private readonly retention: Retention,
    private readonly keys: ExpireIdempotencyKeys,
    private readonly signIns: ExpireSignIns,
  ) {}

  onApplicationBootstrap(): void {
    this.retention.watch('idempotency_keys', () => this.keys.dueSince());
    this.retention.watch('sign_ins', () => this.signIns.dueSince());
    this.retention.every(EXPIRE_EVERY_MS, 'idempotency_keys', () => this.keys.run());
    this.retention.every(EXPIRE_EVERY_MS, 'sign_ins', () => this.signIns.run());
  }
}
