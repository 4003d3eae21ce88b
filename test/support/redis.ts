import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { patient } from './patience.js';
import { serviceAddress } from './service-address.js';

export interface TestRedis {
  readonly url: string;
  /** For REDIS_PREFIX: keys and channels of this test file only. */
  readonly prefix: string;
  /** Deletes every key below the prefix; stop all writers first. */
  clean(): Promise<void>;
}

/** An unused prefix in the test server's Redis. */
export function createTestRedis(): TestRedis {
  const url = serviceAddress('TEST_REDIS_URL');
  const prefix = `{test-${randomBytes(6).toString('hex')}}`;
  return { url, prefix, clean: () => deleteKeys(url, prefix) };
}

async function deleteKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url, { commandTimeout: patient(10_000) });
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 500 }) as AsyncIterable<string[]>) {
      if (keys.length > 0) await redis.unlink(keys);
    }
  } finally {
    redis.disconnect();
  }
}
