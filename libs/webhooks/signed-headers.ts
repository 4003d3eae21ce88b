import { Webhook } from 'standardwebhooks';

/** The headers of a Standard Webhook: one signature for each secret that is valid, so that rotating breaks no one. */
export function signedHeaders(
  secrets: readonly string[],
  message: { readonly id: string; readonly at: Date; readonly body: string },
): Record<string, string> {
  const { id, at, body } = message;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
