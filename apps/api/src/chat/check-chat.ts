import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { LongText, piecesOf, type Text } from '#contract/long-text.js';
import type { GuardrailImage } from '#guardrail/guardrail-message.js';
import { blockedByGuardrail, Guardrail } from '#guardrail/guardrail.js';
import { callerOf } from '../auth/caller.js';
import { tooMuch } from '../common/fastify/json-scan.js';
import { goneSignal } from '../common/gone-signal.js';
import { valueOf, type ChatRequest } from './chat-request.js';
import { countMembers } from './refuse-options.js';

/** Members of a chat that hold what is said, with its images. */
const SAID = ['prompt', 'prediction'];
/** Other members of which a model reads every word. All others may have words that are options. */
const READ = ['instructions', 'tools', 'functions'];
/** Members of a chat that no model reads. */
const UNREAD = ['model', 'user', 'safety_identifier', 'tags', 'metadata'];
/** Members whose words are names and kinds. */
const KINDS = ['type', 'role', 'id', 'call_id', 'status', 'detail', 'encrypted_content'];
/** Members whose words are links to images or other files, or these themselves. */
const LINKS = ['url', 'image_url', 'file_url', 'file_data', 'data'];
/** Most bytes of long texts that begin like images, and are none. */
const MAX_LONG_BYTES = 1_048_576;
const STEP = 65_536;

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
   * byte; `request_too_large` for a chat that can't be parsed; `invalid_json` for duplicate members, of which some servers
   * read the first and some the last.
   */
  async assertAllowed(request: FastifyRequest, reply: FastifyReply, chat: ChatRequest): Promise<void> {
    if (!this.guardrail.isOn) return;
    const { accountId, keyId, personId } = callerOf(request);
    const { model, endUser, tags, api, body } = chat;
    const value = valueOf(chat);
    if (countMembers(value) !== body.scan.memberCount)
      throw new AppError('invalid_json', 'The request body contains a duplicate member.');
    const about = { callId: request.id, model, accountId, keyId, personId: personId ?? undefined, endUser, tags };
    const changed = await this.guardrail.check({ ...about, ...foundIn(value, api.input) }, goneSignal(reply));
    if (changed !== undefined) throw blockedByGuardrail('It would change a text, and chats are passed on unchanged.');
  }
}

/** Everything in a chat that a model may read. Members that are not named above are examined, too, so that none is missed. */
function foundIn(chat: Readonly<Record<string, unknown>>, input: string): Found {
  const found: Found = { texts: [], images: [] };
  let longBytes = 0;
  for (const [member, value] of Object.entries(chat)) {
    if (UNREAD.includes(member)) continue;
    const isSaid = member === input || SAID.includes(member);
    const isRead = isSaid || READ.includes(member);
    eachText(value, member, (text, name) => {
      const isWord = text instanceof LongText || !/\s/.test(text);
      if (isWord && isSaid && LINKS.includes(name)) found.images.push({ url: text });
      else if (text instanceof LongText) {
        longBytes += text.length;
        if (longBytes > MAX_LONG_BYTES) throw tooMuch(MAX_LONG_BYTES);
        found.texts.push([...piecesOf(text, STEP)].join(''));
      } else if (!isWord || (isRead && text !== '' && !KINDS.includes(name))) found.texts.push(text);
    });
  }
  return found;
}

/** Takes all texts in a value, each with the name of its member, and all names that are more than a word. */
function eachText(value: unknown, name: string, take: (text: Text, name: string) => void): void {
  if (typeof value === 'string' || value instanceof LongText) take(value, name);
  else if (Array.isArray(value)) for (const item of value) eachText(item, name, take);
  else if (typeof value === 'object' && value !== null)
    for (const [member, item] of Object.entries(value)) {
      if (/\s/.test(member)) take(member, '');
      eachText(item, member, take);
    }
}
