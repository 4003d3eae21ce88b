import { Redis } from 'ioredis';
import { loadConfig } from '#config/load-config.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { patient } from './patience.js';
import type { ApiPlatform } from './platform.js';

/** Every row of every table, as text. */
export async function tableTexts({ pool }: ApiPlatform): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join('\n');
}

/** Every key of the platform in Redis with its value, as text. */
export async function redisTexts({ settings }: ApiPlatform): Promise<string> {
  const redis = new Redis(settings['REDIS_URL'] ?? '', { commandTimeout: patient(10_000) });
  const texts: string[] = [];
  for (const key of await redis.keys(`${settings['REDIS_PREFIX']}*`)) {
    // DUMP compresses values, so each type is read directly.
    const type = await redis.type(key);
    texts.push(key);
    if (type === 'string') texts.push((await redis.get(key)) ?? '');
    if (type === 'hash') texts.push(JSON.stringify(await redis.hgetall(key)));
    if (type === 'list') texts.push(JSON.stringify(await redis.lrange(key, 0, -1)));
    if (type === 'set') texts.push(JSON.stringify(await redis.smembers(key)));
    if (type === 'zset') texts.push(JSON.stringify(await redis.zrange(key, 0, '-1')));
    if (type === 'stream') texts.push(JSON.stringify(await redis.xrange(key, '-', '+')));
  }
  redis.disconnect();
  return texts.join('\n');
}

/** The keys of all objects of images, sorted. */
export async function storedKeys({ settings }: ApiPlatform): Promise<string[]> {
  const store = await createObjectStore(loadConfig([StorageConfig], settings)[0]);
  const keys: string[] = [];
  for (const prefix of ['inputs/', 'results/', 'uploads/']) for await (const key of store.list(prefix)) keys.push(key);
  return keys.sort();
}
