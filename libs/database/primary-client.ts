import pg from 'pg';
import { CancelingClient, cutOff } from './canceling-client.js';
import { isDatabaseUnavailable } from './database-errors.js';

/** Where a server listens, and whether it only copies another one. */
interface Server {
  readonly host: string;
  readonly port: number;
  readonly isStandby: boolean;
}

/** A server as its host sees it; `host` includes the port. */
export interface ServerState {
  readonly host: string;
  readonly acceptsWrites: boolean;
  readonly problem: unknown;
}

/** Postgres' code for "not now"; callers are told to try again. */
const STANDBY = '57P03';

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * The class of connections to a database. With several servers, each connection goes to the one that accepts writes, as
 * libpq does with target_session_attrs=read-write; the driver itself would only try the first. Which one it is, is
 * remembered until a connection to it fails. A connection is rejected with Postgres' code 57P03 while no server accepts
 * writes, so that callers are told to try again.
 */
export function primaryClient(urls: readonly string[], timeoutMs: number): typeof pg.Client {
  if (urls.length === 1) return CancelingClient;
  const primary = new Primary(urls, timeoutMs);
  return class PrimaryClient extends CancelingClient {
    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connected = this.toPrimary();
      if (callback === undefined) return connected;
      const call = callback as (error: Error | null, client?: pg.Client) => void;
      connected.then((client) => call(null, client), call);
      return undefined;
    }

    private async toPrimary(): Promise<pg.Client> {
      const { host, port } = await primary.find();
      Object.assign(this, { host, port });
      try {
        await super.connect();
        if (await isStandby(this)) throw acceptsNoWrites();
      } catch (error) {
        primary.forget();
        // A pool forgets a client that failed to connect, but leaves a connection to a standby open.
        void this.end().catch(() => undefined);
        throw error;
      }
      return this;
    }
  };
}

class Primary {
  private found: Promise<Server> | undefined;

  constructor(
    private readonly urls: readonly string[],
    private readonly timeoutMs: number,
  ) {}

  async find(): Promise<Server> {
    this.found ??= Promise.any(this.urls.map(async (url) => accepting(await askServer(url, this.timeoutMs))));
    try {
      return await this.found;
    } catch (error) {
      this.forget();
      throw error instanceof AggregateError ? ofAll(this.urls, error.errors) : error;
    }
  }

  forget(): void {
    this.found = undefined;
  }
}

/** What each server is; `problem` is why it can't be reached within the time. Never throws. */
export async function readServers(urls: readonly string[], timeoutMs: number): Promise<ServerState[]> {
  return await Promise.all(
    urls.map(async (url) => {
      const { host } = new URL(url);
      return await askServer(url, timeoutMs).then(
        (server) => ({ host, acceptsWrites: !server.isStandby, problem: undefined }),
        (error: unknown) => ({ host, acceptsWrites: false, problem: error }),
      );
    }),
  );
}

/** Connects to the server of a URL, only to learn what it is. Throws when it can't be reached within the time. */
async function askServer(url: string, timeoutMs: number): Promise<Server> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return { host: client.host, port: client.port, isStandby: await isStandby(client) };
  } finally {
    // Not waited for: a server that is cut off now would never close it, and every other connection waits for this answer.
    const closing = setTimeout(() => cutOff(client), timeoutMs).unref();
    void client
      .end()
      .catch(() => undefined)
      .finally(() => clearTimeout(closing));
  }
}

/** The first error that means "not now", if there is one, with the reason of every server. */
function ofAll(urls: readonly string[], errors: readonly Error[]): Error {
  const reasons = errors.map(({ message }, index) => `${new URL(urls[index] ?? '').host}: ${message}`);
  const chosen = errors.find(isDatabaseUnavailable) ?? errors[0];
  return Object.assign(new Error(reasons.join('; ')), chosen);
}

async function isStandby(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  return rows[0]?.standby !== false;
}

function accepting(server: Server): Server {
  if (server.isStandby) throw acceptsNoWrites();
  return server;
}

function acceptsNoWrites(): Error {
  return Object.assign(new Error('the server is a standby, which accepts no writes'), { code: STANDBY });
}
