import { IsOptional, IsString, MinLength } from 'class-validator';
import { ConfigError } from '#config/load-config.js';
import { Setting } from '#config/setting.js';

const MIN_LENGTH = 32;
/** A text with fewer distinct characters than this is a pattern, not a secret. */
const MIN_VARIETY = 10;
const WELL_KNOWN = /change.?me|example|secret.?key|password|placeholder|your.?key|0123456789|abcdefgh/i;

/** The key that signs, hashes and encrypts, and the previous one. */
export class SecretsConfig {
  @Setting(
    'SECRET_KEY',
    'Key for signing links, hashing API keys, and encrypting secrets; at least 32 random characters, the same for every process.',
    {
      secret: true,
    },
  )
  @IsString({ message: 'SECRET_KEY is required' })
  @MinLength(MIN_LENGTH, { message: `SECRET_KEY must have at least ${MIN_LENGTH} characters` })
  readonly secretKey!: string;

  @Setting(
    'SECRET_KEY_PREVIOUS',
    'A second SECRET_KEY, the previous one or the next: links, API keys, sessions, and secrets created with it also work.',
    { secret: true },
  )
  @IsOptional()
  @MinLength(MIN_LENGTH, { message: `SECRET_KEY_PREVIOUS must have at least ${MIN_LENGTH} characters` })
  readonly secretKeyPrevious?: string;
}

/** Rejects guessable secrets in production. Throws ConfigError, which names them. */
export function refuseGuessableSecrets(secrets: SecretsConfig): void {
  const guessable = guessableSecrets(secrets);
  if (guessable.length > 0)
    throw new ConfigError(guessable.map((name) => `${name} is easy to guess; generate a random one`));
}

/** Names of the settings whose secrets are guessable. */
export function guessableSecrets(secrets: SecretsConfig): string[] {
  const named = { SECRET_KEY: secrets.secretKey, SECRET_KEY_PREVIOUS: secrets.secretKeyPrevious };
  return Object.entries(named).flatMap(([name, value]) =>
    value !== undefined && (WELL_KNOWN.test(value) || new Set(value).size < MIN_VARIETY) ? [name] : [],
  );
}
