import { IsOptional, IsString, MinLength } from 'class-validator';
import { Setting } from '#config/setting.js';

const MIN_LENGTH = 32;
/** Fewer different characters than this are a pattern, not a secret. */
const MIN_VARIETY = 10;
const WELL_KNOWN = /change.?me|example|secret.?key|password|placeholder|your.?key|0123456789|abcdefgh/i;

export class SecretsConfig {
  @Setting('SECRET_KEY', 'Signs links and hashes API keys; at least 32 random characters, the same everywhere.', {
    secret: true,
  })
  @IsString({ message: 'SECRET_KEY must be given' })
  @MinLength(MIN_LENGTH, { message: `SECRET_KEY must have at least ${MIN_LENGTH} characters` })
  readonly secretKey!: string;

  @Setting('SECRET_KEY_PREVIOUS', 'The SECRET_KEY before this one; links it signed keep working.', { secret: true })
  @IsOptional()
  @MinLength(MIN_LENGTH, { message: `SECRET_KEY_PREVIOUS must have at least ${MIN_LENGTH} characters` })
  readonly secretKeyPrevious?: string;
}

/** Names of the secrets that anyone could guess; production refuses to start with one. */
export function guessableSecrets(secrets: SecretsConfig): string[] {
  const named = { SECRET_KEY: secrets.secretKey, SECRET_KEY_PREVIOUS: secrets.secretKeyPrevious };
  return Object.entries(named).flatMap(([name, value]) =>
    value !== undefined && (WELL_KNOWN.test(value) || new Set(value).size < MIN_VARIETY) ? [name] : [],
  );
}
