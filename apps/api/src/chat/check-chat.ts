import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LongText } from '#contract/long-text.js';
import type { GuardrailImage } from '#guardrail/guardrail-message.js';
import { blockedByGuardrail, Guardrail } from '#guardrail/guardrail.js';
import { callerOf } from '../auth/caller.js';
import { goneSignal } from '../common/gone-signal.js';
import { valueOf, type ChatRequest } from './chat-request.js';

/** Members beside the messages that a model reads. */
const READ_MEMBERS = ['instructions', 'prompt', 'prediction', 'tools', 'functions'];
/** Members whose texts are names and kinds. */
const KINDS = new Set(['type', 'role', 'id', 'call_id', 'status', 'detail', 'encrypted_content']);
/** Members whose texts are images or other files. */
const LINKS = new Set(['url', 'image_url', 'file_url', 'file_data', 'data']);

interface Found {
  readonly texts: string[];
  readonly images: GuardrailImage[];
}

/** Asks the guardrail, if there is one, about the texts and images of a chat before a provider gets it. */
@Injectable()
export class CheckChat {
  constructor(private readonly guardrail: Guardrail) {}

  /**
   * Throws AppError like Guardrail; `moderation_blocked` also when it wants other texts, because a chat is passed on byte for
   * byte; `request_too_large` for a chat that can't be parsed.
   */
  async assertAllowed(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest): Promise<void> {
    if (!this.guardrail.isOn) return;
    const { accountId, keyId, personId } = callerOf(request);
    const { model, endUser, tags, api } = chat;
    const value = valueOf(chat);
    const found: Found = { texts: [], images: [] };
    for (const name of [api.input, ...READ_MEMBERS]) collect(value[name], name, found);
    const about = { callId: request.id, model, accountId, keyId, personId: personId ?? undefined, endUser, tags };
    const changed = await this.guardrail.check({ ...about, ...found }, goneSignal(reply));
    if (changed !== undefined) throw blockedByGuardrail('It would change a text, and chats are passed on unchanged.');
  }
}

/** Everything in a value that a model may read. Other names than those above are examined, too, so that none is missed. */
function collect(value: unknown, name: string, found: Found): void {
  if (value instanceof LongText) found.images.push({ url: value });
  else if (typeof value === 'string') {
    if (LINKS.has(name)) found.images.push({ url: value });
    else if (!KINDS.has(name) && value !== '') found.texts.push(value);
  } else if (Array.isArray(value)) for (const item of value) collect(item, name, found);
  else if (typeof value === 'object' && value !== null)
    for (const [member, item] of Object.entries(value)) collect(item, member, found);
}
