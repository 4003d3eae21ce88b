import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x81;
const BINARY = 0x82;
const CLOSE = 0x08;

/** The server's end of a WebSocket; it only sends. */
export interface WebSocketPeer {
  send(message: string | Buffer): void;
  readonly isOpen: boolean;
  /** Closes the connection without a close frame. */
  drop(): void;
}

/** Accepts an upgrade as in RFC 6455, without extensions; with `isPolite` false, it never responds to a close frame. */
export function acceptWebSocket({ headers }: IncomingMessage, socket: Duplex, isPolite = true): WebSocketPeer {
  const accept = createHash('sha1')
    .update(`${headers['sec-websocket-key'] ?? ''}${GUID}`)
    .digest('base64');
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
  // Ignores all messages except a close frame.
  socket.on('data', (data: Buffer) => {
    if (isPolite && ((data[0] ?? 0) & 0x0f) === CLOSE) socket.end(Buffer.from([0x80 | CLOSE, 0]));
  });
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  return {
    get isOpen() {
      return !socket.closed;
    },
    send: (message) => {
      const bytes = Buffer.from(message);
      const length = Buffer.alloc(bytes.length < 126 ? 2 : bytes.length < 65_536 ? 4 : 10);
      length[0] = typeof message === 'string' ? TEXT : BINARY;
      if (bytes.length < 126) length[1] = bytes.length;
      else if (bytes.length < 65_536) {
        length[1] = 126;
        length.writeUInt16BE(bytes.length, 2);
      } else {
        length[1] = 127;
        length.writeBigUInt64BE(BigInt(bytes.length), 2);
      }
      socket.write(Buffer.concat([length, bytes]));
    },
    drop: () => socket.destroy(),
  };
}
