import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import type { Platform } from './platform.js';

/**
 * The answer of an API to a call for partial images, once the API listens for them. The worker stands still until then:
 * a partial image that nobody listens for is lost. `call` must return when the headers have come. No other such call
 * may be running.
 */
export async function listenedFor<T>(
  { settings, worker }: Pick<Platform, 'settings' | 'worker'>,
  call: () => Promise<T>,
): Promise<T> {
  const redis = new Redis(settings['REDIS_URL'] ?? '');
  const channels = `${settings['REDIS_PREFIX'] ?? ''}:tasks:partial:*`;
  const listening = (isListening: boolean) => async (): Promise<boolean> =>
    (await redis.pubsub('CHANNELS', channels)).length > 0 === isListening;
  try {
    // Not for those of the call before.
    expect(await waitUntil(listening(false), { timeoutMs: 30_000 })).toBe(true);
    worker.kill('SIGSTOP');
    const answer = await call();
    expect(await waitUntil(listening(true), { timeoutMs: 30_000 })).toBe(true);
    return answer;
  } finally {
    worker.kill('SIGCONT');
    redis.disconnect();
  }
}
