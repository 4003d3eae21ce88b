import { chmodSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { newApiKey } from '#accounts/api-keys.js';
import { readWhole, writeWhole } from './data-folder.js';

/** Made once and kept; losing them makes the data behind them unreadable. */
export interface Secrets {
  readonly secretKey: string;
  readonly databasePassword: string;
  readonly redisPassword: string;
  /** The key that is printed at every start. */
  readonly apiKey: string;
}

/** The kept secrets, or undefined before the first start. Throws SetupError when the file is damaged. */
export function readSecrets(file: string): Partial<Secrets> | undefined {
  return readWhole(file);
}

/** Reads the secrets, and makes and keeps those that are missing. Throws SetupError when the file is damaged. */
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

/** Puts another API key in the place of the kept one. */
export function replaceApiKey(file: string, secrets: Secrets): Secrets {
  const replaced = { ...secrets, apiKey: newApiKey() };
  writeWhole(file, { ...readSecrets(file), ...replaced });
  return replaced;
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
