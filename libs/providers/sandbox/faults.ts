import { BLOCKED, ProviderError } from '../provider-error.js';
import type { ProviderCallContext, ProviderImageResult } from '../image-provider.js';
import type { Fault } from './directives.js';

/** More than any image may have. */
const HUGE_BYTES = 64_000_001;

/** Faults that replace the image; `wrong-size` still draws one. */
export type AnswerFault = Exclude<Fault, 'wrong-size'>;

/**
 * Fails the way a vendor would. Throws ProviderError, or the signal's reason; two faults return bytes that are not an
 * image, and one ends the process.
 */
export async function simulateFault(fault: AnswerFault, context: ProviderCallContext): Promise<ProviderImageResult> {
  switch (fault) {
    case 'http-429':
      throw new ProviderError('upstream_error', 'The provider is limiting requests (429).', {
        retryable: true,
        charged: 'no',
        status: 429,
        retryAfter: 1,
        keyRefused: true,
        trouble: 'limited',
      });
    case 'http-500':
      throw new ProviderError('upstream_error', 'The provider failed (500).', {
        retryable: true,
        charged: 'no',
        status: 500,
      });
    case 'http-503':
      throw new ProviderError('upstream_error', 'The provider is overloaded (503).', {
        retryable: true,
        charged: 'no',
        status: 503,
      });
    case 'empty':
      throw new ProviderError('upstream_invalid_response', 'The provider returned no image.', {
        retryable: true,
        charged: 'no',
      });
    case 'moderation':
      throw new ProviderError('moderation_blocked', BLOCKED, {
        retryable: false,
        charged: 'no',
        param: 'prompt',
      });
    case 'hang':
      return untilAborted(context.signal);
    case 'crash-after-accept':
      await context.onAccepted(`sandbox-${context.idempotencyKey}`);
      process.kill(process.pid, 'SIGKILL');
      return untilAborted(context.signal);
    case 'not-an-image':
      return { images: [Buffer.from('<html><body>502 Bad Gateway</body></html>')], warnings: [] };
    case 'huge':
      return { images: [hugeImage()], warnings: [] };
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

function hugeImage(): Buffer {
  const image = Buffer.alloc(HUGE_BYTES);
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).copy(image);
  return image;
}
