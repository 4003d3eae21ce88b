import { timingSafeEqual } from 'node:crypto';
import { INVISIBLE } from '#contract/text-rules.js';
import { isLoopback } from './loopback.js';
import { tokenColumns, tokenHashes, type TokenSecrets } from './tokens.js';

const MAX_URIS = 5;
const MAX_URI_LENGTH = 500;
/** As in URIs; without what JSON escapes, so that ids stay short. */
const URI = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const MAX_NAME_LENGTH = 60;
const UNNAMED = 'MCP client';

/** A client that wants to be authorized, as it says of itself. */
export interface OAuthClient {
  readonly name: string;
  /** Where its users may be sent back to. */
  readonly redirectUris: readonly string[];
}

/** Why a client can't be registered. */
export class RegistrationRefused extends Error {
  override readonly name = 'RegistrationRefused';

  constructor(
    readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata',
    message: string,
  ) {
    super(message);
  }
}

/** Reads a registration (RFC 7591). What it says beyond the two fields has no effect. Throws RegistrationRefused. */
export function clientOf(metadata: unknown): OAuthClient {
  const { client_name: name, redirect_uris: uris } = (metadata ?? {}) as Readonly<Record<string, unknown>>;
  if (name !== undefined && typeof name !== 'string')
    throw new RegistrationRefused('invalid_client_metadata', 'client_name must be a string');
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_URIS)
    throw new RegistrationRefused('invalid_redirect_uri', `redirect_uris must be a list of 1 to ${MAX_URIS} URIs`);
  const visible = [...(name ?? '').replace(INVISIBLE, '').trim()].slice(0, MAX_NAME_LENGTH).join('').trim();
  return { name: visible === '' ? UNNAMED : visible, redirectUris: uris.map(checkedUri) };
}

/**
 * The id of a client, which is its registration with a signature: nothing is stored, so registrations need no expiry, and a
 * flood of them takes no room.
 */
export function clientIdOf(secrets: TokenSecrets, { name, redirectUris }: OAuthClient): string {
  const body = Buffer.from(JSON.stringify([name, redirectUris])).toString('base64url');
  return `${body}.${Buffer.from(tokenColumns(secrets, 'client', body).tokenHash).toString('base64url')}`;
}

/** The client with this id; undefined for an id that was not made here. */
export function clientWithId(secrets: TokenSecrets, id: string): OAuthClient | undefined {
  const [body = '', signature = '', ...more] = id.split('.');
  const sent = Buffer.from(signature, 'base64url');
  const isOurs = tokenHashes(secrets, 'client', body).some(
    (hash) => sent.length === hash.length && timingSafeEqual(sent, hash),
  );
  if (!isOurs || more.length > 0) return undefined;
  const [name, redirectUris] = JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string[]];
  return { name, redirectUris };
}

/** Whether the client registered the URI: exactly, or on this machine with any port (RFC 8252, section 7.3). */
export function mayReturnTo({ redirectUris }: OAuthClient, uri: string): boolean {
  return redirectUris.some((registered) => registered === uri || isSameBesidesPort(registered, uri));
}

function isSameBesidesPort(registered: string, uri: string): boolean {
  if (!URL.canParse(uri)) return false;
  const [one, other] = [new URL(registered), new URL(uri)];
  if (!isLoopback(one.hostname) || one.protocol !== 'http:') return false;
  one.port = other.port = '';
  return one.href === other.href;
}

function checkedUri(uri: unknown): string {
  if (typeof uri !== 'string' || uri.length > MAX_URI_LENGTH || !URI.test(uri) || !URL.canParse(uri))
    throw new RegistrationRefused(
      'invalid_redirect_uri',
      `redirect_uris must be absolute URIs of at most ${MAX_URI_LENGTH} ASCII characters`,
    );
  const { protocol, hostname, hash, username, password } = new URL(uri);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  if (!isSafe || uri.includes('#') || hash !== '' || username !== '' || password !== '')
    throw new RegistrationRefused(
      'invalid_redirect_uri',
      'redirect_uris must begin with https://, or with http:// and the name of this machine, without # and user',
    );
  return uri;
}
