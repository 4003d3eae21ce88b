import type { BodyReservation } from './body-memory.js';

const FIRST_BYTES = 4_096;
/** Larger buffers are reserved address space, which grows and shrinks in place. */
const LARGE_BYTES = 65_536;
/**
 * Once a body has received this many bytes, its announced size is reserved at once: of several concurrent bodies, some
 * then complete instead of none.
 */
const WHOLE_BYTES = 1_048_576;
/** Released per step, because returning memory to the system takes time. */
const FREED_BYTES = 8_388_608;
const EMPTY: Buffer = Buffer.alloc(0);

/**
 * The bytes of one body in a single growing buffer, so that many tiny chunks cost no more than their bytes. A large
 * buffer grows in place without copying, and its memory returns to the system as soon as it is freed, without waiting
 * for the garbage collector.
 */
export class BodyBytes {
  private buffer = EMPTY;
  private space: ArrayBuffer | undefined;
  private size = 0;
  /** Bytes reserved so far; at least the buffer's size. */
  private held = 0;
  private users = 0;
  private isOver = false;

  /** `limit`: maximum size in bytes; `announced`: expected size, 0 when unknown. */
  constructor(
    private readonly limit: number,
    private readonly announced: number,
    private readonly hold: BodyReservation,
  ) {}

  /** Bytes received so far. */
  get length(): number {
    return this.size;
  }

  /** The buffer; its content after `length` is undefined. Replaced when it grows. */
  get room(): Buffer {
    return this.buffer;
  }

  /** The received bytes. Empty once freed. */
  get whole(): Buffer {
    return this.buffer.subarray(0, this.size);
  }

  /** Throws AppError `server_is_overloaded` before it stores bytes that exceed the memory for bodies. */
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

  /** Releases the memory, after the last `during` ends. Views of it are empty then. */
  free(): void {
    this.isOver = true;
    if (this.users > 0) return;
    const { space } = this;
    this.buffer = EMPTY;
    this.size = 0;
    this.space = undefined;
    if (space === undefined) this.hold.release();
    else this.shrink(space);
  }

  /** Keeps the bytes until the work ends, even when they are freed meanwhile. */
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
    if (space.byteLength === 0) this.hold.release();
    else setImmediate(() => this.shrink(space));
  }

  private account(bytes: number): void {
    if (bytes > this.held) this.hold.reserve(bytes - this.held);
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
