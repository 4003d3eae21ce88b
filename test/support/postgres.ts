import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { patient } from './patience.js';
import { serviceAddress } from './service-address.js';

export interface TestDatabase {
  readonly url: string;
  readonly name: string;
  /** Drops it despite open connections; close your own pools first. */
  drop(): Promise<void>;
}

/** A migrated, otherwise empty database for the caller; takes about 60 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return await create(serviceAddress('TEST_TEMPLATE_DATABASE'));
}

/** A database without any table. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return await create('template0');
}

async function create(template: string): Promise<TestDatabase> {
  // The prefix lets `npm test` find and drop databases of interrupted tests.
  const name = `${serviceAddress('TEST_TEMPLATE_DATABASE')}_${randomBytes(5).toString('hex')}`;
  await administer(`CREATE DATABASE "${name}" TEMPLATE "${template}"`);
  const url = new URL(serviceAddress('TEST_POSTGRES_URL'));
  url.pathname = `/${name}`;
  return { url: url.href, name, drop: () => administer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`) };
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({
    connectionString: serviceAddress('TEST_POSTGRES_URL'),
    connectionTimeoutMillis: patient(10_000),
    query_timeout: patient(60_000),
  });
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end();
  }
}
