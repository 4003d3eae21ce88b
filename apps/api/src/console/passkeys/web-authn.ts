import { Injectable } from '@nestjs/common';
import type { Credential, KnownPasskey } from '#accounts/passkey-store.js';
import type { Session } from '#accounts/session-store.js';
import { AppError } from '#contract/app-error.js';
import { Logger } from '#telemetry/logger.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import type { AuthenticationResponse, RegistrationResponse } from './dto/passkeys.dto.js';
import { relyingPartyOf, type RelyingParty } from '../relying-party.js';

const SERVICE = 'Darkroom';
/** How browsers reach authenticators; what they say of it is not signed. */
const TRANSPORTS: ReadonlySet<string> = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

/** A question for a browser's authenticator, to be sent as it is, and the challenge in it. */
export interface Question {
  readonly challenge: string;
}

/** What the library says of passkeys. Every answer must prove that the authenticator has verified its user, so that it is two factors. */
@Injectable()
export class WebAuthn {
  private readonly party: RelyingParty | null;

  constructor(
    config: ApiConfig,
    private readonly logger: Logger,
  ) {
    this.party = relyingPartyOf(publicUrlOf(config));
  }

  /** A passkey that its authenticator finds without an address. Throws AppError `not_permitted` where there are none. */
  async askForNew({ email, name }: Session, userHandle: string, known: readonly Credential[]): Promise<Question> {
    const { generateRegistrationOptions } = await library();
    return await generateRegistrationOptions({
      ...{ rpName: SERVICE, rpID: this.asked().id, userName: email, userDisplayName: name },
      userID: new Uint8Array(Buffer.from(userHandle)),
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: known.map(({ credentialId: id, transports }) => ({ id, transports: [...transports] })),
    });
  }

  /** Any passkey of this service. Throws AppError `not_permitted` where there are none. */
  async askForKnown(): Promise<Question> {
    const { generateAuthenticationOptions } = await library();
    return await generateAuthenticationOptions({ rpID: this.asked().id, userVerification: 'required' });
  }

  /** The credential of an answer to `askForNew`; undefined when anything about the answer is wrong. */
  async readNew(response: RegistrationResponse, challenge: string): Promise<Credential | undefined> {
    const { id, origin } = this.asked();
    const { verifyRegistrationResponse, decodeAttestationObject } = await library();
    const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id };
    return await this.orRefused(async () => {
      const attestation = decodeAttestationObject(Buffer.from(response.response.attestationObject, 'base64url'));
      // None was asked for, and the library would look up whether a certificate was revoked, at an address that it names.
      if (attestation.get('attStmt').size > 0) throw new Error('an attestation that was not asked for');
      const { registrationInfo: made } = await verifyRegistrationResponse({ response, ...expected });
      if (made === undefined) return undefined;
      const { id: credentialId, publicKey, counter, transports = [] } = made.credential;
      const known = transports.filter((transport) => TRANSPORTS.has(transport));
      return { credentialId, publicKey, counter, transports: known, synced: made.credentialBackedUp };
    });
  }

  /** What the authenticator of a passkey counted; undefined when anything about the answer is wrong, or the count did not go up. */
  async readKnown(
    response: AuthenticationResponse,
    challenge: string,
    { credentialId, publicKey, counter, userHandle: expectedUser }: KnownPasskey,
  ): Promise<{ counter: number; synced: boolean } | undefined> {
    const { id, origin } = this.asked();
    const { verifyAuthenticationResponse } = await library();
    const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id };
    return await this.orRefused(async () => {
      const { userHandle } = response.response;
      if (userHandle !== undefined && Buffer.from(userHandle, 'base64url').toString() !== expectedUser)
        throw new Error('of another person');
      const credential = { id: credentialId, publicKey, counter };
      const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
        ...{ response, ...expected, credential },
      });
      return verified ? { counter: info.newCounter, synced: info.credentialBackedUp } : undefined;
    });
  }

  private asked(): RelyingParty {
    if (this.party !== null) return this.party;
    throw new AppError('not_permitted', 'Passkeys need PUBLIC_URL to be https with a domain name, or localhost.');
  }

  /** What browsers send is theirs: whatever the library throws of it is a refusal. */
  private async orRefused<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.logger.info('passkey.refused', { reason: error instanceof Error ? error.message : 'unknown' });
      return undefined;
    }
  }
}

/** Loaded with the first passkey: it takes 0.3 s of CPU time and 31 MB. */
async function library() {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  return { ...(await import('@simplewebauthn/server')), decodeAttestationObject };
}
