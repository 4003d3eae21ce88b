import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, getsTasks } from '../auth/caller.js';
import { Caller } from '../auth/caller.decorator.js';
import { ApiConfig } from '../common/api.config.js';
import { OpenCalls } from '../common/open-calls.js';
import { AcceptImage } from './accept-image.js';
import { AnswerImage } from './answer-image.js';
import type { Ask } from './asked.js';
import { DescribeAsyncEdit, DescribeAsyncGeneration, DescribeEdit, DescribeGeneration } from './images.openapi.js';
import { ASYNC_PATH, callMode, readImageQuery, type CallMode, type ImageQuery } from './image-query.js';
import { QuoteImage } from './quote-image.js';
import { ReadRequest } from './read-request.js';
import { StreamImage } from './stream-image.js';

const TAKES_IMAGES = RouteConfig({ largeBody: true, scope: 'images', counted: 'submits' });
const TAKES_FORMS = RouteConfig({ largeBody: true, multipart: true, scope: 'images', counted: 'submits' });

/** Requests and replies are raw here: forms are streamed in, images and events are streamed out. */
@ApiTags('Images')
@Controller()
export class ImagesController {
  constructor(
    private readonly read: ReadRequest,
    private readonly accept: AcceptImage,
    private readonly answer: AnswerImage,
    private readonly streams: StreamImage,
    private readonly quotes: QuoteImage,
    private readonly config: ApiConfig,
    private readonly openCalls: OpenCalls,
  ) {}

  @Post('v1/images/generations')
  @TAKES_IMAGES
  @DescribeGeneration('generateImage')
  async generate(@Caller() caller: Caller, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = readImageQuery(request);
    const isSubmitted = getsTasks(caller) && !query.dryRun;
    const mode = isSubmitted ? undefined : this.modeOf(request, query);
    const ask: Ask = () => this.read.generation(request, mode?.asynchronous ?? false);
    await this.run(ask, query, mode, reply);
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
    const ask: Ask = () => this.read.generation(request, true);
    await this.run(ask, readImageQuery(request), ASYNC_PATH, reply);
  }

  @Post('v1/images/edits')
  @TAKES_FORMS
  @DescribeEdit()
  async edit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = readImageQuery(request);
    const mode = this.modeOf(request, query);
    const ask: Ask = (upload) => this.read.edit(request, mode.asynchronous, upload);
    await this.run(ask, query, mode, reply);
  }

  @Post('v1/images/edits/async')
  @TAKES_FORMS
  @DescribeAsyncEdit()
  async editAsync(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const ask: Ask = (upload) => this.read.edit(request, true, upload);
    await this.run(ask, readImageQuery(request), ASYNC_PATH, reply);
  }

  /** Without a mode, the caller gets the task's id at once, as the API key says. */
  private async run(
    ask: Ask,
    { dryRun }: Pick<ImageQuery, 'dryRun'>,
    mode: CallMode | undefined,
    reply: FastifyReply,
  ): Promise<void> {
    const { request } = reply;
    const caller = callerOf(request);
    if (dryRun) return this.quotes.quote(ask, caller, reply);
    const accepted = await this.accept.accept(ask, caller, this.openCalls.of(reply));
    if (accepted.streamed) await this.streams.stream(request, reply, accepted);
    else if (mode === undefined) this.answer.answerSubmitted(request, reply, accepted);
    else await this.answer.answer(request, reply, accepted, mode);
  }

  private modeOf({ headers }: FastifyRequest, { asynchronous }: ImageQuery): CallMode {
    return callMode({ asynchronous, prefer: headers.prefer }, this.config.syncWaitMs);
  }
}
