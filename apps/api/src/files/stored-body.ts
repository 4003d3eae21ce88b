import type { FastifyReply } from 'fastify';
import type { Readable } from 'node:stream';
import type { StoredObject } from '#storage/object-store.js';
import { pacedBody, type Room } from '../common/paced-body.js';

/** Bytes of an object that are read and sent at a time. */
const PIECE_BYTES = 393_216;

/** An object as the body of a response. */
export function storedBody({ bytes, read, stream }: StoredObject, reply: FastifyReply): Readable {
  const make = async function* (room: Room): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0;) {
      const piece = room(Math.min(PIECE_BYTES, left));
      left -= await read(piece);
      yield piece;
    }
  };
  return pacedBody({ length: bytes, passage: reply.raw, make, close: () => void stream.destroy() });
}
