const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const BRACE = 0x7b;
const DATA = Buffer.from('data:');

/**
 * Yields the `data` of each server-sent event as a stream, which must be read before the next one. An ordinary event
 * parser would return whole strings, which have many megabytes if they contain an image. Skips comments, other fields,
 * and data that is not a JSON object, such as [DONE]. Throws the body's errors.
 */
export async function* splitEvents(body: AsyncIterable<Buffer>): AsyncGenerator<AsyncGenerator<Buffer>> {
  const bytes = new ByteSource(body);
  for (;;) {
    const start = await bytes.peekLine(DATA.length + 2);
    if (start === undefined) return;
    const isData = start.subarray(0, DATA.length).equals(DATA);
    const first = start[DATA.length] === SPACE ? start[DATA.length + 1] : start[DATA.length];
    if (!isData || first !== BRACE) {
      for await (const _ of bytes.line()) continue;
      continue;
    }
    const event = eventOf(bytes);
    yield event;
    for await (const _ of event) continue;
  }
}

/** All data lines up to the empty line; JSON permits the line breaks between them. */
async function* eventOf(bytes: ByteSource): AsyncGenerator<Buffer> {
  for (;;) {
    const start = await bytes.peekLine(DATA.length);
    if (start === undefined || start.length === 0 || (start.length === 1 && start[0] === RETURN)) return;
    if (!start.equals(DATA)) {
      for await (const _ of bytes.line()) continue;
      continue;
    }
    bytes.skip(DATA.length);
    yield* bytes.line();
  }
}

/** Reads a body line by line without keeping a whole line in memory. */
class ByteSource {
  private readonly source: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);
  private ended = false;

  constructor(body: AsyncIterable<Buffer>) {
    this.source = body[Symbol.asyncIterator]();
  }

  /** The first bytes of the next line, fewer if it is shorter; undefined at the end of the body. */
  async peekLine(length: number): Promise<Buffer | undefined> {
    while (!this.ended && this.rest.length < length && !this.rest.includes(NEWLINE)) await this.more();
    if (this.rest.length === 0) return undefined;
    const end = this.rest.indexOf(NEWLINE);
    return this.rest.subarray(0, end === -1 ? length : Math.min(end, length));
  }

  skip(length: number): void {
    this.rest = this.rest.subarray(length);
  }

  /** The rest of the line in pieces, including its line break. */
  async *line(): AsyncGenerator<Buffer> {
    for (;;) {
      const end = this.rest.indexOf(NEWLINE);
      const piece = end === -1 ? this.rest : this.rest.subarray(0, end + 1);
      this.rest = this.rest.subarray(piece.length);
      if (piece.length > 0) yield piece;
      if (end !== -1 || this.ended) return;
      await this.more();
    }
  }

  private async more(): Promise<void> {
    const next = await this.source.next();
    if (next.done === true) this.ended = true;
    else this.rest = this.rest.length === 0 ? next.value : Buffer.concat([this.rest, next.value]);
  }
}
