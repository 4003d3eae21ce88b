import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

/** What a response contains besides the challenge. */
interface Answering {
  readonly origin: string;
  readonly rpId?: string;
  /** Signature count; stays 0 for authenticators that don't count. */
  readonly counter?: number;
  /** Whether the user was verified by fingerprint or PIN. */
  readonly verified?: boolean;
  readonly userHandle?: string;
}

const PRESENT = 0x01;
const VERIFIED = 0x04;
const NEW_CREDENTIAL = 0x40;

/** An authenticator with one passkey, whose responses can be wrong in any way. ES256, without attestation. */
export class Authenticator {
  readonly id = randomBytes(32).toString('base64url');
  private readonly key: KeyObject;
  private readonly publicKey: KeyObject;

  constructor() {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    [this.key, this.publicKey] = [pair.privateKey, pair.publicKey];
  }

  /** The response of `navigator.credentials.create`. */
  create(challenge: string, answering: Answering, certificates: readonly Buffer[] = []): object {
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const authData = Buffer.concat([
      this.head(answering, NEW_CREDENTIAL),
      ...[Buffer.alloc(16), length, id, this.coseKey()],
    ]);
    const isAttested = certificates.length > 0;
    const statement = isAttested
      ? [
          map(3),
          text('alg'),
          Buffer.from([0x26]),
          text('sig'),
          bytes(Buffer.alloc(70)),
          text('x5c'),
          array(certificates),
        ]
      : [map(0)];
    const attestationObject = Buffer.concat([
      ...[map(3), text('fmt'), text(isAttested ? 'packed' : 'none'), text('attStmt'), ...statement],
      ...[text('authData'), bytes(authData)],
    ]);
    return this.credential({
      clientDataJSON: clientData('webauthn.create', challenge, answering.origin),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** The response of `navigator.credentials.get`. */
  get(challenge: string, answering: Answering): object {
    const authenticatorData = this.head(answering, 0);
    const clientDataJSON = clientData('webauthn.get', challenge, answering.origin);
    const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();
    const { userHandle } = answering;
    return this.credential({
      clientDataJSON,
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', Buffer.concat([authenticatorData, hash]), this.key).toString('base64url'),
      ...(userHandle !== undefined && { userHandle: Buffer.from(userHandle).toString('base64url') }),
    });
  }

  private head({ rpId = 'localhost', counter = 0, verified = true }: Answering, flags: number): Buffer {
    const rest = Buffer.alloc(5);
    rest.writeUInt8(PRESENT | (verified ? VERIFIED : 0) | flags);
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), rest]);
  }

  private coseKey(): Buffer {
    const { x = '', y = '' } = this.publicKey.export({ format: 'jwk' });
    const coordinates = [x, y].map((part) => bytes(Buffer.from(part, 'base64url')));
    // kty: EC2, alg: ES256, crv: P-256, x, y.
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]);
    const second = Buffer.from([0x22]);
    return Buffer.concat([head, coordinates[0]!, second, coordinates[1]!]);
  }

  private credential(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response };
  }
}

function clientData(type: string, challenge: string, origin: string): string {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })).toString('base64url');
}

/** CBOR, as far as an attestation needs it. */
function map(size: number): Buffer {
  return Buffer.from([0xa0 + size]);
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
}

/** In the shortest form, as WebAuthn requires. */
function bytes(value: Buffer): Buffer {
  const { length } = value;
  const head = length < 256 ? [0x58, length] : [0x59, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), value]);
}

function array(values: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([0x80 + values.length]), ...values.map(bytes)]);
}
