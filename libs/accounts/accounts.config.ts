import { IsBoolean, IsOptional, Matches, ValidateBy } from 'class-validator';
import { Setting, Within } from '#config/setting.js';
import { isLoopback } from './loopback.js';

/** Default limits for accounts that don't have their own. */
export class AccountsConfig {
  @Setting('KEYS_PER_ACCOUNT', 'Maximum active API keys per account; 0 = unlimited.', { who: 'traffic' })
  @Within(0, 1_000_000)
  readonly keysPerAccount: number = 100;
}

const DOMAIN = /^(?=.{4,190}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;

/** A rule that also checks other settings. */
const Must = (name: string, message: string, holds: (config: SignInConfig) => boolean): PropertyDecorator =>
  ValidateBy({
    name,
    validator: {
      validate: (_value, args) => holds(args?.object as SignInConfig),
      defaultMessage: () => message,
    },
  });

/** How people sign in to the console. */
export class SignInConfig {
  @Setting('OIDC_ISSUER', 'OpenID Connect provider for signing in to the console; unset = passwords only.', {
    who: 'rules',
    unit: 'URL',
  })
  @IsOptional()
  @Must(
    'issuer',
    'OIDC_ISSUER must be the https URL of a provider, without query and without /.well-known; http only on this machine',
    ({ oidcIssuer }) => isIssuer(oidcIssuer ?? ''),
  )
  readonly oidcIssuer?: string;

  @Setting('OIDC_CLIENT_ID', 'Client ID of this service at the provider; required with OIDC_ISSUER.', { who: 'rules' })
  @Must('withIssuer', 'OIDC_CLIENT_ID must be given with OIDC_ISSUER, and only with it', (config) => {
    return (config.oidcClientId === undefined) === (config.oidcIssuer === undefined);
  })
  readonly oidcClientId?: string;

  @Setting('OIDC_CLIENT_SECRET', 'Client secret of OIDC_CLIENT_ID; unset for a public client.', {
    who: 'rules',
    secret: true,
  })
  @IsOptional()
  @Must('needsIssuer', 'OIDC_CLIENT_SECRET must be given only with OIDC_ISSUER', hasIssuer)
  readonly oidcClientSecret?: string;

  @Setting('OIDC_NAME', 'Name of the provider on the sign-in button.', { who: 'rules' })
  @Matches(/^[^\p{C}]{1,40}$/u, { message: 'OIDC_NAME must have 1 to 40 visible characters' })
  readonly oidcName: string = 'single sign-on';

  @Setting(
    'OIDC_DOMAINS',
    'Email domains whose users may join on their own, as members of the first account; empty = invited users only.',
    { who: 'rules', list: true },
  )
  @Matches(DOMAIN, { each: true, message: 'OIDC_DOMAINS must be domains such as example.org' })
  @Must('needsIssuer', 'OIDC_DOMAINS must be given only with OIDC_ISSUER', (config) => {
    return config.oidcDomains.length === 0 || hasIssuer(config);
  })
  readonly oidcDomains: string[] = [];

  @Setting('PASSWORD_SIGN_IN', 'Whether users may sign in with email and password; false requires OIDC_ISSUER.', {
    who: 'rules',
  })
  @IsBoolean()
  @Must('needsIssuer', 'PASSWORD_SIGN_IN must not be false without OIDC_ISSUER: no one could sign in', (config) => {
    return config.passwordSignIn || hasIssuer(config);
  })
  readonly passwordSignIn: boolean = true;
}

function hasIssuer({ oidcIssuer }: SignInConfig): boolean {
  return oidcIssuer !== undefined;
}

/** Rejects the address of a discovery document, because its issuer would not be checked. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash, pathname } = new URL(text);
  if (username !== '' || password !== '' || search !== '' || hash !== '') return false;
  if (pathname.includes('/.well-known')) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
