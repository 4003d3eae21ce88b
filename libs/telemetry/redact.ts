const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer\s+)\S+/gi, '$1[redacted]'],
  [/\bsk-[A-Za-z0-9_-]{8,}/g, 'sk-[redacted]'],
  [/\bwhsec_[A-Za-z0-9+/=]+/g, 'whsec_[redacted]'],
  [/([?&](?:sig|signature|X-Amz-Signature|X-Amz-Credential|token|key)=)[^&\s"]+/gi, '$1[redacted]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:)[^\s@/]+@/gi, '$1[redacted]@'],
  [/data:image\/[a-z+]+;base64,[A-Za-z0-9+/=]*/gi, 'data:[redacted]'],
  [/[A-Za-z0-9+/]{200,}={0,2}/g, '[base64 redacted]'],
];

/**
 * Library messages may quote their input: cuts out anything that looks like a secret or base64, and caps the length.
 */
export function redact(text: string): string {
  return SECRETS.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text.slice(0, 8_000));
}
