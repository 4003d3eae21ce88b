import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { Public } from '../auth/api-key.guard.js';
import { Caller } from '../auth/caller.decorator.js';
import { goneSignal } from '../common/gone-signal.js';
import { discardRest } from '../common/request-stream.js';
import { KeepImage } from './keep-image.js';
import { DescribeUpload, DescribeUploadLink } from './uploads.openapi.js';

/** Reference images that are uploaded once and used in many requests. */
@ApiTags('Uploads')
@Controller()
export class UploadsController {
  constructor(private readonly keepImage: KeepImage) {}

  @Post('v1/uploads/images')
  @RouteConfig({ multipart: 'only', scope: 'images', counted: 'submits' })
  @DescribeUpload()
  async upload(@Caller() caller: Caller, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.keepImage.assertRoom(caller).catch((error: unknown) => {
      discardRest(request.raw);
      throw error;
    });
    const { answer, ignored } = await this.keepImage.keep(request, goneSignal(reply));
    const ignoredParams = ignoredParamsHeader(ignored);
    if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
    void reply.code(200).header('cache-control', 'no-store').send(answer);
  }

  /** Explains the purpose of upload links; the same response for any name. */
  @Get('u/:name')
  @Public()
  @DescribeUploadLink()
  open(): never {
    throw new AppError('file_not_found', 'Uploads can only be used in image requests; they are not served.');
  }
}
