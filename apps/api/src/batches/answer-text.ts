import { ByteCollector } from '#bytes/bytes.js';
import { AppError } from '#contract/app-error.js';

const MAX_BYTES = 1_048_576;
/** An image in base64: how those of PNG, JPEG, GIF, WebP, and AVIF begin, and too much after that to be anything else. */
const IMAGE = /(?:iVBORw0KGgo|[/_]9j[/_]|R0lGOD|UklGR|AAAA[\w+/-]GZ0eX)[\w+/-]{1000}/;

/**
 * The response to a chat as its line keeps it: JSON, on one line. Throws AppError for one that is no JSON or too long, or
 * has an image: rows have none.
 */
export async function answerText(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces = new ByteCollector();
  for await (const piece of stream) {
    pieces.add(piece);
    if (pieces.bytes > MAX_BYTES) throw unusable('is larger than 1 MB');
  }
  const text = Buffer.concat(pieces.pieces()).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable('is not JSON');
  }
  if (hasImage(value)) throw unusable('has an image');
  // Only between values: strings have no line breaks.
  return text.replace(/[\r\n]+/g, ' ').trim();
}

function hasImage(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'string' && IMAGE.test(one)) return true;
    if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) left.push(item);
  }
  return false;
}

function unusable(why: string): AppError {
  return new AppError('chat_upstream_error', `The response ${why}, so a batch cannot keep it.`);
}
