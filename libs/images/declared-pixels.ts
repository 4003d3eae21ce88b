import { readAvif } from './avif-boxes.js';
import { FileParts } from './file-parts.js';
import { FileWalk } from './file-walk.js';
import { ImageError } from './image-error.js';
import type { InputType } from './sniff.js';

interface DeclaredPixels {
  readonly width: number;
  readonly height: number;
}

type Reader = (head: Buffer) => DeclaredPixels | undefined;

/**
 * The width and height declared in an image's first bytes, read without a decoder; an orientation tag may swap them.
 * Undefined while there are too few bytes, or when they don't match the format.
 */
export function declaredPixels(head: Buffer, type: InputType): DeclaredPixels | undefined {
  return READERS[type](head);
}

const READERS: Record<InputType, Reader> = {
  png: pngPixels,
  jpeg: jpegPixels,
  webp: webpPixels,
  gif: gifPixels,
  avif: avifPixels,
};

function pngPixels(head: Buffer): DeclaredPixels | undefined {
  if (head.length < 24) return undefined;
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

function webpPixels(head: Buffer): DeclaredPixels | undefined {
  if (head.length < 30) return undefined;
  const chunk = head.toString('latin1', 12, 16);
  if (chunk === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8 ') return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  if (chunk !== 'VP8L') return undefined;
  const packed = head.readUInt32LE(21);
  return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 };
}

/** Of the whole animation: a frame may be larger, which only a decoder tells. */
function gifPixels(head: Buffer): DeclaredPixels | undefined {
  if (head.length < 10) return undefined;
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
}

function avifPixels(head: Buffer): DeclaredPixels | undefined {
  const parts = new FileParts();
  try {
    new FileWalk(readAvif(parts)).take(head);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
  }
  return parts.avif && { width: parts.avif.color.width, height: parts.avif.color.height };
}

/** Skips from segment to segment, up to the start of the frame. */
function jpegPixels(head: Buffer): DeclaredPixels | undefined {
  let offset = 2;
  while (offset + 9 <= head.length && head[offset] === 0xff) {
    const marker = head[offset + 1] ?? 0;
    if (marker === 0xff) offset += 1;
    else if (isFrame(marker)) return { width: head.readUInt16BE(offset + 7), height: head.readUInt16BE(offset + 5) };
    else offset += 2 + head.readUInt16BE(offset + 2);
  }
  return undefined;
}

/** SOF0 to SOF15, without the three markers in that range that are tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}
