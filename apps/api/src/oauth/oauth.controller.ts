import { Body, Controller, Header, HttpCode, Ip, Post, UseFilters } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import { ACCESS_SECONDS, ClientTokens, type IssuedTokens } from '#accounts/client-tokens.js';
import { clientIdOf, clientOf, clientWithId, RegistrationRefused } from '#accounts/oauth-clients.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { networkOf } from '../common/network-of.js';
import { OAuthError, OAuthErrorFilter } from './oauth-error.js';
import { OAUTH_SCOPE, OAuthUrls } from './oauth-urls.js';

/** Calls of one network per window. */
const MOST_REGISTRATIONS = 100;
const MOST_TOKENS = 600;
const VERIFIER = /^[\w.~-]{43,128}$/;

interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

/**
 * The authorization server of the MCP server, besides the console's page where users consent: public clients register
 * themselves, and exchange what they got there for tokens.
 */
@ApiExcludeController()
@Controller('oauth')
@UseFilters(OAuthErrorFilter)
export class OAuthController {
  constructor(
    private readonly tokens: ClientTokens,
    private readonly secrets: SecretsConfig,
    private readonly attempts: AttemptLimiter,
    private readonly urls: OAuthUrls,
  ) {}

  @Post('register')
  @RouteConfig({ public: true })
  @HttpCode(201)
  @Header('cache-control', 'no-store')
  async register(@Ip() address: string, @Body() metadata: unknown): Promise<object> {
    await this.attempts.admit(`oauth:register:${networkOf(address)}`, MOST_REGISTRATIONS);
    try {
      const client = clientOf(metadata);
      return {
        client_id: clientIdOf(this.secrets, client),
        client_id_issued_at: Math.floor(Date.now() / 1_000),
        client_name: client.name,
        redirect_uris: client.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: OAUTH_SCOPE,
      };
    } catch (error) {
      throw error instanceof RegistrationRefused ? new OAuthError(error.code, error.message) : error;
    }
  }

  @Post('token')
  @RouteConfig({ public: true, urlencoded: true })
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async token(@Ip() address: string, @Body() form: unknown): Promise<TokenAnswer> {
    await this.attempts.admit(`oauth:token:${networkOf(address)}`, MOST_TOKENS);
    const fields = fieldsOf(form);
    const clientId = this.clientIdIn(fields);
    const resource = fields.get('resource');
    if (resource !== null && resource !== this.urls.resource)
      throw new OAuthError('invalid_target', `resource must be ${this.urls.resource}`);
    const issued = await this.issued(fields, clientId);
    if (issued === undefined)
      throw new OAuthError('invalid_grant', 'The code or refresh token is invalid, expired, or was used before.');
    return {
      access_token: issued.accessToken,
      token_type: 'Bearer',
      expires_in: ACCESS_SECONDS,
      refresh_token: issued.refreshToken,
      scope: OAUTH_SCOPE,
    };
  }

  /** Answers the same, whether or not there was such a token (RFC 7009, section 2.2). */
  @Post('revoke')
  @RouteConfig({ public: true, urlencoded: true })
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  async revoke(@Ip() address: string, @Body() form: unknown): Promise<object> {
    await this.attempts.admit(`oauth:token:${networkOf(address)}`, MOST_TOKENS);
    const fields = fieldsOf(form);
    await this.tokens.revoke(required(fields, 'token'), this.clientIdIn(fields));
    return {};
  }

  private async issued(fields: URLSearchParams, clientId: string): Promise<IssuedTokens | undefined> {
    const type = required(fields, 'grant_type');
    if (type === 'refresh_token') return await this.tokens.refresh(required(fields, 'refresh_token'), clientId);
    if (type !== 'authorization_code')
      throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
    const verifier = required(fields, 'code_verifier');
    if (!VERIFIER.test(verifier)) throw new OAuthError('invalid_request', 'code_verifier is malformed');
    const redirectUri = required(fields, 'redirect_uri');
    return await this.tokens.exchange(required(fields, 'code'), { clientId, redirectUri, verifier });
  }

  private clientIdIn(fields: URLSearchParams): string {
    const id = required(fields, 'client_id');
    if (clientWithId(this.secrets, id) === undefined) throw new OAuthError('invalid_client', 'Unknown client.');
    return id;
  }
}

/** JSON is refused: clients of OAuth send forms. */
function fieldsOf(form: unknown): URLSearchParams {
  if (form instanceof URLSearchParams) return form;
  throw new OAuthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.');
}

/** A parameter must be there once (RFC 6749, section 3.2). */
function required(fields: URLSearchParams, name: string): string {
  const [value, ...more] = fields.getAll(name);
  if (value === undefined || value === '' || more.length > 0)
    throw new OAuthError('invalid_request', `${name} must be sent once`);
  return value;
}
