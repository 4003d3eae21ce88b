import { ApiProperty } from '@nestjs/swagger';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Passkey } from '#accounts/passkey-store.js';
import { ObjectField } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { ListOf } from '../../dto/list-views.dto.js';
import { NameBody } from '../../dto/name-body.dto.js';

/** Credential ids have at most 1,023 bytes (WebAuthn), here in base64url. */
const CREDENTIAL_ID = /^[\w-]{1,1364}$/;

/** The result of `navigator.credentials.get` as JSON. Only its id is validated here, the rest by the library. */
export type AuthenticationResponse = AuthenticationResponseJSON;
/** The result of `navigator.credentials.create` as JSON. Only its id is validated here, the rest by the library. */
export type RegistrationResponse = RegistrationResponseJSON;

function credentialProblem(value: unknown, property: string): FieldProblem | undefined {
  const { id } = (value ?? {}) as { id?: unknown };
  if (typeof id === 'string' && CREDENTIAL_ID.test(id)) return undefined;
  return { code: 'invalid_value', message: `${property} must be the response of the browser, as JSON` };
}

/** One of the user's passkeys. */
export class PasskeyView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ description: 'Whether the passkey is synced and may be available on several devices.' })
  synced!: boolean;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ type: String, nullable: true, format: 'date-time' })
  last_used_at!: string | null;
}

/** Oldest first. */
export class PasskeyListView extends ListOf(PasskeyView) {}

/** Options for the browser's authenticator; the challenge is also in a cookie, for five minutes. */
export class PasskeyOptionsView {
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'WebAuthn options, as JSON.' })
  options!: object;
}

/** The authenticator's response, and a name for the passkey. */
export class NewPasskeyBody extends NameBody {
  @ObjectField({ description: 'The new credential, as JSON.', rule: credentialProblem })
  response!: RegistrationResponse;
}

/** The authenticator's signed response. */
export class PasskeySignInBody {
  @ObjectField({ description: 'The assertion, as JSON.', rule: credentialProblem })
  response!: AuthenticationResponse;
}

/** The passkey without its public key, which only the service needs. */
export function passkeyView({ id, name, synced, createdAt, lastUsedAt }: Passkey): PasskeyView {
  const times = { created_at: createdAt.toISOString(), last_used_at: lastUsedAt?.toISOString() ?? null };
  return { id, name, synced, ...times };
}
