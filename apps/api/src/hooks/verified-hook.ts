import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** A webhook whose signature is right, and at most 5 minutes old. */
interface VerifiedHook {
  readonly id: string;
  /** The parsed body. */
  readonly event: unknown;
}

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** The webhook in a request, by the rules of Standard Webhooks; undefined if it is not signed with the secret. */
export function verifiedHook(
  secret: string | undefined,
  headers: IncomingHttpHeaders,
  body: string,
): VerifiedHook | undefined {
  const [id, at, signature] = NAMES.map((name) => headers[name]);
  const isComplete = typeof id === 'string' && typeof at === 'string' && typeof signature === 'string';
  if (secret === undefined || !isComplete) return undefined;
  try {
    const signed = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature };
    return { id, event: new Webhook(secret).verify(body, signed) };
  } catch {
    // A signature that can't even be read is as wrong as any other.
    return undefined;
  }
}
