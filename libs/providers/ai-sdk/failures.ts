import { BLOCKED, ProviderError } from '../provider-error.js';

/** The safety system withheld the image, which may already have been generated. */
export function blocked(): ProviderError {
  return new ProviderError('moderation_blocked', BLOCKED, {
    retryable: false,
    charged: 'maybe',
    param: 'prompt',
    cause: new Error("the provider's safety system withheld the image"),
  });
}

/** The call succeeded, but the response has no image. `isAboutRequest`: it answers the request in words. */
export function withoutImage(isAboutRequest: boolean): ProviderError {
  return unusable('no', new Error('the answer has no image'), isAboutRequest);
}

/**
 * The library threw an error of its own. Its errors contain the whole request and response, so only their kind is kept.
 * Before the order was sent, the library refused to send it; afterwards, it can't read the response.
 */
export function libraryFailed(error: unknown, hasOrdered: boolean): ProviderError {
  const cause = new Error(`the library failed: ${error instanceof Error ? error.name : typeof error}`);
  if (hasOrdered) return unusable('maybe', cause);
  return new ProviderError('upstream_error', 'The provider does not support this request.', {
    retryable: false,
    charged: 'no',
    cause,
  });
}

function unusable(charged: 'no' | 'maybe', cause: Error, isAboutRequest = false): ProviderError {
  return new ProviderError('upstream_invalid_response', 'The provider did not return a usable image.', {
    retryable: true,
    charged,
    cause,
    isAboutRequest,
  });
}
