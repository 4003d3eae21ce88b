import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { callerOf, type Caller } from '../auth/caller.js';
import { assertChatQuery } from '../images/image-query.js';
import { AdmitChat } from './admit-chat.js';
import { readChatRequest } from './chat-request.js';
import { DescribeChat } from './chat.openapi.js';
import { GenerateInChat } from './generate-in-chat.js';

/**
 * POST /v1/chat/completions: passes chats on to a provider, and generates an image when the model is an image model.
 */
@ApiTags('Chat')
@Controller()
export class ChatController {
  constructor(
    private readonly chats: AdmitChat,
    private readonly images: GenerateInChat,
  ) {}

  @Post('v1/chat/completions')
  @RouteConfig({ largeBody: true, rawBody: true, scope: 'chat', counted: 'chats' })
  @DescribeChat()
  async complete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    assertChatQuery(request);
    const chat = readChatRequest(request.body);
    const named = this.chats.modelOf(request, chat);
    if (named.model.kind === 'image') {
      assertNoLine(callerOf(request));
      return this.images.draw(request, reply, chat);
    }
    await this.chats.pass(request, reply, chat, named);
  }
}

/** Throws AppError `invalid_value`: an image has a task, and its line in a batch is sent as a generation. */
function assertNoLine({ line }: Caller): void {
  if (line === undefined) return;
  const text = 'This is an image model: send its lines in a batch of /v1/images/generations.';
  throw new AppError('invalid_value', text, { param: 'model' });
}
