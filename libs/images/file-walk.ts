/** Passes over what it is given until the place it looks for: how many bytes, and whether that is the place. */
type Search = (bytes: Buffer) => { readonly passed: number; readonly found: boolean };

type Step = { readonly read: number } | { readonly skip: number } | { readonly search: Search };

/** The bytes that were asked for, and where the file goes on after them. */
interface Answer {
  readonly bytes: Buffer;
  readonly offset: number;
}

/** Reads a file from its first byte on by asking for the next few of them, wherever they are cut into pieces. */
export type FileReader = FileReading<void>;
/** A part of that, which answers with what it found. */
export type FileReading<Found> = Generator<Step, Found, Answer>;

const NOTHING = Buffer.alloc(0);

/** Up to some forty bytes, to be looked at. */
export function* read(bytes: number): Generator<Step, Answer, Answer> {
  return yield { read: bytes };
}

/** However many, unseen; answers where the file goes on. */
export function* skip(bytes: number): Generator<Step, number, Answer> {
  return (yield { skip: bytes }).offset;
}

/** Answers the offset of the place. What a search leaves unpassed it is shown again, with what follows. */
export function* search(look: Search): Generator<Step, number, Answer> {
  return (yield { search: look }).offset;
}

/** Hands a file to its reader piece by piece. One piece costs at most a step for each of its bytes, and no memory. */
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

  /** The reader has seen the end of the image; what follows is of no interest. */
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
      return { passed, done: this.skipped === step.skip };
    }
    const { passed, found } = step.search(bytes);
    return { passed, done: found };
  }
}
