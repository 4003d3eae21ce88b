import { ArrayMaxSize, Matches } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** Time limit, concurrency and retries of deliveries, and how many endpoints an account may have. */
export class WebhooksConfig {
  @Setting('WEBHOOK_TIMEOUT_MS', 'Time limit for a webhook’s receiver to respond.', { who: 'debugging', unit: 'ms' })
  @Within(100, 60_000)
  readonly timeoutMs: number = 15_000;

  @Setting(
    'WEBHOOK_RETRY_SECONDS',
    'Delays before each retry of a failed delivery; after the last retry the delivery fails.',
    { who: 'debugging', list: true, unit: 's, list' },
  )
  @ArrayMaxSize(20)
  @Matches(/^\d{1,6}$/, { each: true, message: 'WEBHOOK_RETRY_SECONDS must list whole seconds' })
  readonly retrySeconds: string[] = ['5', '300', '1800', '7200', '18000', '36000'];

  @Setting(
    'WEBHOOK_CONCURRENCY_PER_ACCOUNT',
    'Maximum webhooks of one account that all workers together deliver at once, so that slow receivers delay only that account.',
    { who: 'traffic' },
  )
  @Within(1, 1_000)
  readonly concurrencyPerAccount: number = 10;

  @Setting('WEBHOOK_ENDPOINTS_PER_ACCOUNT', 'Maximum webhook endpoints per account; 0 = unlimited.', { who: 'traffic' })
  @Within(0, 10_000)
  readonly endpointsPerAccount: number = 20;
}
