import { Body, Get, HttpCode, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiConsumes, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ImageGenerationRequest } from '#contract/image-request.js';
import { AuditLog } from '#accounts/audit-log.js';
import { OpenCalls } from '../../common/open-calls.js';
import { callerOf } from '../../auth/caller.js';
import { AcceptImage } from '../../images/accept-image.js';
import type { Ask } from '../../images/asked.js';
import { ReadRequest } from '../../images/read-request.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { TaskLogInterceptor } from '../tasks/task-log.interceptor.js';
import { AcceptedTaskView } from '../tasks/dto/task-views.dto.js';
import { ConsoleQuotes } from './console-quotes.js';
import { ConsoleQuoteView, PlaygroundModelListView } from './dto/playground-views.dto.js';
import { QuoteBody } from './dto/quote-body.dto.js';
import { PlaygroundModels } from './playground-models.js';

/** Generates images with the account's own hidden key, in the same way as for API keys. */
@ConsoleController('Playground')
@Allow('tasks.create')
export class PlaygroundController {
  constructor(
    private readonly read: ReadRequest,
    private readonly accept: AcceptImage,
    private readonly models: PlaygroundModels,
    private readonly quotes: ConsoleQuotes,
    private readonly audit: AuditLog,
    private readonly openCalls: OpenCalls,
  ) {}

  @Get('models')
  @Allow('tasks.read')
  @ApiResponse({ status: 200, type: PlaygroundModelListView })
  list(): PlaygroundModelListView {
    return { data: this.models.list() };
  }

  @Post('quotes')
  @RouteConfig({ uncapped: true })
  @HttpCode(200)
  @ApiResponse({ status: 200, type: ConsoleQuoteView })
  async quote(@Session() session: Session, @Body() body: QuoteBody): Promise<ConsoleQuoteView> {
    return await this.quotes.quote(session, body);
  }

  @Post('images')
  @UseInterceptors(TaskLogInterceptor)
  @RouteConfig({ largeBody: true, counted: 'submits' })
  @HttpCode(202)
  @ApiBody({ type: ImageGenerationRequest })
  @ApiResponse({ status: 202, type: AcceptedTaskView })
  async generate(
    @Session() session: Session,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AcceptedTaskView> {
    const ask: Ask = () => this.read.generation(request, false, withPartials(request.body));
    return await this.accepted(session, request, reply, ask);
  }

  @Post('edits')
  @UseInterceptors(TaskLogInterceptor)
  @RouteConfig({ largeBody: true, multipart: true, counted: 'submits' })
  @HttpCode(202)
  @ApiConsumes('multipart/form-data')
  @ApiResponse({ status: 202, type: AcceptedTaskView, description: 'With partial_images, stream must be true.' })
  async edit(
    @Session() session: Session,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AcceptedTaskView> {
    return await this.accepted(session, request, reply, (upload) => this.read.edit(request, false, upload));
  }

  /** Always responds with the task, whatever the request says; its events have a URL of their own. */
  private async accepted(
    session: Session,
    request: FastifyRequest,
    reply: FastifyReply,
    ask: Ask,
  ): Promise<AcceptedTaskView> {
    const { task, attached } = await this.accept.accept(ask, callerOf(request), this.openCalls.of(reply));
    // A repeated request has created nothing.
    if (!attached) await this.audit.record(session, 'task.made', task.id, { model: task.model });
    return { task_id: task.id };
  }
}

/** Only streams have partial images, and the console always streams the task. */
function withPartials(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('partial_images' in body)) return body;
  return body.partial_images === 0 || body.partial_images === null ? body : { ...body, stream: true };
}
