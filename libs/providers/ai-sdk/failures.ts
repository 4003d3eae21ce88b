import { ProviderError } from '../provider-error.js';

/** The safety system kept the image back. It may have been drawn by then. */
export function blocked(): ProviderError {
  return new ProviderError('moderation_blocked', 'The request was refused by the safety system.', {
    retryable: false,
    charged: 'maybe',
    param: 'prompt',
    cause: new Error("the provider's safety system withheld the image"),
  });
}

/** An answer to a call that was carried out, without an image in it. */
export function withoutImage(): ProviderError {
  return unusable('no', new Error('the answer has no image'));
}

/**
 * The library threw something of its own. Its errors carry the whole request and answer, so only their kind is kept.
 * Before the order has gone out it has refused to place it; afterwards it can't read the answer.
 */
export function libraryFailed(error: unknown, hasOrdered: boolean): ProviderError {
  const cause = new Error(`the library failed: ${error instanceof Error ? error.name : typeof error}`);
  if (hasOrdered) return unusable('maybe', cause);
  return new ProviderError('upstream_error', 'The provider can not be asked for this.', {
    retryable: false,
    charged: 'no',
    cause,
  });
}

function unusable(charged: 'no' | 'maybe', cause: Error): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a usable image.', {
    retryable: true,
    charged,
    cause,
  });
}
