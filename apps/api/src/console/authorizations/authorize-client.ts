import { Injectable } from '@nestjs/common';
import { hasEnded } from '#accounts/api-keys.js';
import { ClientTokens } from '#accounts/client-tokens.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import { clientWithId, mayReturnTo, type OAuthClient } from '#accounts/oauth-clients.js';
import type { Session } from '#accounts/session-store.js';
import { AppError } from '#contract/app-error.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { OAuthUrls } from '../../oauth/oauth-urls.js';
import { AccountDefaults } from '../keys/account-defaults.js';
import { AccountKeys } from '../keys/account-keys.js';
import type { AuthorizationBody, AuthorizationRequestView } from './dto/authorization.dto.js';

const CHALLENGE = /^[\w-]{43}$/;

/** A new key for a client. */
interface Authorized {
  readonly keyId: string;
  readonly client: string;
  readonly redirectUrl: string;
}

/**
 * Authorizes an MCP client of a user: it gets a key of theirs, so that limits, budgets, lists and revocation are those of
 * keys. Nothing here redirects: the page does, to an address that the client has registered.
 */
@Injectable()
export class AuthorizeClient {
  constructor(
    private readonly secrets: SecretsConfig,
    private readonly keys: AccountKeys,
    private readonly newKeys: NewKeyRepository,
    private readonly tokens: ClientTokens,
    private readonly defaults: AccountDefaults,
    private readonly urls: OAuthUrls,
  ) {}

  /** What the user is asked. Throws AppError `invalid_value` for a request that no client of ours makes. */
  async describe(who: Session, asked: AuthorizationBody): Promise<AuthorizationRequestView> {
    const client = this.clientOf(asked);
    const limited = await this.keys.limitedKey(who);
    return {
      client: client.name,
      returns_to: new URL(asked.redirect_uri).host,
      shares_limits_of: limited?.name ?? null,
      refuse_url: this.backTo(asked, { error: 'access_denied' }),
    };
  }

  /**
   * Throws like `describe`, `account_limit_reached` like a new key, and `not_permitted` for a member whose limited keys
   * have ended.
   */
  async authorize(who: Session, asked: AuthorizationBody): Promise<Authorized> {
    const { accountId, personId } = who;
    const { name: client } = this.clientOf(asked);
    const limited = await this.keys.limitedKey(who);
    if (limited !== undefined && hasEnded(limited)) {
      const message = `Your key ${limited.name} had limits and has ended. Ask an owner or admin for another one.`;
      throw new AppError('not_permitted', message);
    }
    let code = '';
    const keyId = await this.newKeys.createForClient(
      { accountId, personId, client, like: limited?.id },
      this.defaults.view.max_keys,
      async (transaction, id) => {
        code = await this.tokens.newCode(transaction, {
          keyId: id,
          clientId: asked.client_id,
          redirectUri: asked.redirect_uri,
          codeChallenge: asked.code_challenge,
        });
      },
    );
    return { keyId, client, redirectUrl: this.backTo(asked, { code }) };
  }

  private clientOf(asked: AuthorizationBody): OAuthClient {
    const client = clientWithId(this.secrets, asked.client_id);
    if (client === undefined)
      throw refused('client_id', 'Darkroom does not know this client. Disconnect it there, and connect it again.');
    if (!mayReturnTo(client, asked.redirect_uri))
      throw refused('redirect_uri', 'The client has not registered the address that it wants you to be sent to.');
    if (!CHALLENGE.test(asked.code_challenge))
      throw refused('code_challenge', 'code_challenge must be a SHA-256 in base64url.');
    if (typeof asked.resource === 'string' && asked.resource !== this.urls.resource)
      throw refused('resource', `The client asks for another service than ${this.urls.resource}.`);
    return client;
  }

  private backTo({ redirect_uri: uri, state }: AuthorizationBody, answer: Readonly<Record<string, string>>): string {
    const url = new URL(uri);
    const all = { ...answer, ...(typeof state === 'string' && { state }), iss: this.urls.issuer };
    for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
    return url.href;
  }
}

function refused(param: string, message: string): AppError {
  return new AppError('invalid_value', message, { param });
}
