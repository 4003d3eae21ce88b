import { Body, Get, HttpCode, Ip, Post, Redirect, Req, Res } from '@nestjs/common';
import { ApiProperty, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { OpenIdRefusal } from '#accounts/openid-refusal.js';
import { Logger } from '#telemetry/logger.js';
import { Public } from '../../auth/api-key.guard.js';
import { BegunCookie } from './begun-cookie.js';
import { ConsoleController } from '../console-controller.js';
import { OpenIdSignIn } from './openid-sign-in.js';
import { OpenSession } from './open-session.js';
import { LinkBody } from './sign-in-bodies.js';
import { SignInLimits } from './sign-in-limits.js';

const SEE_OTHER = 303;

interface Elsewhere {
  readonly url: string;
  readonly statusCode: number;
}

class ProviderView {
  @ApiProperty({ description: 'Where the browser goes to sign in.' })
  url!: string;
}

/** To the OpenID Connect provider, and back. Where a browser is sent never depends on what it sent. */
@ConsoleController('Sign-in', 'oidc')
export class OpenIdController {
  constructor(
    private readonly signIn: OpenIdSignIn,
    private readonly session: OpenSession,
    private readonly limits: SignInLimits,
    private readonly cookie: BegunCookie,
    private readonly logger: Logger,
  ) {}

  @Get()
  @Public()
  @Redirect()
  @ApiResponse({ status: SEE_OTHER, description: 'To the provider, or to the sign-in page when it does not answer.' })
  async begin(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Elsewhere> {
    return await this.orToSignIn(request, async () => await this.send(request, reply, null));
  }

  /** A one-time link is taken by signing in: its token goes in a body, so that no address and no log holds it. */
  @Post()
  @Public()
  @HttpCode(200)
  @ApiResponse({ status: 200, type: ProviderView })
  async beginWithLink(
    @Body() { token }: LinkBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProviderView> {
    try {
      return { url: await this.send(request, reply, token) };
    } catch (error) {
      if (!(error instanceof OpenIdRefusal)) throw error;
      this.note(request, error);
      throw new AppError('server_is_overloaded', 'The sign-in provider does not answer.', { retryAfter: 5 });
    }
  }

  @Get('callback')
  @Public()
  @Redirect()
  @ApiResponse({ status: SEE_OTHER, description: 'Into the console, or to the sign-in page with the reason.' })
  async finish(
    @Ip() address: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Elsewhere> {
    const begun = this.cookie.take(request, reply);
    return await this.orToSignIn(request, async () => {
      await this.limits.admit(address);
      if (begun === undefined) throw new OpenIdRefusal('not_begun');
      const query = new URL(request.url, 'http://localhost').search;
      const { person, action, details } = await this.signIn.finish(query, begun.checks, begun.link);
      await this.session.open(request, reply, person, action, details);
      return this.signIn.landing();
    });
  }

  private async send(request: FastifyRequest, reply: FastifyReply, link: string | null): Promise<string> {
    await this.limits.admitBeginning(request.ip);
    const { url, checks } = await this.signIn.begin();
    this.cookie.set(reply, { checks, link });
    return url;
  }

  /** Whoever sees the answer looks at a page, so a refusal is one too. */
  private async orToSignIn(request: FastifyRequest, work: () => Promise<string>): Promise<Elsewhere> {
    try {
      return { url: await work(), statusCode: SEE_OTHER };
    } catch (error) {
      if (error instanceof AppError && error.code === 'unknown_url') throw error;
      const refusal = refusalOf(error);
      this.note(request, refusal, error);
      return { url: this.signIn.landing(refusal.reason), statusCode: SEE_OTHER };
    }
  }

  private note(request: FastifyRequest, { reason, code }: OpenIdRefusal, error?: unknown): void {
    const fields = { requestId: request.id, reason, code };
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
