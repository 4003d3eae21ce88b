import {
  IsOptional,
  IsString,
  MinLength,
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
} from 'class-validator';
import { Setting } from '#config/setting.js';

const MIN_LENGTH = 32;
/** A text with fewer distinct characters than this is a pattern, not a secret. */
const MIN_VARIETY = 10;
const WELL_KNOWN = /change.?me|example|secret.?key|password|placeholder|your.?key|0123456789|abcdefgh/i;

@ValidatorConstraint()
class NotGuessable {
  validate(secret: unknown, { object }: ValidationArguments): boolean {
    return (object as SecretsConfig).nodeEnv !== 'production' || typeof secret !== 'string' || !isGuessable(secret);
  }

  defaultMessage(): string {
    return '$property is easy to guess; generate a random one';
  }
}

function isGuessable(secret: string): boolean {
  return WELL_KNOWN.test(secret) || new Set(secret).size < MIN_VARIETY;
}

/** The key that signs, hashes and encrypts, and the previous one. */
export class SecretsConfig {
  @Setting('NODE_ENV', 'In production, a SECRET_KEY that is easy to guess is refused.', { who: 'processes' })
  @IsOptional()
  readonly nodeEnv?: string;

  @Setting(
    'SECRET_KEY',
    'Key for signing links, hashing API keys, and encrypting secrets; at least 32 random characters, the same for every process.',
    { who: 'processes', secret: true },
  )
  @IsString({ message: 'SECRET_KEY is required' })
  @MinLength(MIN_LENGTH, { message: `SECRET_KEY must have at least ${MIN_LENGTH} characters` })
  @Validate(NotGuessable)
  readonly secretKey!: string;

  @Setting(
    'SECRET_KEY_PREVIOUS',
    'A second SECRET_KEY, the previous one or the next: links, API keys, sessions, and secrets created with it also work.',
    { who: 'processes', secret: true },
  )
  @IsOptional()
  @MinLength(MIN_LENGTH, { message: `SECRET_KEY_PREVIOUS must have at least ${MIN_LENGTH} characters` })
  @Validate(NotGuessable)
  readonly secretKeyPrevious?: string;
}
