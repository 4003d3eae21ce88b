import { ProviderError } from '../provider-error.js';

/** The server does not support streams; retry without one. */
export class StreamRefused extends ProviderError {
  /** `isCertain`: the error named the field, so never ask this server for a stream again. */
  constructor(
    readonly isCertain: boolean,
    { status, providerMessage, reason }: ProviderError,
  ) {
    super('upstream_error', 'The provider does not send partial images.', {
      retryable: true,
      charged: 'no',
      retryAfter: 0,
      status,
      providerMessage,
      reason,
      isAboutRequest: true,
    });
  }
}
