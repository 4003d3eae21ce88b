import type { BodyHold } from './body-memory.js';

const FIRST_BYTES = 4_096;
/** Larger buffers are parts of address space that are filled and given back in place. */
const LARGE_BYTES = 65_536;
/** A body that has brought so many bytes is accounted whole, so that of several in step the first get in, not none. */
const WHOLE_BYTES = 1_048_576;
/** Given back at a time: the system's part of it takes its time. */
const FREED_BYTES = 8_388_608;
const EMPTY: Buffer = Buffer.alloc(0);

/**
 * The bytes of one body in one buffer that grows with them. Of many tiny pieces nothing is kept but their bytes. A large
 * one grows in place, so that it is never copied, and its memory goes back to the system the moment it is given
 * back, not when a collector happens to run.
 */
export class BodyBytes {
  private buffer = EMPTY;
  private space: ArrayBuffer | undefined;
  private size = 0;
  /** Bytes that were accounted, at least those of the buffer. */
  private held = 0;
  private users = 0;
  private isOver = false;

  /** `limit`: most bytes it takes; `announced`: how many will come, 0 when nobody said. */
  constructor(
    private readonly limit: number,
    private readonly announced: number,
    private readonly hold: BodyHold,
  ) {}

  /** Bytes that have come. */
  get length(): number {
    return this.size;
  }

  /** The buffer; its bytes after `length` mean nothing. It is replaced when it grows. */
  get room(): Buffer {
    return this.buffer;
  }

  /** All bytes. Empty once they were given back. */
  get whole(): Buffer {
    return this.buffer.subarray(0, this.size);
  }

  /** Throws AppError `server_is_overloaded` before it keeps what does not fit into the memory for bodies. */
  append(chunk: Buffer): void {
    if (this.size === 0 && chunk.length === this.announced && chunk.length <= LARGE_BYTES) {
      this.account(chunk.length);
      this.buffer = chunk;
    } else {
      if (this.size + chunk.length > this.buffer.length) this.grow(this.size + chunk.length);
      this.buffer.set(chunk, this.size);
    }
    this.size += chunk.length;
  }

  /** Gives the memory back, when the last work that uses it ends. Whoever still has a part then finds it empty. */
  free(): void {
    this.isOver = true;
    if (this.users > 0) return;
    const { space } = this;
    this.buffer = EMPTY;
    this.size = 0;
    this.space = undefined;
    if (space === undefined) this.hold.give();
    else this.shrink(space);
  }

  /** Keeps the bytes while they are used, whoever gives them back meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.users++;
    try {
      return await work();
    } finally {
      this.users--;
      if (this.isOver) this.free();
    }
  }

  private shrink(space: ArrayBuffer): void {
    space.resize(Math.max(0, space.byteLength - FREED_BYTES));
    if (space.byteLength === 0) this.hold.give();
    else setImmediate(() => this.shrink(space));
  }

  private account(bytes: number): void {
    if (bytes > this.held) this.hold.take(bytes - this.held);
    this.held = Math.max(this.held, bytes);
  }

  private grow(needed: number): void {
    const most = this.announced >= needed ? this.announced : this.limit;
    const capacity = Math.max(needed, Math.min(Math.max(FIRST_BYTES, 2 * this.buffer.length), most));
    this.account(needed > WHOLE_BYTES ? Math.max(capacity, most === this.announced ? most : 0) : capacity);
    const before = this.buffer;
    if (capacity <= LARGE_BYTES) {
      this.buffer = Buffer.allocUnsafeSlow(capacity);
    } else if (this.space === undefined) {
      this.space = new ArrayBuffer(capacity, { maxByteLength: Math.max(capacity, this.limit) });
      this.buffer = Buffer.from(this.space, 0, capacity);
    } else {
      this.space.resize(capacity);
      this.buffer = Buffer.from(this.space, 0, capacity);
      return;
    }
    this.buffer.set(before.subarray(0, this.size));
  }
}
