import pg from 'pg';

/** What the driver's types leave out. */
interface Cancelable {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly sslNegotiation?: string;
}
interface CancelConnection extends pg.Connection {
  /** A port and its host, or the path of a socket. */
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}
type Query = (...args: unknown[]) => unknown;
type Callback = (error: Error | null, ...result: unknown[]) => void;

/** The driver's error when a statement takes longer than `query_timeout`; it has no code. */
const TIMED_OUT = 'Query read timeout';
/** How long Postgres may take to accept a cancel request, in ms. */
const CANCEL_MS = 2_000;

/**
 * A connection that ends with the statement that it gives up. The driver only stops waiting: Postgres would keep the
 * session until it notices, which is never while a commit waits for a synchronous standby, and sessions of given-up
 * statements would reach `max_connections`. The server is asked to cancel the statement before the connection closes,
 * because a pooler knows what to cancel only as long as the connection is open.
 */
export class CancelingClient extends pg.Client {
  private canceled: Promise<void> | undefined;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // A broken connection is an error of its statement, and of its pool when it is idle; without a listener, the event
    // would end the process, for example during a transaction.
    this.on('error', () => undefined);
  }

  /** The type is that of `super.query`, whose overloads can't be written as one signature. */
  override query(...args: unknown[]): never {
    const query = Reflect.get(pg.Client.prototype, 'query') as Query;
    const callback = args.at(-1);
    if (typeof callback === 'function') {
      const settle: Callback = (error, ...result) => {
        this.settled(error);
        (callback as Callback)(error, ...result);
      };
      return query.call(this, ...args.slice(0, -1), settle) as never;
    }
    const answer = query.apply(this, args);
    if (answer instanceof Promise) answer.catch((error: unknown) => this.settled(error));
    return answer as never;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const ended = this.canceled === undefined ? super.end() : this.canceled.then(() => super.end());
    if (callback === undefined) return ended;
    const call = callback as (error?: Error) => void;
    void ended.then(() => call(), call);
    return undefined;
  }

  private settled(error: unknown): void {
    if (!(error instanceof Error) || error.message !== TIMED_OUT || this.canceled !== undefined) return;
    this.canceled = this.cancel();
    // Rejects further statements of a transaction, and keeps the pool from giving this connection to anybody else.
    Object.assign(this, { _ending: true });
    void this.end();
  }

  /** Never fails: a server that can't be reached will notice by itself that the connection is closed. */
  private async cancel(): Promise<void> {
    const { processID, secretKey, sslNegotiation } = this as unknown as Cancelable;
    if (processID === null || secretKey === null) return;
    const config = { ssl: this.ssl, sslNegotiation };
    const connection = new pg.Connection(config) as CancelConnection;
    const send = (): void => connection.cancel(processID, secretKey);
    connection.on('sslconnect', send);
    if (!this.ssl) connection.on('connect', send);
    else if (sslNegotiation !== 'direct') connection.on('connect', () => connection.requestSsl());
    let timeout: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timeout = setTimeout(resolve, CANCEL_MS);
      connection.on('error', () => resolve());
      connection.on('end', () => resolve());
      if (this.host.startsWith('/')) connection.connect(`${this.host}/.s.PGSQL.${this.port}`);
      else connection.connect(this.port, this.host);
    });
    clearTimeout(timeout);
    connection.stream.destroy();
  }
}

/** Closes a connection at once, without a word to its server. */
export function cutOff(client: pg.Client): void {
  (client as unknown as { readonly connection: pg.Connection }).connection.stream.destroy();
}
