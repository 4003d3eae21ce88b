import { Injectable } from '@nestjs/common';
import type { Credential, KnownPasskey } from '#accounts/passkey-store.js';
import type { Session } from '#accounts/session-store.js';
import { AppError } from '#contract/app-error.js';
import { Logger } from '#telemetry/logger.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import type { AuthenticationResponse, RegistrationResponse } from './dto/passkeys.dto.js';
import { relyingPartyOf, type RelyingParty } from '../relying-party.js';

const SERVICE = 'Darkroom';
/** Known transports between browser and authenticator; browsers report them unsigned. */
const TRANSPORTS: ReadonlySet<string> = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

/** Options for a browser's authenticator, sent as they are, with the challenge in them. */
export interface CeremonyOptions {
  readonly challenge: string;
}

/**
 * Wraps the WebAuthn library. Every response must prove that the authenticator verified its user, so that a passkey
 * counts as two factors.
 */
@Injectable()
export class WebAuthn {
  private readonly party: RelyingParty | null;

  constructor(
    config: ApiConfig,
    private readonly logger: Logger,
  ) {
    this.party = relyingPartyOf(publicUrlOf(config));
  }

  /**
   * Options for a passkey that works without an email address. Throws AppError `not_permitted` when the installation
   * can't have passkeys.
   */
  async registrationOptions(
    { email, name }: Session,
    userHandle: string,
    known: readonly Credential[],
  ): Promise<CeremonyOptions> {
    const { generateRegistrationOptions } = await library();
    return await generateRegistrationOptions({
      rpName: SERVICE,
      rpID: this.requireParty().id,
      userName: email,
      userDisplayName: name,
      userID: new Uint8Array(Buffer.from(userHandle)),
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: known.map(({ credentialId: id, transports }) => ({ id, transports: [...transports] })),
    });
  }

  /**
   * Options that accept any passkey of this service. Throws AppError `not_permitted` when the installation can't have
   * passkeys.
   */
  async authenticationOptions(): Promise<CeremonyOptions> {
    const { generateAuthenticationOptions } = await library();
    return await generateAuthenticationOptions({ rpID: this.requireParty().id, userVerification: 'required' });
  }

  /** The credential in a response to `registrationOptions`; undefined when the response is invalid. */
  async verifyRegistration(response: RegistrationResponse, challenge: string): Promise<Credential | undefined> {
    const { id, origin } = this.requireParty();
    const { verifyRegistrationResponse, decodeAttestationObject } = await library();
    const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id };
    return await this.orRefused(async () => {
      const attestation = decodeAttestationObject(Buffer.from(response.response.attestationObject, 'base64url'));
      // No attestation was requested, and with one the library would check for revoked certificates at a URL that the
      // response names.
      if (attestation.get('attStmt').size > 0) throw new Error('an attestation that was not asked for');
      const { registrationInfo: registration } = await verifyRegistrationResponse({ response, ...expected });
      if (registration === undefined) return undefined;
      const { id: credentialId, publicKey, counter, transports = [] } = registration.credential;
      const known = transports.filter((transport) => TRANSPORTS.has(transport));
      return { credentialId, publicKey, counter, transports: known, synced: registration.credentialBackedUp };
    });
  }

  /** The passkey's new counter; undefined when the response is invalid or the counter did not increase. */
  async verifyAuthentication(
    response: AuthenticationResponse,
    challenge: string,
    { credentialId, publicKey, counter, userHandle: expectedUser }: KnownPasskey,
  ): Promise<{ counter: number; synced: boolean } | undefined> {
    const { id, origin } = this.requireParty();
    const { verifyAuthenticationResponse } = await library();
    const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id };
    return await this.orRefused(async () => {
      const { userHandle } = response.response;
      if (userHandle !== undefined && Buffer.from(userHandle, 'base64url').toString() !== expectedUser)
        throw new Error('of another person');
      const credential = { id: credentialId, publicKey, counter };
      const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
        response,
        ...expected,
        credential,
      });
      return verified ? { counter: info.newCounter, synced: info.credentialBackedUp } : undefined;
    });
  }

  private requireParty(): RelyingParty {
    if (this.party !== null) return this.party;
    throw new AppError('not_permitted', 'Passkeys need PUBLIC_URL to be https with a domain name, or localhost.');
  }

  /** Responses are untrusted input: any error that the library throws is a refusal. */
  private async orRefused<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.logger.info('passkey.refused', { reason: error instanceof Error ? error.message : 'unknown' });
      return undefined;
    }
  }
}

/** Loaded on first use: it takes 0.3 s of CPU time and 31 MB. */
async function library() {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  return { ...(await import('@simplewebauthn/server')), decodeAttestationObject };
}
