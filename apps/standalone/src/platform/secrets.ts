import { chmodSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { newApiKey } from '#accounts/api-keys.js';
import { readWhole, writeWhole } from './data-folder.js';

/** Generated once and stored; without them, the existing data can't be read. */
export interface Secrets {
  readonly secretKey: string;
  readonly databasePassword: string;
  readonly redisPassword: string;
  /** The API key that every start prints. */
  readonly apiKey: string;
}

/** The stored secrets; undefined before the first start. Throws SetupError when the file is damaged. */
export function readSecrets(file: string): Partial<Secrets> | undefined {
  return readWhole(file);
}

/** Reads the secrets, and generates and stores the missing ones. Throws SetupError when the file is damaged. */
export function ensureSecrets(file: string): Secrets {
  const known = readSecrets(file) ?? {};
  const secrets = {
    secretKey: known.secretKey ?? randomSecret(),
    databasePassword: known.databasePassword ?? randomSecret(),
    redisPassword: known.redisPassword ?? randomSecret(),
    apiKey: known.apiKey ?? newApiKey(),
  };
  if (Object.keys(secrets).some((name) => !(name in known))) writeWhole(file, { ...known, ...secrets });
  chmodSync(file, 0o600);
  return secrets;
}

/** Replaces the stored API key with a new one. */
export function replaceApiKey(file: string, secrets: Secrets): Secrets {
  const replaced = { ...secrets, apiKey: newApiKey() };
  writeWhole(file, { ...readSecrets(file), ...replaced });
  return replaced;
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
