import { MAX_LINES, type BatchLine, type BatchProblem } from '#batches/batch.js';
import { isStorable } from '#contract/text-rules.js';
import { rawLines, type RawLine } from './raw-lines.js';

/** With blank ones: each costs time, and a file has room for 200 million. */
const MAX_FILE_LINES = 2 * MAX_LINES;
/** Most bytes of a line, as of any request without images in it. */
const MAX_LINE_BYTES = 1_048_576;
const MAX_CUSTOM_ID = 256;
/** Most problems that a refused file is told. */
const MAX_PROBLEMS = 20;

/** What a file contains: lines that are valid so far, in order, or why it is refused. */
type FileContent = { readonly line: BatchLine } | { readonly problem: BatchProblem };

/**
 * Checks an input file as it is read: each line, and that there are not too many, or none. Holds one line, and the ids
 * of all.
 */
export async function* readInput(pieces: AsyncIterable<Buffer>, endpoint: string): AsyncGenerator<FileContent> {
  const ids = new Set<string>();
  let problems = 0;
  for await (const raw of rawLines(pieces, MAX_LINE_BYTES)) {
    const isTooMany = raw.line > MAX_FILE_LINES;
    if (isBlank(raw) && !isTooMany) continue;
    const found = isTooMany || ids.size >= MAX_LINES ? tooManyLines() : checked(raw, endpoint, ids);
    if ('customId' in found) {
      ids.add(found.customId);
      yield { line: found };
    } else {
      yield { problem: found };
      if (++problems === MAX_PROBLEMS || found.line === null) return;
    }
  }
  if (ids.size === 0 && problems === 0) yield { problem: problemOf('empty_file', 'The file has no requests.', null) };
}

/** The body of the request in a line that was checked before. */
export function bodyOf(text: Buffer): object {
  return (valueOf(text) as { readonly body: object }).body;
}

function isBlank({ text }: RawLine): boolean {
  return text?.toString('latin1').trim() === '';
}

function checked({ line, position, bytes, text }: RawLine, endpoint: string, ids: ReadonlySet<string>) {
  const refused = (code: string, message: string, param: string | null = null): BatchProblem =>
    problemOf(code, message, param, line);
  if (text === undefined) {
    return refused('line_too_long', 'The line is longer than 1 MB. Send images as links, or as IDs of uploads.');
  }
  const request = parsed(text);
  if (request === undefined) return refused('invalid_json_line', 'The line is not a JSON object.');
  const { custom_id: customId, method, url, body } = request;
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID || !isStorable(customId)) {
    return refused('invalid_custom_id', `custom_id must be a string of 1 to ${MAX_CUSTOM_ID} characters.`, 'custom_id');
  }
  if (ids.has(customId)) return refused('duplicate_custom_id', 'Another line has the same custom_id.', 'custom_id');
  if (method !== 'POST') return refused('invalid_method', 'method must be POST.', 'method');
  if (url !== endpoint) return refused('invalid_url', `url must be the endpoint of the batch, ${endpoint}.`, 'url');
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return refused('invalid_request', 'body must be a JSON object.', 'body');
  }
  return { line, customId, position, bytes };
}

function parsed(text: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = valueOf(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** Without a byte order mark. Throws for what is no JSON, or no UTF-8. */
function valueOf(text: Buffer): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text));
}

function tooManyLines(): BatchProblem {
  return problemOf(
    'too_many_requests',
    `A batch can have at most ${MAX_LINES} requests, and as many blank lines.`,
    null,
  );
}

function problemOf(code: string, message: string, param: string | null, line: number | null = null): BatchProblem {
  return { code, message, param, line };
}
