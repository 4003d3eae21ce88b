import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { priceAt } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import { assertChatQuery } from '../images/image-query.js';
import { AdmitChat, type NamedModel } from './admit-chat.js';
import { RESPONSES } from './chat-api.js';
import { ChatProtocols } from './chat-protocols.js';
import { readChatRequest, type ChatRequest } from './chat-request.js';
import { assertNoImageTool } from './refuse-options.js';
import { DescribeResponse } from './responses.openapi.js';

/** Members that name something which the provider holds for its account, and not for one account of this service. */
const FOREIGN_STATE = ['conversation', 'previous_response_id'];

/** POST /v1/responses: passes Responses on to a provider, with everything that chats have. */
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
    assertNoForeignState(chat);
    await this.chats.pass(request, reply, chat, named);
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

/** Throws AppError `unsupported_parameter`. */
function assertNoForeignState({ bytes, members }: ChatRequest): void {
  for (const name of FOREIGN_STATE) {
    const span = members.get(name);
    if (span === undefined || bytes.toString('latin1', span.start, span.end) === 'null') continue;
    throw new AppError('unsupported_parameter', `${name} is not supported: send the earlier items in input.`, {
      param: name,
    });
  }
}
