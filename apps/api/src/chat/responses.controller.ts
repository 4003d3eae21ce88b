import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { priceAt } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { ResponseIdParam } from '../common/params.js';
import { assertChatQuery } from '../images/image-query.js';
import { AdmitChat, type NamedModel } from './admit-chat.js';
import { RESPONSES } from './chat-api.js';
import { ChatProtocols } from './chat-protocols.js';
import { readChatRequest, type ChatRequest } from './chat-request.js';
import type { StoredResponseCall } from './pass-chat.js';
import { assertNoImageTool } from './refuse-options.js';
import { DescribeResponse, DescribeStored } from './responses.openapi.js';

const CONVERSATION = 'conversation';
/** Sent by Azure's clients with every request; changes nothing here. */
const IGNORED = 'api-version';
const COUNTS_AS_POLL = RouteConfig({ scope: 'chat', counted: 'polls' });
const COUNTS_AS_POLL_WITHOUT_BODY = RouteConfig({ bodyless: true, scope: 'chat', counted: 'polls' });

/** What differs between the calls about a stored response. */
interface CallAboutStored {
  readonly method?: StoredResponseCall['method'];
  /** What follows the response's id in the path. */
  readonly below?: string;
  /** Names of the query parameters that the provider gets. */
  readonly query?: readonly string[];
}

/**
 * `/v1/responses`: passes Responses on to a provider, with everything that chats have, and calls about a stored response
 * to the provider that holds it.
 */
@ApiTags('Chat')
@Controller('v1/responses')
export class ResponsesController {
  constructor(
    private readonly chats: AdmitChat,
    private readonly protocols: ChatProtocols,
  ) {}

  @Post()
  @RouteConfig({ largeBody: true, rawBody: true, scope: 'chat', counted: 'chats' })
  @DescribeResponse()
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    assertChatQuery(request);
    const chat = readChatRequest(request.body, RESPONSES);
    const named = this.chats.modelOf(request, chat);
    this.assertOffered(named);
    assertNoImageTool(chat, priceAt(named.model, new Date())?.tokens?.covers);
    assertNoConversation(chat);
    await this.chats.pass(request, reply, chat, named);
  }

  /** Also as a stream from an event on, for a response in the background. */
  @Get(':responseId')
  @COUNTS_AS_POLL
  @DescribeStored('getResponse')
  find(@Param() { responseId }: ResponseIdParam, @Res() reply: FastifyReply): Promise<void> {
    return this.passStored(reply, responseId, {
      query: ['include', 'stream', 'starting_after', 'include_obfuscation'],
    });
  }

  @Delete(':responseId')
  @COUNTS_AS_POLL_WITHOUT_BODY
  @DescribeStored('deleteResponse')
  remove(@Param() { responseId }: ResponseIdParam, @Res() reply: FastifyReply): Promise<void> {
    return this.passStored(reply, responseId, { method: 'DELETE' });
  }

  @Post(':responseId/cancel')
  @COUNTS_AS_POLL_WITHOUT_BODY
  @DescribeStored('cancelResponse')
  cancel(@Param() { responseId }: ResponseIdParam, @Res() reply: FastifyReply): Promise<void> {
    return this.passStored(reply, responseId, { method: 'POST', below: '/cancel' });
  }

  @Get(':responseId/input_items')
  @COUNTS_AS_POLL
  @DescribeStored('listInputItems')
  inputItems(@Param() { responseId }: ResponseIdParam, @Res() reply: FastifyReply): Promise<void> {
    const query = ['include', 'limit', 'order', 'after', 'before'];
    return this.passStored(reply, responseId, { below: '/input_items', query });
  }

  private async passStored(
    reply: FastifyReply,
    id: string,
    { method = 'GET', below = '', query = [] }: CallAboutStored,
  ): Promise<void> {
    const { request } = reply;
    const { text, streamed } = queryOf(request, query);
    await this.chats.passStored(request, reply, id, { method, path: `/${id}${below}${text}`, streamed });
  }

  /** Throws AppError `invalid_value` for a model that has no provider with Responses. */
  private assertOffered({ model: { name, kind, ranks }, catalog }: NamedModel): void {
    if (kind === 'image') {
      const text = `${name} is an image model: generate images with POST /v1/images/generations, and edit them with POST /v1/images/edits.`;
      throw new AppError('invalid_value', text, { param: 'model' });
    }
    const types = ranks.flat().map(({ provider }) => catalog.providers.get(provider)?.type ?? '');
    if (types.some((type) => this.protocols.of(type, RESPONSES) !== undefined)) return;
    const text = `No provider of ${name} offers Responses: use POST /v1/chat/completions.`;
    throw new AppError('invalid_value', text, { param: 'model' });
  }
}

/** Throws AppError `unsupported_parameter`: conversations belong to the provider's account, and not to one of this service. */
function assertNoConversation({ bytes, members }: ChatRequest): void {
  const span = members.get(CONVERSATION);
  if (span === undefined || bytes.toString('latin1', span.start, span.end) === 'null') return;
  const text = `${CONVERSATION} is not supported: use previous_response_id, or send the earlier items in input.`;
  throw new AppError('unsupported_parameter', text, { param: CONVERSATION });
}

/**
 * The parameters of a query that the provider gets, as they were sent. Throws AppError `unsupported_parameter` for one
 * that is not known.
 */
function queryOf(
  { raw }: FastifyRequest,
  known: readonly string[],
): { readonly text: string; readonly streamed: boolean } {
  const pairs = (raw.url?.split('?').slice(1).join('?') ?? '').split('&').filter((pair) => pair !== '');
  const passed = pairs.filter((pair) => {
    const name = nameIn(pair);
    if (name === IGNORED) return false;
    if (known.includes(name)) return true;
    const text = `Unknown query parameter ${name}. Known parameters: ${[...known, IGNORED].join(', ')}.`;
    throw new AppError('unsupported_parameter', text, { param: name });
  });
  return { text: passed.length === 0 ? '' : `?${passed.join('&')}`, streamed: passed.includes('stream=true') };
}

/** `include` for `include`, `include[]` and `include[0]`. */
function nameIn(pair: string): string {
  const [name = ''] = new URLSearchParams(pair).keys();
  return name.replace(/\[\d*\]$/, '').slice(0, 40);
}
