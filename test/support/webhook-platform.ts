import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { startPlatform, type Platform } from './platform.js';
import { TEST_CERTIFICATE } from './test-certificate.js';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.js';

/** A platform with a webhook receiver on this machine. */
export interface WebhookPlatform {
  readonly platform: Platform;
  readonly receiver: WebhookReceiver;
  close(): Promise<void>;
}

/** Starts both; a failed webhook is retried after 1 s, then after 600 s. */
export async function startWebhookPlatform(changes: Readonly<Record<string, string>> = {}): Promise<WebhookPlatform> {
  const receiver = await startWebhookReceiver();
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-webhooks-'));
  const authority = join(folder, 'ca.pem');
  await writeFile(authority, TEST_CERTIFICATE.cert);
  const port = String(await freePort());
  const platform = await startPlatform({
    PORT: port,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    NODE_EXTRA_CA_CERTS: authority,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    EGRESS_PORTS: String(receiver.port),
    WEBHOOK_RETRY_SECONDS: '1,600',
    WEBHOOK_TIMEOUT_MS: '5000',
    SWEEP_INTERVAL_MS: '500',
    ...changes,
  });
  return {
    platform,
    receiver,
    close: async () => {
      await platform.close();
      await receiver.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
