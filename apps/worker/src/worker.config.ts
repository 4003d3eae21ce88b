import { IsIn, IsIP, IsOptional } from 'class-validator';
import { Setting, Within } from '#config/setting.js';
import { PublicUrlSetting, ShutdownGraceSetting } from '#config/shared-settings.js';

/** What one worker runs and holds at once, how it finishes images, and how long records are kept. */
export class WorkerConfig {
  @Setting('WORKER_CONCURRENCY', 'Maximum tasks one worker process runs at once.', { who: 'traffic' })
  @Within(1, 200)
  readonly concurrency: number = 10;

  @Setting(
    'IMAGE_MEMORY',
    'Maximum memory of one worker process for reference images and results of its tasks. One account may use half of it; tasks beyond that wait in the queue. Decoding takes up to 800 MB more.',
    { who: 'traffic', unit: 'bytes' },
  )
  @Within(67_108_864, Number.MAX_SAFE_INTEGER)
  readonly imageMemory: number = 805_306_368;

  @IsOptional()
  @ShutdownGraceSetting()
  readonly shutdownGraceMs?: number;

  @Setting('WORKER_HEALTH_PORT', 'Port of the worker’s /healthz and /readyz; 0 = none.', { who: 'processes' })
  @Within(0, 65_535)
  readonly healthPort: number = 0;

  @Setting(
    'WORKER_HEALTH_HOST',
    'Address /healthz and /readyz of a worker listen on. Probes from outside its host or container need 0.0.0.0.',
    { who: 'processes' },
  )
  @IsIP()
  readonly healthHost: string = '127.0.0.1';

  @PublicUrlSetting()
  readonly publicUrl: string = 'http://127.0.0.1:3000';

  @Setting(
    'PROVENANCE',
    'Whether images carry metadata that marks them as AI-generated, from the provider or added by this service: on, or off to remove all metadata.',
    { who: 'rules' },
  )
  @IsIn(['on', 'off'])
  readonly provenance: 'on' | 'off' = 'on';

  @Setting(
    'CHAT_USAGE_RETENTION_DAYS',
    'How long the usage of each chat is kept; at least 31 days, because budgets need it.',
    { who: 'rules', unit: 'days' },
  )
  @Within(31, 36_500)
  readonly chatUsageRetentionDays: number = 90;

  @Setting('CHARGE_RETENTION_DAYS', 'How long each charge is kept; monthly totals are kept forever.', {
    who: 'rules',
    unit: 'days',
  })
  @Within(62, 36_500)
  readonly chargeRetentionDays: number = 400;

  @Setting('AUDIT_LOG_RETENTION_DAYS', 'How long audit log entries are kept.', { who: 'rules', unit: 'days' })
  @Within(30, 36_500)
  readonly auditLogRetentionDays: number = 730;
}
