import { createHash, createHmac } from 'node:crypto';

/** The signing credentials, and the object's URL as callers reach it. */
export interface PresignTarget {
  readonly url: URL;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * A GET URL that works without credentials for `seconds` (AWS signature version 4 in the query). Its path must need no
 * escaping, which is true of object keys.
 */
export function presignGet(target: PresignTarget, seconds: number, now: Date): string {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = [time.slice(0, 8), target.region, 's3', 'aws4_request'];
  const query = [
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', [target.accessKeyId, ...scope].join('/')],
    ['X-Amz-Date', time],
    ['X-Amz-Expires', String(seconds)],
    ['X-Amz-SignedHeaders', 'host'],
  ]
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`)
    .join('&');
  const request = ['GET', target.url.pathname, query, `host:${target.url.host}`, '', 'host', 'UNSIGNED-PAYLOAD'];
  const hash = createHash('sha256').update(request.join('\n')).digest('hex');
  const key = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${target.secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope.join('/'), hash].join('\n')).toString('hex');
  return `${target.url.origin}${target.url.pathname}?${query}&X-Amz-Signature=${signature}`;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
