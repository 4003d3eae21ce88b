import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Caller } from '../auth/caller.decorator.js';
import { ApiConfig } from '../common/api.config.js';
import { OpenCalls } from '../common/open-calls.js';
import { AcceptImage } from './accept-image.js';
import { AnswerImage } from './answer-image.js';
import { ASYNC_PATH, callMode, type CallMode } from './call-mode.js';
import { DescribeAsyncEdit, DescribeAsyncGeneration, DescribeEdit, DescribeGeneration } from './images.openapi.js';
import { readImageQuery } from './image-query.js';
import { QuoteImage } from './quote-image.js';
import { StreamImage } from './stream-image.js';

const TAKES_IMAGES = RouteConfig({ largeBody: true, scope: 'images', counted: 'submits' });
const TAKES_FORMS = RouteConfig({ largeBody: true, multipart: true, scope: 'images', counted: 'submits' });

/** Requests and replies are raw here: forms are streamed in, images and events are streamed out. */
@ApiTags('Images')
@Controller()
export class ImagesController {
  constructor(
    private readonly accept: AcceptImage,
    private readonly answer: AnswerImage,
    private readonly streams: StreamImage,
    private readonly quotes: QuoteImage,
    private readonly config: ApiConfig,
    private readonly calls: OpenCalls,
  ) {}

  @Post('v1/images/generations')
  @TAKES_IMAGES
  @DescribeGeneration('generateImage')
  async generate(@Caller() caller: Caller, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (caller.submitMode !== 'apimart' || readImageQuery(request).dryRun) {
      return this.run('generation', this.modeOf(request), request, reply);
    }
    const accepted = await this.accept.generation(request, false, this.calls.of(reply));
    if (accepted.streamed) await this.streams.stream(request, reply, accepted);
    else this.answer.answerSubmitted(request, reply, accepted);
  }

  @Post('images/generations')
  @TAKES_IMAGES
  @DescribeGeneration('generateImageUnprefixed')
  async generateUnprefixed(
    @Caller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.generate(caller, request, reply);
  }

  @Post('v1/images/generations/async')
  @TAKES_IMAGES
  @DescribeAsyncGeneration()
  async generateAsync(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.run('generation', ASYNC_PATH, request, reply);
  }

  @Post('v1/images/edits')
  @TAKES_FORMS
  @DescribeEdit()
  async edit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.run('edit', this.modeOf(request), request, reply);
  }

  @Post('v1/images/edits/async')
  @TAKES_FORMS
  @DescribeAsyncEdit()
  async editAsync(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.run('edit', ASYNC_PATH, request, reply);
  }

  private async run(
    form: 'generation' | 'edit',
    mode: CallMode,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    if (readImageQuery(request).dryRun) return this.quotes.quote(form, request, reply, mode.asynchronous);
    const accepted = await this.accept[form](request, mode.asynchronous, this.calls.of(reply));
    if (accepted.streamed) await this.streams.stream(request, reply, accepted);
    else await this.answer.answer(request, reply, accepted, mode);
  }

  private modeOf(request: FastifyRequest): CallMode {
    const { asynchronous } = readImageQuery(request);
    return callMode({ asynchronous, prefer: request.headers.prefer }, this.config.syncWaitMs);
  }
}
