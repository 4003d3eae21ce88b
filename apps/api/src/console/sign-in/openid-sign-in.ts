import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { OpenIdPeople } from '#accounts/openid-people.js';
import {
  OpenIdProvider,
  type Checks,
  type Claims,
  OpenIdRefusal,
  type RefusalReason,
} from '#accounts/openid-provider.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { SignInConfig } from '#accounts/accounts.config.js';
import { ApiConfig, publicUrlOf } from '../../common/api.config.js';
import { CONSOLE_API } from '../protect-console.js';
import { SignInChanges } from './sign-in-changes.js';

/** Where a sign-in with the provider starts; it ends at `/callback` below it, which is registered with the provider. */
export function openIdUrl(config: ApiConfig): string {
  return `${publicUrlOf(config)}${CONSOLE_API}/oidc`;
}

/** A user who signed in with the provider, and the audit event for it. */
export interface SignedIn {
  readonly person: Person;
  readonly action: AuditAction;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The logic of signing in with the OpenID Connect provider, without HTTP. */
@Injectable()
export class OpenIdSignIn {
  private readonly domains: readonly string[];
  private readonly console: string;
  /** The button of the sign-in page: its label and URL. The provider knows the URL's host. */
  readonly offer: { readonly name: string; readonly url: string } | null;

  constructor(
    private readonly people: PersonStore,
    private readonly known: OpenIdPeople,
    private readonly changes: SignInChanges,
    @Inject(OpenIdProvider) private readonly provider: OpenIdProvider | null,
    config: SignInConfig,
    api: ApiConfig,
  ) {
    this.console = `${publicUrlOf(api)}/console`;
    this.offer = this.provider === null ? null : { name: config.oidcName, url: openIdUrl(api) };
    this.domains = config.oidcDomains.map((domain) => domain.toLowerCase());
  }

  /** Where the browser is redirected afterwards: the console, or the sign-in page with the reason of a refusal. */
  landing(refused?: RefusalReason): string {
    return refused === undefined ? `${this.console}/` : `${this.console}/sign-in?refused=${refused}`;
  }

  /** Throws OpenIdRefusal `unavailable`, or AppError `unknown_url` when there is no provider. */
  async begin(): Promise<{ url: string; checks: Checks }> {
    return await this.asked().begin();
  }

  /**
   * Completes the sign-in from the callback's query. With a one-time link, the link decides who the user becomes, as it
   * would with a password. Without one, a known user is found by their identity, and a new one by their verified email
   * address. Throws OpenIdRefusal.
   */
  async finish(query: string, checks: Checks, link: string | null): Promise<SignedIn> {
    const claims = await this.asked().finish(query, checks);
    const details = { by: 'openid' };
    if (link !== null) {
      const taken = await this.take(link, claims);
      if (taken === undefined) throw new OpenIdRefusal(claims.email === undefined ? 'unverified' : 'link_used');
      return { ...taken, details };
    }
    const { person, how, revokedKeys } = await this.known.admit(claims, this.domains);
    if (how === 'joined') return { person, action: 'person.joined', details };
    const linked = { ...details, linked: true, revoked_keys: revokedKeys };
    return { person, action: 'person.signed_in', details: how === 'linked' ? linked : details };
  }

  /** Each kind of link has its own statement, which accepts no other kind. */
  private async take(link: string, claims: Claims): Promise<Omit<SignedIn, 'details'> | undefined> {
    const { email, emailVerified, issuer, subject } = claims;
    const credential = { identity: { issuer, subject }, vouchedEmail: emailVerified ? email : undefined };
    const who = { name: claims.name ?? email ?? 'Someone', ...credential };
    const founder = email === undefined ? undefined : await this.people.createFounder(link, { ...who, email });
    if (founder !== undefined) return { person: founder, action: 'person.became_first_admin' };
    const invited = await this.people.createInvited(link, who);
    if (invited !== undefined) return { person: invited, action: 'person.joined' };
    // A user whom the provider knows from another account joins with the same sign-in.
    const known = await this.known.find({ issuer, subject });
    const joined = known && (await this.people.createLinked(link, known));
    if (joined === 'member') return undefined;
    if (joined !== undefined) return { person: joined, action: 'person.joined' };
    const person = await this.people.resetCredential(link, credential);
    if (person === undefined) return undefined;
    this.changes.tell(person, 'person.reset_sign_in');
    return { person, action: 'person.reset_sign_in' };
  }

  private asked(): OpenIdProvider {
    if (this.provider !== null) return this.provider;
    throw new AppError('unknown_url', 'This installation has no OpenID Connect provider.');
  }
}
