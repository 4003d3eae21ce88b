import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

/** An error in the form of OAuth (RFC 6749, section 5.2), which clients of these routes expect. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';

  constructor(
    readonly code:
      | 'invalid_request'
      | 'invalid_client'
      | 'invalid_grant'
      | 'invalid_target'
      | 'unsupported_grant_type'
      | 'invalid_redirect_uri'
      | 'invalid_client_metadata',
    message: string,
  ) {
    super(message);
  }
}

/** Answers with an OAuthError; all others have the contract's form. */
@Catch(OAuthError)
export class OAuthErrorFilter implements ExceptionFilter {
  catch({ code, message }: OAuthError, host: ArgumentsHost): void {
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .code(code === 'invalid_client' ? 401 : 400)
      .header('cache-control', 'no-store')
      .send({ error: code, error_description: message });
  }
}
