import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * What happens to the data of a connection.
 * - `pass`: everything is forwarded
 * - `black-hole`: nothing is forwarded either way, not even a close; afterwards everything is, as TCP would retransmit it
 * - `mute`: requests are forwarded, responses wait as in a black hole
 * - `reset`: open and new connections are reset
 * - `half-open`: the far end sees the connection close, and the near end never receives anything again
 * - `holdAfter`: so many more requests of all connections, or `answers`, are forwarded, then everything of that way waits
 *   as in a black hole: a stall between two statements
 * - `delayMs`, `bytesPerSecond`: late, slow, both ways
 * - `cutAfter`: both ends are reset after this many bytes of the response
 * - `stallAfter`: after this many bytes, the rest of the response never arrives
 * - `answer`: the proxy itself sends this text to every request, and closes
 */
export type Fault =
  | 'pass'
  | 'black-hole'
  | 'mute'
  | 'reset'
  | 'half-open'
  | { readonly holdAfter: number; readonly way: Way }
  | { readonly delayMs: number }
  | { readonly bytesPerSecond: number }
  | { readonly cutAfter: number }
  | { readonly stallAfter: number }
  | { readonly answer: string };

/** From whom data comes. */
type Way = 'request' | 'answer';

/** An HTTP response for the fault `answer`. */
export function httpAnswer(status: number, body = '', type = 'text/html'): { readonly answer: string } {
  const head = `HTTP/1.1 ${status} Fault\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return { answer: `${head}connection: close\r\n\r\n${body}` };
}

const PIECES_PER_SECOND = 20;

/** A TCP proxy on a free port of this machine, in front of one server. Its fault can change at any time. */
export class FaultProxy {
  /** Number of connections so far. */
  count = 0;
  /** The fault is over with this connection, which counts from 1: whoever sets it may be too slow to end it in time. */
  passFrom = Infinity;
  private readonly links = new Set<Link>();
  private readonly server: Server = createServer({ allowHalfOpen: true }, (near) => this.accept(near));
  private current: Fault = 'pass';
  /** Chunks since the fault was set, of all connections. */
  private readonly carried = { request: 0, answer: 0 };

  private constructor(
    private target: URL,
    /** The faults of the first connections, each for its whole life. */
    private readonly fates: readonly Fault[],
  ) {}

  static async start(target: string, fates: readonly Fault[] = []): Promise<FaultProxy> {
    const proxy = new FaultProxy(new URL(target), fates);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  /** The target's URL with this proxy's host and port. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href.replace(/\/$/, '');
  }

  get open(): number {
    return this.links.size;
  }

  get fault(): Fault {
    return this.current;
  }

  /** Applies to all connections without their own fault, including open ones. */
  set fault(fault: Fault) {
    this.current = fault;
    this.carried.request = this.carried.answer = 0;
    for (const link of this.links) link.suffer(fault);
  }

  /** Changes the target of new connections, like a DNS change; open ones keep theirs. */
  moveTo(target: string): void {
    this.target = new URL(target);
  }

  /** Resets every open connection; new ones are not affected. */
  cut(): void {
    for (const link of this.links) link.reset();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(near: Socket): void {
    const fate = this.fates[this.count++];
    if (this.count >= this.passFrom) {
      this.passFrom = Infinity;
      this.fault = 'pass';
    }
    const link = new Link(near, this.target, fate ?? this.current, fate !== undefined, this.carried, () =>
      this.links.delete(link),
    );
    this.links.add(link);
    link.suffer(fate ?? this.current);
  }
}

/** One connection through the proxy. */
class Link {
  private readonly far: Socket;
  private readonly changes = new EventEmitter();
  private answered = 0;
  private over = false;

  constructor(
    private readonly near: Socket,
    target: URL,
    private fault: Fault,
    private readonly fixed: boolean,
    private readonly carried: Record<Way, number>,
    forget: () => void,
  ) {
    this.far = connect({ host: target.hostname, port: Number(target.port || 80), allowHalfOpen: true });
    for (const socket of [near, this.far]) socket.on('error', () => undefined);
    void Promise.all([this.pump(near, this.far, 'request'), this.pump(this.far, near, 'answer')]).then(forget);
  }

  suffer(fault: Fault): void {
    if (!this.fixed) this.fault = fault;
    if (this.fault === 'reset') this.reset();
    if (this.fault === 'half-open') this.far.destroy();
    this.changes.emit('change');
  }

  reset(): void {
    this.over = true;
    reset(this.near);
    reset(this.far);
    this.changes.emit('change');
  }

  private async pump(from: Socket, to: Socket, way: Way): Promise<void> {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) await this.carry(chunk, to, way);
      await this.whileHeld(way);
      to.end();
    } catch {
      // A reset at one end becomes a reset at the other, once the fault lets it through.
      await this.whileHeld(way);
      reset(to);
    }
  }

  private async carry(chunk: Buffer, to: Socket, way: Way): Promise<void> {
    await this.whileHeld(way);
    this.carried[way]++;
    const { fault } = this;
    if (typeof fault === 'string' || 'holdAfter' in fault) return await write(to, chunk);
    if ('answer' in fault) return void this.near.end(fault.answer);
    if ('delayMs' in fault) await delay(fault.delayMs);
    else if ('bytesPerSecond' in fault) return await this.trickle(chunk, to, fault.bytesPerSecond);
    else if (way === 'answer') return await this.limited(chunk, to, fault);
    await write(to, chunk);
  }

  private async limited(
    chunk: Buffer,
    to: Socket,
    fault: { readonly cutAfter: number } | { readonly stallAfter: number },
  ): Promise<void> {
    const limit = 'cutAfter' in fault ? fault.cutAfter : fault.stallAfter;
    const allowed = chunk.subarray(0, Math.max(0, limit - this.answered));
    this.answered += chunk.length;
    await write(to, allowed);
    if (this.answered > limit && 'cutAfter' in fault) this.reset();
  }

  private async trickle(chunk: Buffer, to: Socket, bytesPerSecond: number): Promise<void> {
    const size = Math.max(1, Math.round(bytesPerSecond / PIECES_PER_SECOND));
    for (let start = 0; start < chunk.length && !to.destroyed; start += size) {
      await write(to, chunk.subarray(start, start + size));
      await delay(1_000 / PIECES_PER_SECOND);
    }
  }

  /** Waits until data may pass this way. Data sent before a close still arrives. */
  private async whileHeld(way: Way): Promise<void> {
    while (!this.over && this.leases(way)) await once(this.changes, 'change');
  }

  private leases(way: Way): boolean {
    if (this.fault === 'mute') return way === 'answer';
    if (typeof this.fault === 'object' && 'holdAfter' in this.fault)
      return this.fault.way === way && this.carried[way] >= this.fault.holdAfter;
    return this.fault === 'black-hole' || (this.fault === 'half-open' && way === 'answer');
  }
}

/** Waits until the data is written, so that a slow reader slows its sender down. */
function write(to: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (to.destroyed || bytes.length === 0) resolve();
    else to.write(bytes, () => resolve());
  });
}

/** Node never closes a reset socket while data is still being written, so those are destroyed. */
function reset(socket: Socket): void {
  if (socket.connecting || socket.writableEnded || socket.writableLength > 0) socket.destroy();
  else socket.resetAndDestroy();
}
