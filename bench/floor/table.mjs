import pg from 'pg';
import { Redis } from 'ioredis';

/** Prefix of all Redis keys, so that several floors can run at the same time. */
export const PREFIX = process.env.REDIS_PREFIX ?? '{floor}';
/** The queue of waiting tasks, and the channel of finished ones. */
export const QUEUE = 'tasks';
export const CHANNEL = `${PREFIX}:settled`;

export async function createFloorTable(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`CREATE TABLE tasks (
    id text PRIMARY KEY,
    model text NOT NULL,
    prompt text NOT NULL,
    options jsonb NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    progress integer NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0,
    lease_until timestamptz,
    provider_starts integer NOT NULL DEFAULT 0,
    images jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
  )`);
  await client.end();
}

/** As many connections as one of our processes opens by default. */
export function openPool() {
  return new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
}

/** `patient`: waits for Redis without limit, as BullMQ's blocking reads need it. */
export function openRedis(patient = false) {
  return new Redis(process.env.REDIS_URL, patient ? { maxRetriesPerRequest: null } : {});
}
