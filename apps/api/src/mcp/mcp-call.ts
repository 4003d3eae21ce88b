import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Caller } from '../auth/caller.js';

/** The HTTP call that a message came in with: one message per call. */
export interface McpCall {
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The arguments of a tool, unchecked. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Passes the call through the SDK, which knows no other place for it. The key stays out of it. */
export function authInfoOf(call: McpCall): AuthInfo {
  return { token: '', clientId: call.caller.keyId, scopes: [], extra: { call } };
}

/** The call that `authInfoOf` has passed. */
export function callOf(info: AuthInfo | undefined): McpCall {
  return info?.extra?.['call'] as McpCall;
}
