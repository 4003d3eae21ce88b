import ipaddr from 'ipaddr.js';
import { AppError } from '#contract/app-error.js';
import { AddressRules } from './address-rules.js';
import type { EgressConfig } from './egress.config.js';

const MAX_LENGTH = 8_192;
/** Maximum characters of a URL that messages are sent to. */
export const RECEIVER_URL_LENGTH = 2_048;
/** Characters that URL parsers strip, trim, or convert in different ways. */
const AMBIGUOUS = /[\s\\\p{Cc}]/u;

type ShapeConfig = Pick<EgressConfig, 'allowCidrs' | 'nodeEnv' | 'ports'>;

/** Requirements on a URL in addition to being public. */
export interface UrlShape {
  /**
   * Rejects plain http: for callbacks, and for redirects from https. `or_loopback`: but not to this machine, where
   * nobody else reads along; it is reached only outside of production, if EGRESS_ALLOW_CIDRS allows it.
   */
  readonly httpsOnly?: boolean | 'or_loopback';
}

/**
 * Checks a URL without using the network: form, scheme, user info, port, and a literal address or local name. Returns
 * the parsed URL. Throws AppError `invalid_image_url`.
 */
export function assertPublicUrlShape(text: string, config: ShapeConfig, shape: UrlShape = {}): URL {
  const problem = publicUrlProblem(text, config, shape);
  if (problem !== undefined) throw new AppError('invalid_image_url', problem);
  return new URL(text);
}

/** Like assertPublicUrlShape, but returns the problem or undefined, for callers with their own error code. */
export function publicUrlProblem(text: string, config: ShapeConfig, shape: UrlShape = {}): string | undefined {
  const url = parse(text);
  if (url === undefined) return 'The URL is malformed.';
  const isHttpsOnly = shape.httpsOnly === 'or_loopback' ? !isLoopback(url) : shape.httpsOnly === true;
  const schemes = isHttpsOnly ? ['https:'] : ['http:', 'https:'];
  if (!schemes.includes(url.protocol)) return `The URL must start with ${schemes.join('// or ')}//.`;
  if (url.username !== '' || url.password !== '') return 'The URL must not contain a user name or password.';
  const port = url.port !== '' ? url.port : url.protocol === 'https:' ? '443' : '80';
  if (!config.ports.includes(port)) {
    return 'The URL uses a port that is not allowed. Operators can allow ports with EGRESS_PORTS.';
  }
  return hostProblem(url, new AddressRules(config));
}

/** Like publicUrlProblem, for a URL that a user enters to get webhooks or alerts: https, or loopback, and not as long. */
export function receiverUrlProblem(text: string, config: ShapeConfig): string | undefined {
  if (text.length > RECEIVER_URL_LENGTH) return 'The URL is too long.';
  return publicUrlProblem(text, config, { httpsOnly: 'or_loopback' });
}

function parse(text: string): URL | undefined {
  if (text.length > MAX_LENGTH || AMBIGUOUS.test(text)) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function hostProblem(url: URL, rules: AddressRules): string | undefined {
  const host = literalAddress(url) ?? localName(url);
  return host === undefined || rules.permits(host)
    ? undefined
    : 'The URL must point to a public address. Operators can allow private networks with EGRESS_ALLOW_CIDRS.';
}

/** The literal IP address in a URL, in any notation; undefined for a host name. */
function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(host) ? host : undefined;
}

function isLoopback(url: URL): boolean {
  const address = literalAddress(url);
  return address === undefined ? localName(url) !== undefined : ipaddr.parse(address).range() === 'loopback';
}

function localName(url: URL): string | undefined {
  return /(^|\.)localhost\.?$/.test(url.hostname) ? '127.0.0.1' : undefined;
}
