import { Injectable } from '@nestjs/common';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { EndUserSecrets } from '#accounts/end-user-secrets.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import { derivedIdentifier } from '#accounts/end-users.js';
import type { AppliedLimit } from '#billing/label-limits.js';
import { LabelLimits } from '#billing/label-limits.repository.js';
import { AppError } from '#contract/app-error.js';
import {
  distinctTags,
  END_USER_HEADER,
  isEndUserIdentifier,
  MAX_END_USER_HEADER,
  MAX_TAGS,
  TAGS_HEADER,
  tagsIn,
  tagsProblem,
} from '#contract/labels.js';
import { overloaded } from '#contract/unavailable.js';
import { UnreadableSecret } from '#secrets/sealed-text.js';
import type { Caller } from '../auth/caller.js';
import { RequestLimits } from '../limits/limit-requests.js';

/** What the headers of a request say about its end user and its tags; undefined: nothing. */
export interface HeaderLabels {
  readonly endUser: string | undefined;
  readonly tags: readonly string[] | undefined;
}

/** What a request says about them, raw. */
export interface SentLabels extends HeaderLabels {
  /** Of the body, as are the next two; empty counts as absent. */
  readonly safetyIdentifier: string | undefined;
  readonly user: string | undefined;
  readonly bodyTags: readonly string[] | undefined;
}

/** The end user and the tags of a request, as rows and providers may have them. */
export interface RequestLabels {
  /** Undefined: none, so that fields of end users are passed on as they are. */
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  /** What their account limits them to. */
  readonly labelLimits: readonly AppliedLimit[];
}

/** The labels in headers. Throws AppError for tags that break the rules, and for a far too long identifier. */
export function headerLabels(headers: IncomingHttpHeaders): HeaderLabels {
  const endUser = textOf(headers, END_USER_HEADER);
  if (endUser !== undefined && endUser.length > MAX_END_USER_HEADER) {
    const text = `${END_USER_HEADER} must be at most ${MAX_END_USER_HEADER} characters long`;
    throw new AppError('string_above_max_length', text, { param: END_USER_HEADER });
  }
  const tags = textOf(headers, TAGS_HEADER);
  const listed = tags === undefined ? undefined : tagsIn(tags);
  assertTags(listed, TAGS_HEADER);
  return { endUser, tags: listed };
}

/** Throws the AppError of the first rule that a list of tags breaks. */
export function assertTags(tags: unknown, param: string): void {
  const problem = tagsProblem(tags, param);
  if (problem) throw new AppError(problem.code, problem.message, { param: param + (problem.at ?? '') });
}

/** The key that a request counts for, and the person who sent it in the console. */
type Labeling = Pick<Caller, 'accountId' | 'originalKeyId' | 'endUsers' | 'personId'>;

/** Decides which end user and which tags a request has, as its key says. */
@Injectable()
export class LabelRequests {
  constructor(
    private readonly secrets: EndUserSecrets,
    private readonly states: EndUserStates,
    private readonly limits: LabelLimits,
    private readonly requests: RequestLimits,
  ) {}

  /**
   * Counts the request for its labels, unless it is a line of a batch, which is counted for no key either.
   * Throws AppError: `missing_required_parameter` when the key requires an end user; `invalid_value` for an identifier
   * that can't be forwarded; `array_above_max_length` for too many tags; `end_user_blocked` and `end_user_paused`;
   * `rate_limit_exceeded`; `server_is_overloaded` without a database.
   */
  async of(
    caller: Labeling & Pick<Caller, 'tags'>,
    sent: SentLabels,
    { isCounted = true } = {},
  ): Promise<RequestLabels> {
    const tags = distinctTags([...(sent.bodyTags ?? []), ...(sent.tags ?? []), ...(caller.tags ?? [])]);
    if (tags.length > MAX_TAGS) {
      const text = `A request has at most ${MAX_TAGS} tags, with those of its API key.`;
      throw new AppError('array_above_max_length', text, { param: sent.bodyTags === undefined ? TAGS_HEADER : 'tags' });
    }
    const endUser = await this.endUser(caller, sent);
    await this.states.assertAllowed(caller.accountId, endUser);
    const labelLimits = await this.limits.applied(caller.accountId, { endUser, tags });
    if (isCounted) await this.requests.admitLabels(labelLimits);
    return { endUser, tags, labelLimits };
  }

  private async endUser(
    { accountId, originalKeyId, personId, endUsers = 'off' }: Labeling,
    sent: SentLabels,
  ): Promise<string | undefined> {
    if (endUsers === 'off') return undefined;
    // In the console, whoever orders is the end user, whatever they send.
    const found = identifierIn(personId === undefined ? sent : { endUser: personId });
    if (endUsers === 'forward') {
      if (found !== undefined && !isEndUserIdentifier(found.raw)) throw notForwarded(found.param);
      return found?.raw;
    }
    if (found === undefined && endUsers === 'require') throw missingEndUser();
    const secret = await this.secrets.of(accountId).catch((error: unknown) => {
      throw error instanceof UnreadableSecret ? error : overloaded(error);
    });
    // Rotations of a key don't change who its end users are.
    return found === undefined
      ? derivedIdentifier(secret, 'key', originalKeyId)
      : derivedIdentifier(secret, 'end user', found.raw);
  }
}

/** The first identifier that a request has, and where. */
function identifierIn({ safetyIdentifier, user, endUser }: Partial<SentLabels>) {
  if (safetyIdentifier) return { raw: safetyIdentifier, param: 'safety_identifier' };
  if (user) return { raw: user, param: 'user' };
  return endUser === undefined ? undefined : { raw: endUser, param: END_USER_HEADER };
}

/** Node reads headers as Latin-1, but most clients that send other characters send UTF-8. */
function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const sent = headers[name];
  if (typeof sent !== 'string' || sent.trim() === '') return undefined;
  const bytes = Buffer.from(sent.trim(), 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : sent.trim();
}

function notForwarded(param: string): AppError {
  const text = `${param} must be 1 to 64 printable ASCII characters without spaces and commas: this API key forwards it.`;
  return new AppError('invalid_value', text, { param });
}

function missingEndUser(): AppError {
  const text = `Missing required parameter: 'safety_identifier'. This API key requires the end user's identifier: send safety_identifier, user, or the header ${END_USER_HEADER}.`;
  return new AppError('missing_required_parameter', text, { param: 'safety_identifier' });
}
