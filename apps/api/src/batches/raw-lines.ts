const NEWLINE = 0x0a;

/** A line of a file, without its end; `text` is undefined if it is too long. */
export interface RawLine {
  /** From 1. */
  readonly line: number;
  readonly position: number;
  readonly bytes: number;
  readonly text: Buffer | undefined;
}

/** The lines of a file, as it is read. Holds one line, of up to `maxBytes`. */
export async function* rawLines(pieces: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<RawLine> {
  let line = 1;
  let position = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer): void => {
    bytes += part.length;
    if (bytes <= maxBytes) parts.push(part);
    else parts = [];
  };
  const end = (): RawLine => {
    const text = bytes <= maxBytes ? Buffer.concat(parts) : undefined;
    return { line, position, bytes, text };
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, from)) {
      take(piece.subarray(from, at));
      yield end();
      from = at + 1;
      position += bytes + 1;
      line++;
      parts = [];
      bytes = 0;
    }
    // A copy: the piece's memory may be used again.
    take(Buffer.from(piece.subarray(from)));
  }
  if (bytes > 0) yield end();
}
