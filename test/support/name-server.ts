import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const RECORD_SECONDS = 1;
const TYPES = { A: 1, AAAA: 28 } as const;
const NO_SUCH_NAME = 3;

/** A name server like Docker's, on this machine: the same IPv4 addresses for all names, which can change at any time. */
export interface NameServer {
  readonly port: number;
  /** None: no name exists. */
  addresses: readonly string[];
  /** Whether it leaves all questions unanswered. */
  silent: boolean;
  /** Whether it leaves questions for IPv6 addresses unanswered. */
  silentForIpv6: boolean;
  /** How many questions for IPv6 addresses it got. */
  askedForIpv6: number;
  /** The names it was asked for. */
  readonly asked: ReadonlySet<string>;
  stop(): void;
}

/** Starts on a free UDP port. */
export async function startNameServer(addresses: readonly string[]): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked = new Set<string>();
  const server: NameServer = {
    port: 0,
    addresses,
    silent: false,
    silentForIpv6: false,
    askedForIpv6: 0,
    asked,
    stop: () => socket.close(),
  };
  socket.on('message', (query, { port, address }) => {
    asked.add(nameIn(query));
    const isForIpv6 = typeIn(query) === TYPES.AAAA;
    if (isForIpv6) server.askedForIpv6 += 1;
    const isSilent = server.silent || (isForIpv6 && server.silentForIpv6);
    if (!isSilent) socket.send(answer(query, server.addresses), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return Object.assign(server, { port: socket.address().port });
}

/** RFC 1035, section 3.1: labels, each after its length. */
function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at] !== 0; at += query.readUInt8(at) + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query.readUInt8(at)));
  return labels.join('.').toLowerCase();
}

/** After the name and the byte that ends it. */
function typeIn(query: Buffer): number {
  return query.readUInt16BE(query.indexOf(0, 12) + 1);
}

/** RFC 1035, section 4: the question, followed by its answers. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  const end = query.indexOf(0, 12) + 5;
  const found = typeIn(query) === TYPES.A ? addresses : [];
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (addresses.length === 0 ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(found.length, 6);
  return Buffer.concat([header, query.subarray(12, end), ...found.map(record)]);
}

/** An address record for the name at byte 12. */
function record(address: string): Buffer {
  const head = Buffer.from([0xc0, 12, 0, TYPES.A, 0, 1, 0, 0, 0, RECORD_SECONDS, 0, 4]);
  return Buffer.concat([head, Buffer.from(address.split('.').map(Number))]);
}
