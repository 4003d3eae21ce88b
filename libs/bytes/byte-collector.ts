import { joined } from './slices.js';

/** Pieces below this are copied together; a sender of single bytes would else cost a hundred times what it sends. */
const BLOCK_BYTES = 65_536;

/** Keeps what arrives in pieces, in at most one buffer per 32 KB however small the pieces are. */
export class ByteCollector {
  bytes = 0;
  private readonly parts: Buffer[] = [];
  private block: Buffer | undefined;
  private filled = 0;

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (piece.length >= BLOCK_BYTES / 2) {
      this.closeBlock();
      this.parts.push(piece);
      return;
    }
    if (this.filled + piece.length > BLOCK_BYTES) this.closeBlock();
    this.block ??= Buffer.allocUnsafe(BLOCK_BYTES);
    piece.copy(this.block, this.filled);
    this.filled += piece.length;
  }

  /** How many buffers hold it. */
  get buffers(): number {
    return this.parts.length + (this.block === undefined ? 0 : 1);
  }

  /** All of it in one buffer, copied in slices. */
  async joined(): Promise<Buffer> {
    return joined(this.pieces());
  }

  /** All of it in the buffers that hold it. */
  pieces(): readonly Buffer[] {
    this.closeBlock();
    return this.parts;
  }

  private closeBlock(): void {
    if (this.block !== undefined) this.parts.push(this.block.subarray(0, this.filled));
    this.block = undefined;
    this.filled = 0;
  }
}
