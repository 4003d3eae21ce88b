const MAX_REASON_LENGTH = 300;
const CONTROLS = /\p{C}+/gu;

/** What the guardrail wants: the request as it is, with other texts, or not at all. */
export type Verdict =
  | { readonly kind: 'allowed' }
  /** As many texts as were sent. */
  | { readonly kind: 'changed'; readonly texts: readonly string[] }
  /** `reason`: for the caller; empty when the guardrail gives none. */
  | { readonly kind: 'blocked'; readonly reason: string };

interface Sent {
  readonly texts: readonly string[];
  readonly images: readonly unknown[];
}

/**
 * Reads the answer of LiteLLM's generic guardrail API. Undefined if it is something else. Images can't be changed, so a
 * guardrail that wants that blocks the request.
 */
export function readVerdict(body: Buffer, sent: Sent): Verdict | undefined {
  const answer = parsed(body);
  if (answer === undefined) return undefined;
  const { action, blocked_reason: reason, texts, images } = answer;
  if (action === 'NONE') return { kind: 'allowed' };
  if (action === 'BLOCKED') return { kind: 'blocked', reason: shown(reason) };
  if (action !== 'GUARDRAIL_INTERVENED') return undefined;
  if (Array.isArray(images) && images.length > 0 && sent.images.length > 0)
    return { kind: 'blocked', reason: 'An image would have to be changed.' };
  if (texts === undefined || texts === null) return { kind: 'allowed' };
  if (!isTexts(texts) || texts.length !== sent.texts.length) return undefined;
  return texts.every((text, at) => text === sent.texts[at]) ? { kind: 'allowed' } : { kind: 'changed', texts };
}

function parsed(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function shown(reason: unknown): string {
  if (typeof reason !== 'string') return '';
  return [
    ...reason
      .slice(0, 4 * MAX_REASON_LENGTH)
      .replace(CONTROLS, ' ')
      .trim(),
  ]
    .slice(0, MAX_REASON_LENGTH)
    .join('');
}
