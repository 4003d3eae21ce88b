/** One server-sent event; a comment has only `comment`. */
export interface SentEvent {
  readonly event?: string;
  readonly data?: unknown;
  readonly comment?: string;
}

/** Reads a response as server-sent events, each as it arrives. Throws on anything else in the stream. */
export async function* readEvents(response: Response): AsyncGenerator<SentEvent> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield parse(text.slice(0, end));
      text = text.slice(end + 2);
    }
  }
  if (text !== '') throw new Error(`the stream ended within an event: ${text}`);
}

function parse(block: string): SentEvent {
  if (block.startsWith(': ')) return { comment: block.slice(2) };
  const match = /^event: (\S+)\ndata: (.+)$/.exec(block);
  if (match === null) throw new Error(`this is no event: ${block}`);
  return { event: match[1] ?? '', data: JSON.parse(match[2] ?? '') as unknown };
}
