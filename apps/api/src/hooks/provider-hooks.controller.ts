import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { SAFETY_EVENTS, type SafetyNotice } from '#accounts/safety-notice.js';
import { SafetyNotices } from '#accounts/safety-notices.repository.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { ErrorResponse } from '#contract/error-response.js';
import { overloaded } from '#contract/unavailable.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import { ScannedBody } from '../common/fastify/json-body.js';
import { DescribeErrors, PUBLIC, REQUEST_ID_HEADER } from '../common/describe.js';
import { networkOf } from '../common/network-of.js';
import { ReceivedView } from './dto/received-view.dto.js';
import { verifiedHook } from './verified-hook.js';

/** Unsigned or wrongly signed calls of a network in a minute, before they get a 429. */
const MAX_FORGED = 30;
const MINUTE_SECONDS = 60;
/** Ids that providers give their webhooks and cases. */
const ID = /^[\x21-\x7e]{1,200}$/;

/** What providers tell by webhook. Public: the signature is the proof. */
@ApiTags('Provider webhooks')
@Controller('hooks/providers')
export class ProviderHooksController {
  constructor(
    private readonly catalog: CatalogSource,
    private readonly notices: SafetyNotices,
    private readonly attempts: AttemptLimiter,
  ) {}

  /**
   * Keeps a notice about an end user for a worker; other events are accepted and ignored. The same response for an unknown
   * provider as for a wrong signature. Throws AppError.
   */
  @Post(':provider')
  @RouteConfig({ public: true, rawBody: true })
  @HttpCode(200)
  @ApiOperation({
    operationId: 'receiveProviderWebhook',
    summary: 'Receive a webhook of a provider',
    description:
      'For notices about end users, as OpenAI sends them. Signed like Standard Webhooks; other events are accepted and ignored.',
    ...PUBLIC,
  })
  @ApiParam({ name: 'provider', description: 'Name of a provider in the catalog that has a webhook_secret.' })
  @ApiResponse({
    status: 200,
    type: ReceivedView,
    description: 'Received, now or before. The signature is that of Standard Webhooks, at most 5 minutes old.',
    headers: REQUEST_ID_HEADER,
  })
  @ApiResponse({
    status: 401,
    type: ErrorResponse,
    description: 'The signature is missing, wrong, or older than 5 minutes.',
    headers: REQUEST_ID_HEADER,
  })
  @DescribeErrors(400, 405, 413, 429, 500, 503)
  async receive(@Req() request: FastifyRequest, @Param('provider') provider: string): Promise<ReceivedView> {
    const secret = this.catalog.current.providers.get(provider)?.webhookSecret;
    const { body, headers, ip } = request;
    const hook = body instanceof ScannedBody ? verifiedHook(secret, headers, body.bytes.toString('utf8')) : undefined;
    if (hook === undefined) {
      await this.attempts.admit(`forged hook ${networkOf(ip)}`, MAX_FORGED, MINUTE_SECONDS);
      throw new AppError('invalid_signature', 'The webhook is not signed with the secret of this provider.');
    }
    const notice = noticeIn(provider, hook);
    if (notice !== undefined) {
      await this.notices.receive(notice).catch((error: unknown) => {
        throw overloaded(error);
      });
    }
    return { received: true };
  }
}

/** Throws AppError `invalid_value` for an event about an end user without a usable case. */
function noticeIn(provider: string, { id, event }: NonNullable<ReturnType<typeof verifiedHook>>) {
  const { type: told, data } = Object(event) as { type?: unknown; data?: unknown };
  const type = SAFETY_EVENTS.find((name) => name === told);
  if (type === undefined) return undefined;
  const { id: caseId } = Object(data) as { id?: unknown };
  if (!ID.test(id) || typeof caseId !== 'string' || !ID.test(caseId)) {
    throw new AppError('invalid_value', 'The event must name its case in data.id.', { param: 'data.id' });
  }
  return { provider, id, type, caseId } satisfies SafetyNotice;
}
