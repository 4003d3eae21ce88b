import { ProviderError } from '../provider-error.js';

/** The server does not stream; it is to be asked again without. */
export class StreamRefused extends ProviderError {
  /** `isCertain`: it named the field, so that there is no use in asking it for a stream ever again. */
  constructor(
    readonly isCertain: boolean,
    { status, providerMessage }: ProviderError,
  ) {
    super('upstream_error', 'The provider does not send partial images.', {
      retryable: true,
      charged: 'no',
      retryAfter: 0,
      status,
      providerMessage,
    });
  }
}
