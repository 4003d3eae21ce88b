import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Time-based one-time passwords with the defaults of RFC 6238, which every app supports: SHA-1, 30 s, six digits. */
const STEP_SECONDS = 30;
const DIGITS = 6;
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** Per person. */
const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;

/** A new secret in base32, as apps take it. */
export function newTotpSecret(): string {
  return base32(randomBytes(SECRET_BYTES));
}

/** The otpauth URI for a QR code: the secret, its user and the service. */
export function totpUri(secret: string, email: string, service: string): string {
  const label = `${encodeURIComponent(service)}:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(service)}`;
}

/** The code of a step; `secret` in base32. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = mac.readUInt8(mac.length - 1) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, '0');
}

/**
 * The step of a code: the current one, or the one before or after, for clocks that differ. Undefined for a wrong code.
 */
export function totpStep(secret: string, code: string, now = Date.now()): number | undefined {
  const current = Math.floor(now / 1_000 / STEP_SECONDS);
  const given = Buffer.from(code);
  const fits = (step: number): boolean =>
    given.length === DIGITS && timingSafeEqual(given, Buffer.from(totpCode(secret, step)));
  return [current, current - 1, current + 1].find(fits);
}

/** Codes for users who lost the app: 80 random bits each, in four groups. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    (base32(randomBytes(RECOVERY_BYTES)).toLowerCase().match(/.{4}/g) ?? []).join('-'),
  );
}

/** The stored form of a recovery code, regardless of case and separators; too random to guess. */
export function recoveryHash(userHandle: string, code: string): Uint8Array<ArrayBuffer> {
  const spelled = code.toLowerCase().replace(/[^a-z2-7]/g, '');
  return new Uint8Array(createHash('sha256').update(`${userHandle} ${spelled}`).digest());
}

function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32.charAt(parseInt(five, 2))).join('');
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => parseInt(eight, 2)));
}
