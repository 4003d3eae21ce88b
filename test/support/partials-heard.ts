import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import type { ApiPlatform } from './platform.js';

/**
 * Resolves when an API listens to the partial images of a task, of any one by default: it gets none that were sent before.
 * Throws after 30 seconds.
 */
export async function untilPartialsAreHeard({ settings }: Pick<ApiPlatform, 'settings'>, taskId = '*'): Promise<void> {
  const redis = new Redis(settings['REDIS_URL'] ?? '');
  const channel = `${settings['REDIS_PREFIX'] ?? ''}:tasks:partial:${taskId}`;
  try {
    const isHeard = async (): Promise<boolean> => (await redis.pubsub('CHANNELS', channel)).length > 0;
    if (!(await waitUntil(isHeard, { timeoutMs: 30_000 }))) throw new Error('nobody listens to the partial images');
  } finally {
    redis.disconnect();
  }
}
