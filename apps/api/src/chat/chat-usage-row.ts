import type { ChatUsageRow } from '#billing/chat-usage.repository.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ModelEntry, TokenPrices } from '#catalog/catalog.js';
import { callerOf } from '../auth/caller.js';
import type { Called, PassedOn } from './call-upstreams.js';
import { costOfChat } from './chat-estimate.js';
import type { ChatRequest } from './chat-request.js';
import { isBlocked, isUnclear } from './upstream-refusal.js';

/** Null = free, undefined = unknown. */
export type ChatPrices = TokenPrices | null | undefined;

/** A chat that has just ended. */
interface EndedChat {
  readonly chat: ChatRequest;
  readonly model: ModelEntry;
  readonly prices: ChatPrices;
  /** Aborted when its caller disconnected, or may no longer chat. */
  readonly gone: AbortSignal;
}

/** The row of a chat that has just ended. */
export function usageRow(request: FastifyRequest, reply: FastifyReply, ended: EndedChat, called: Called): ChatUsageRow {
  const { accountId, keyId } = callerOf(request);
  const { provider, key, model } = called.attempt;
  const { status, seen } = responseOf(called);
  const outcome = outcomeOf(called, ended.gone);
  const durationMs = reply.elapsedTime;
  return {
    request_id: request.id,
    account_id: accountId,
    api_key_id: keyId,
    model: ended.model.name,
    provider: provider.name,
    provider_key: key?.name ?? null,
    provider_model: model,
    streamed: ended.chat.streamed,
    status,
    outcome,
    input_tokens: seen?.usage?.input ?? null,
    output_tokens: seen?.usage?.output ?? null,
    cached_tokens: seen?.usage?.cached ?? null,
    first_byte_ms: seen?.firstByteMs ?? Math.round(durationMs),
    duration_ms: Math.round(durationMs),
    created_at: new Date().toISOString(),
    cost_micros: mayCost(called) ? costOf(ended, seen, outcome === 'left' ? durationMs : 0) : 0,
    end_user: ended.chat.endUser ?? null,
    tags: ended.chat.tags.length === 0 ? null : ended.chat.tags,
    refused_stage: ended.chat.endUser === undefined ? null : refusedStage(called),
  };
}

/** Whether the provider refused the chat's content, and of which side. */
function refusedStage(called: Called): ChatUsageRow['refused_stage'] {
  if (called.kind === 'refused') return isBlocked(called.refusal) ? 'input' : null;
  return called.kind === 'answered' && called.filtered?.found === true ? 'output' : null;
}

/** The status of the provider's response, 0 without one; and what was seen of it if it was passed on. */
function responseOf(called: Called): { readonly status: number; readonly seen?: PassedOn } {
  if (called.kind === 'answered') return { status: called.status, seen: called };
  return { status: called.kind === 'refused' ? called.refusal.status : 0 };
}

function outcomeOf(called: Called, gone: AbortSignal): ChatUsageRow['outcome'] {
  if (called.kind === 'answered') return called.end;
  if (called.kind === 'refused' && !isUnclear(called.refusal)) return 'refused';
  return gone.aborted ? 'left' : 'unanswered';
}

/** A refused chat costs nothing, and neither does one that was never sent. */
function mayCost(called: Called): boolean {
  if (called.kind === 'refused') return isUnclear(called.refusal);
  return called.kind === 'answered' || called.isUnclear;
}

/**
 * Without a price, the cost is unknown. `leftMs`: how long the provider worked for a caller that left, 0 = it stayed.
 */
function costOf({ chat, prices }: EndedChat, seen: PassedOn | undefined, leftMs: number): number | null {
  if (prices === null) return 0;
  if (prices === undefined) return null;
  const output = seen?.output.tokens ?? 0;
  const unseenMs = leftMs > 0 && seen !== undefined && output > 0 ? seen.firstByteMs : leftMs;
  return costOfChat(chat, prices, {
    usage: seen?.usage,
    whole: seen?.whole ?? false,
    output,
    unseenSeconds: unseenMs / 1_000,
  });
}
