import { PassThrough, type Readable } from 'node:stream';

/** How often a silent stream says that it is alive, so that no proxy on the way gives it up. */
const PING_MS = 15_000;

/** Server-sent events to one caller. A caller that reads slowly gets the latest event instead of all of them. */
export class EventStream {
  private readonly output = new PassThrough();
  private readonly ping: NodeJS.Timeout;
  private held: string | undefined;

  /** `onClose` is called once, when the stream has ended or its caller has left. */
  constructor(onClose: () => void) {
    this.ping = setInterval(() => {
      if (!this.output.writableNeedDrain) this.output.write(': ping\n\n');
    }, PING_MS);
    this.output.on('error', () => undefined);
    this.output.on('drain', () => {
      this.flush();
    });
    this.output.once('close', () => {
      clearInterval(this.ping);
      onClose();
    });
  }

  /** What is sent as the body of the answer; destroy it when the caller has left. */
  get body(): Readable {
    return this.output;
  }

  /** `data` is sent as JSON. */
  send(event: string, data: unknown): void {
    if (this.output.writableEnded) return;
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    if (this.output.writableNeedDrain) this.held = text;
    else this.output.write(text);
  }

  /** Nothing is sent after this; what is on its way still arrives. */
  end(): void {
    this.flush();
    clearInterval(this.ping);
    this.output.end();
  }

  private flush(): void {
    if (this.held === undefined || this.output.writableEnded) return;
    const text = this.held;
    this.held = undefined;
    this.output.write(text);
  }
}
