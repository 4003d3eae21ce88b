import { ApiProperty } from '@nestjs/swagger';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { IsDefined, IsObject, IsString } from 'class-validator';
import type { Passkey } from '#accounts/passkey-store.js';
import { MAX_PASSWORD_LENGTH } from '#accounts/passwords.js';
import { Rule, type FieldProblem } from '#contract/field-rule.js';
import { textProblem } from '#contract/text-rules.js';
import { ListOf } from '../../dto/list-views.dto.js';
import { NameBody } from '../../dto/name-body.dto.js';

/** Ids of credentials have 1,023 bytes at most (WebAuthn), here in base64url. */
const CREDENTIAL_ID = /^[\w-]{1,1364}$/;

/** What `navigator.credentials.get` gives, as JSON. Only its id is checked here, the rest by the library. */
export type AuthenticationResponse = AuthenticationResponseJSON;
/** What `navigator.credentials.create` gives, as JSON. Only its id is checked here, the rest by the library. */
export type RegistrationResponse = RegistrationResponseJSON;

const IsCredential = () => Rule('isCredential', credentialProblem);

function credentialProblem(value: unknown, property: string): FieldProblem | undefined {
  const { id } = (value ?? {}) as { id?: unknown };
  if (typeof id === 'string' && CREDENTIAL_ID.test(id)) return undefined;
  return { code: 'invalid_value', message: `${property} must be the response of the browser, as JSON` };
}

/** A passkey of one's own. */
export class PasskeyView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ description: 'Backed up by its provider, so that it may be on several devices.' })
  synced!: boolean;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  last_used_at!: string | null;
}

/** Oldest first. */
export class PasskeyListView extends ListOf(PasskeyView) {}

/** What a browser asks its authenticator; its challenge is in a cookie too, for five minutes. */
export class PasskeyOptionsView {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'For WebAuthn, as JSON.' })
  options!: object;
}

/** The password, as proof that it is its owner who adds a passkey. */
export class ProofBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @Rule('isPassword', (value, property) => textProblem(value, property, MAX_PASSWORD_LENGTH))
  password!: string;
}

/** What the authenticator made, and what its owner calls it. */
export class NewPasskeyBody extends NameBody {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'The new credential, as JSON.' })
  @IsDefined()
  @IsObject()
  @IsCredential()
  response!: RegistrationResponse;
}

/** What the authenticator signed. */
export class PasskeySignInBody {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'The assertion, as JSON.' })
  @IsDefined()
  @IsObject()
  @IsCredential()
  response!: AuthenticationResponse;
}

/** Without its key, which is nobody’s business but the service’s. */
export function passkeyView({ id, name, synced, createdAt, lastUsedAt }: Passkey): PasskeyView {
  const times = { created_at: createdAt.toISOString(), last_used_at: lastUsedAt?.toISOString() ?? null };
  return { id, name, synced, ...times };
}
