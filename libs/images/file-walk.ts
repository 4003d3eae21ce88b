/** Scans bytes for a position: returns how many bytes it passed, and whether it found the position. */
type Search = (bytes: Buffer) => { readonly passed: number; readonly found: boolean };

/** Is shown bytes that are passed, piece by piece. */
type Look = (bytes: Buffer) => void;

type Step =
  { readonly read: number } | { readonly skip: number; readonly look: Look | undefined } | { readonly search: Search };

/** The requested bytes, and the offset after them. */
interface Answer {
  readonly bytes: Buffer;
  readonly offset: number;
}

/** Reads a file from its first byte by requesting the next few bytes, however the file is split into pieces. */
export type FileReader = FileReading<void>;
/** One part of a file's reader, which returns what it found. */
export type FileReading<Found> = Generator<Step, Found, Answer>;

const NOTHING = Buffer.alloc(0);

/** Requests up to about forty bytes. */
export function* read(bytes: number): Generator<Step, Answer, Answer> {
  return yield { read: bytes };
}

/** Skips any number of bytes without collecting them; returns the offset after them. */
export function* skip(bytes: number, look?: Look): Generator<Step, number, Answer> {
  return (yield { skip: bytes, look }).offset;
}

/** Returns the offset of the position. Bytes that the search did not pass are presented again, followed by more. */
export function* search(look: Search): Generator<Step, number, Answer> {
  return (yield { search: look }).offset;
}

/** Feeds a file to its reader piece by piece. A piece costs at most one step per byte, and no memory. */
export class FileWalk {
  private readonly reader: FileReader;
  private asked: IteratorResult<Step, void>;
  private rest: Buffer = NOTHING;
  private offset = 0;
  private skipped = 0;

  constructor(reader: FileReader) {
    this.reader = reader;
    this.asked = reader.next();
  }

  /** Whether the reader has reached the end of the image; later bytes are ignored. */
  get ended(): boolean {
    return this.asked.done === true;
  }

  /** Throws what the reader throws. */
  take(piece: Buffer): void {
    let bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    while (this.asked.done !== true) {
      const { passed, done } = this.pass(this.asked.value, bytes);
      this.offset += passed;
      const passedBytes = bytes.subarray(0, passed);
      bytes = bytes.subarray(passed);
      if (!done) break;
      this.skipped = 0;
      this.asked = this.reader.next({ bytes: passedBytes, offset: this.offset });
    }
    this.rest = this.ended ? NOTHING : bytes;
  }

  private pass(step: Step, bytes: Buffer): { passed: number; done: boolean } {
    if ('read' in step) {
      const done = bytes.length >= step.read;
      return { passed: done ? step.read : 0, done };
    }
    if ('skip' in step) {
      const passed = Math.min(step.skip - this.skipped, bytes.length);
      this.skipped += passed;
      step.look?.(bytes.subarray(0, passed));
      return { passed, done: this.skipped === step.skip };
    }
    const { passed, found } = step.search(bytes);
    return { passed, done: found };
  }
}
