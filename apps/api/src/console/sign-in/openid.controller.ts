import { Body, Get, HttpCode, Ip, Post, Redirect, UseInterceptors } from '@nestjs/common';
import { ApiProperty, ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { OpenIdRefusal } from '#accounts/openid-provider.js';
import { Logger } from '#telemetry/logger.js';
import { Public } from '../../auth/api-key.guard.js';
import { QueryString, RequestId } from '../../common/request.decorators.js';
import { Browser } from '../browser.decorator.js';
import { Cookies } from '../console-cookie.js';
import { ConsoleController } from '../console-controller.js';
import { CookiesInterceptor, WithCookies } from '../cookies.interceptor.js';
import { PendingSignInCookie } from './pending-sign-in-cookie.js';
import { OpenIdSignIn } from './openid-sign-in.js';
import { OpenSession } from './open-session.js';
import { LinkBody } from './dto/sign-in-bodies.dto.js';
import { SignInLimits } from './sign-in-limits.js';

const SEE_OTHER = 303;

interface Elsewhere {
  readonly url: string;
  readonly statusCode: number;
}

class ProviderView {
  @ApiProperty({ description: 'URL to open for signing in.' })
  url!: string;
}

/** Redirects to the OpenID Connect provider and back. Redirect targets never depend on the request. */
@ConsoleController('Sign-in', 'oidc')
@UseInterceptors(CookiesInterceptor)
export class OpenIdController {
  constructor(
    private readonly signIn: OpenIdSignIn,
    private readonly session: OpenSession,
    private readonly limits: SignInLimits,
    private readonly cookie: PendingSignInCookie,
    private readonly logger: Logger,
  ) {}

  @Get()
  @Public()
  @Redirect()
  @ApiResponse({
    status: SEE_OTHER,
    description: 'Redirects to the provider, or to the sign-in page if the provider does not respond.',
  })
  async begin(@Ip() address: string, @RequestId() requestId: string): Promise<WithCookies<Elsewhere>> {
    return await this.orToSignIn(requestId, () => this.send(address, null));
  }

  /** Accepts a one-time link by signing in. The token is sent in the body, so that no URL or log contains it. */
  @Post()
  @Public()
  @HttpCode(200)
  @ApiResponse({ status: 200, type: ProviderView })
  async beginWithLink(
    @Body() { token }: LinkBody,
    @Ip() address: string,
    @RequestId() requestId: string,
  ): Promise<WithCookies<ProviderView>> {
    try {
      const { body: url, cookies } = await this.send(address, token);
      return new WithCookies({ url }, cookies);
    } catch (error) {
      if (!(error instanceof OpenIdRefusal)) throw error;
      this.note(requestId, error);
      throw unavailable('The sign-in provider is not responding.', { retryAfter: 5 });
    }
  }

  /** The cookie is valid for one callback, whatever its result. */
  @Get('callback')
  @Public()
  @Redirect()
  @ApiResponse({ status: SEE_OTHER, description: 'Redirects to the console, or to the sign-in page with the error.' })
  async finish(
    @Browser() browser: Browser,
    @Cookies() cookies: Cookies,
    @QueryString() query: string,
    @RequestId() requestId: string,
  ): Promise<WithCookies<Elsewhere>> {
    const pending = this.cookie.read(cookies);
    const answer = await this.orToSignIn(requestId, async () => {
      await this.limits.admit(browser.address);
      if (pending === undefined) throw new OpenIdRefusal('not_begun');
      const { person, action, details } = await this.signIn.finish(query, pending.checks, pending.link);
      const { cookies: opened } = await this.session.open(browser, person, action, details);
      return new WithCookies(this.signIn.landing(), opened);
    });
    return new WithCookies(answer.body, [this.cookie.clear(), ...answer.cookies]);
  }

  /** Redirects to the provider, and sets the cookie for the callback. */
  private async send(address: string, link: string | null): Promise<WithCookies<string>> {
    await this.limits.admitStart(address);
    const { url, checks } = await this.signIn.begin();
    return new WithCookies(url, [this.cookie.set({ checks, link })]);
  }

  /** The response is shown in a browser, so a refusal redirects to the sign-in page too. */
  private async orToSignIn(
    requestId: string,
    work: () => Promise<WithCookies<string>>,
  ): Promise<WithCookies<Elsewhere>> {
    try {
      const { body: url, cookies } = await work();
      return new WithCookies({ url, statusCode: SEE_OTHER }, cookies);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unknown_url') throw error;
      const refusal = refusalOf(error);
      this.note(requestId, refusal, error);
      return new WithCookies({ url: this.signIn.landing(refusal.reason), statusCode: SEE_OTHER }, []);
    }
  }

  private note(requestId: string, { reason, code }: OpenIdRefusal, error?: unknown): void {
    const fields = { requestId, reason, code };
    if (error instanceof OpenIdRefusal || error instanceof AppError) this.logger.info('sign_in.refused', fields);
    else this.logger.warn('sign_in.refused', { ...fields, error });
  }
}

function refusalOf(error: unknown): OpenIdRefusal {
  if (error instanceof OpenIdRefusal) return error;
  const code = error instanceof AppError ? error.code : undefined;
  if (code === 'sign_in_failed') return new OpenIdRefusal('disabled');
  if (code === 'rate_limit_exceeded') return new OpenIdRefusal('too_often');
  return new OpenIdRefusal('failed', code ?? 'internal');
}
