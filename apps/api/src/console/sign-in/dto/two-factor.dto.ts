import { ApiProperty } from '@nestjs/swagger';
import type { SecondFactorState } from '#accounts/second-factor-store.js';
import { TextField } from '#contract/field.js';
import { textProblem } from '#contract/text-rules.js';
import { PasswordField } from '../../sign-in/dto/sign-in-bodies.dto.js';

const MAX_CODE_LENGTH = 40;

/** A code of the app, or a recovery code. */
export class CodeBody {
  @TextField({
    description: 'Six digits from the authenticator app, or a recovery code.',
    rule: (value, property) => textProblem(value, property, MAX_CODE_LENGTH),
  })
  code!: string;
}

/** The password and a code, as at sign-in. */
export class TurnOffBody extends CodeBody {
  @PasswordField()
  password!: string;
}

/** A user's two-factor settings. */
export class TwoFactorView {
  @ApiProperty({ type: String, nullable: true, format: 'date-time', description: 'null = off.' })
  enabled_at!: string | null;

  @ApiProperty({ type: 'integer', description: 'Number of unused recovery codes.' })
  recovery_codes!: number;
}

/** A secret for an authenticator app; codes are required once the first one is confirmed. */
export class AuthenticatorView {
  @ApiProperty({ description: 'In base32; shown only once.' })
  secret!: string;

  @ApiProperty({ description: 'The secret as an otpauth URI, for a QR code.' })
  uri!: string;
}

/** Each works once, instead of a code of the app. */
export class RecoveryCodesView {
  @ApiProperty({ type: [String], description: 'Shown only once.' })
  recovery_codes!: string[];
}

/** The settings without secrets. */
export function twoFactorView({ since, recoveryCodes }: SecondFactorState): TwoFactorView {
  return { enabled_at: since?.toISOString() ?? null, recovery_codes: recoveryCodes };
}
