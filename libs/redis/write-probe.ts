import type { Redis } from 'ioredis';

/**
 * Writes a key and publishes a message below the prefix. Throws what Redis answers when it takes neither: without
 * memory, read-only, frozen or gone, or for a user that may use other keys or channels.
 */
export async function writeProbe(redis: Redis, prefix: string): Promise<void> {
  const name = `${prefix}:probe`;
  await Promise.all([redis.set(name, '', 'EX', 60), redis.publish(name, '')]);
}
