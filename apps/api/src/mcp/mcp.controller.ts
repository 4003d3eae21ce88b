import { Controller, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { callerOf } from '../auth/caller.js';
import { goneSignal } from '../common/gone-signal.js';
import { McpServers } from './mcp-servers.js';

/** Of the connection to the caller, about which the SDK knows nothing. */
const NOT_PASSED = new Set(['connection', 'content-length']);

/**
 * The Model Context Protocol over Streamable HTTP, without sessions: any instance answers any message. Tools check the
 * scope that they need, and count in the limits of the key.
 */
@ApiExcludeController()
@Controller()
export class McpController {
  constructor(private readonly servers: McpServers) {}

  @Post('mcp')
  @RouteConfig({ largeBody: true, scope: 'any', accessTokens: true })
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (Array.isArray(request.body)) throw new AppError('invalid_value', 'Send one JSON-RPC message per request.');
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      // The SDK has no use for the key.
      if (name !== 'authorization' && name !== 'api-key' && value !== undefined) headers.set(name, String(value));
    }
    const sent = new Request('http://localhost/mcp', {
      method: 'POST',
      headers,
      body: '{}',
      signal: goneSignal(reply),
    });
    const answer = await this.servers.answer(sent, request.body, { caller: callerOf(request), request, reply });
    if (reply.raw.destroyed) return;
    for (const [name, value] of answer.headers) if (!NOT_PASSED.has(name)) void reply.header(name, value);
    void reply
      .header('cache-control', 'no-store')
      .code(answer.status)
      .send(answer.body === null ? undefined : Readable.fromWeb(answer.body));
  }
}
