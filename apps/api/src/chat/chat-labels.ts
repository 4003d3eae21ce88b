import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '#contract/app-error.js';
import type { JsonScan, Span } from '../common/fastify/json-scan.js';
import type { EndUserMode } from '#accounts/end-users.js';
import { assertTags, headerLabels, type SentLabels } from '../labels/request-labels.js';
import { assertSpelling } from './refuse-options.js';

const SAFETY_IDENTIFIER = 'safety_identifier';
const USER = 'user';
const TAGS = 'tags';
const COMMA = 0x2c;
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Bytes of a chat that are replaced. */
export interface ChatChange extends Span {
  readonly text: string;
}

/** What of a chat matters here. */
interface LabeledChat {
  readonly bytes: Buffer;
  readonly body: { readonly scan: Pick<JsonScan, 'end'> };
  readonly members: ReadonlyMap<string, Span>;
  readonly endUser: string | undefined;
  readonly read: (name: string) => unknown;
}

/**
 * What a chat says about its end user and its tags. With `off`, fields of end users are the provider's affair, and are not
 * read. Throws AppError: invalid_type, string_above_max_length, unsupported_parameter, and those of tags.
 */
export function chatLabels(
  { members, read }: Pick<LabeledChat, 'members' | 'read'>,
  headers: IncomingHttpHeaders,
  mode: EndUserMode = 'off',
): SentLabels {
  const tags = read(TAGS);
  if (tags !== undefined && !Array.isArray(tags)) {
    throw new AppError('invalid_type', 'tags must be an array of strings', { param: TAGS });
  }
  assertTags(tags, TAGS);
  const common = { ...headerLabels(headers), bodyTags: tags as string[] | undefined };
  if (mode === 'off') return { ...common, safetyIdentifier: undefined, user: undefined };
  assertSpelling(members.keys(), [SAFETY_IDENTIFIER, USER]);
  const [safetyIdentifier, user] = [SAFETY_IDENTIFIER, USER].map((name) => {
    const value = read(name);
    if (value === undefined || typeof value === 'string') return value;
    throw new AppError('invalid_type', `${name} must be a string`, { param: name });
  });
  return { ...common, safetyIdentifier, user };
}

/**
 * What of a chat's bytes changes: tags are not passed on, and the identifier takes the place of each field of the end
 * user, or is added.
 */
export function labelChanges({ bytes, body, members, endUser }: Omit<LabeledChat, 'read'>): ChatChange[] {
  const tags = members.get(TAGS);
  const changes = tags === undefined ? [] : [withoutMember(bytes, tags)];
  if (endUser === undefined) return changes;
  const fields = [SAFETY_IDENTIFIER, USER].flatMap((name) => members.get(name) ?? []);
  const text = JSON.stringify(endUser);
  if (fields.length > 0) return [...changes, ...fields.map((span) => ({ ...span, text }))];
  const end = body.scan.end - 1;
  return [...changes, { start: end, end, text: `,"${SAFETY_IDENTIFIER}":${text}` }];
}

/** The same changes of a parsed chat. */
export function labeledValue(
  { [TAGS]: _, ...value }: Readonly<Record<string, unknown>>,
  endUser: string | undefined,
): Record<string, unknown> {
  if (endUser === undefined) return value;
  const sent = [SAFETY_IDENTIFIER, USER].filter((name) => name in value);
  const names = sent.length > 0 ? sent : [SAFETY_IDENTIFIER];
  return { ...value, ...Object.fromEntries(names.map((name) => [name, endUser])) };
}

/** Removes a member with the comma after it, or else with the one before it: a chat has other members. */
function withoutMember(bytes: Buffer, { nameStart, end }: Span): ChatChange {
  let after = end;
  while (SPACES.has(bytes[after])) after++;
  let start = nameStart ?? end;
  if (bytes[after] === COMMA) return { start, end: after + 1, text: '' };
  do start--;
  while (SPACES.has(bytes[start]));
  return { start, end, text: '' };
}
