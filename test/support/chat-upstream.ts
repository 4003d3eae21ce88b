import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A call received by the upstream. */
interface ReceivedChat {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Resolves when the connection closes before the response has ended. */
  readonly aborted: Promise<void>;
}

type Script = (response: ServerResponse, request: ReceivedChat) => void | Promise<void>;

/** A server whose chat responses the test defines. */
export interface ChatUpstream {
  /** Ends with /v1. */
  readonly url: string;
  readonly received: ReceivedChat[];
  /** Its response from now on. */
  answer: Script;
  close(): Promise<void>;
}

/** Starts an upstream; until set otherwise, it responds with 500. */
export async function startChatUpstream(): Promise<ChatUpstream> {
  const received: ReceivedChat[] = [];
  const upstream = {
    url: '',
    received,
    answer: ((response) => void response.writeHead(500).end()) as Script,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => {
    void read(request).then(async (body) => {
      const aborted = new Promise<void>((resolve) => {
        response.once('close', () => {
          if (!response.writableFinished) resolve();
        });
      });
      const call = { path: request.url ?? '', headers: request.headers, body, aborted };
      received.push(call);
      await upstream.answer(response, call);
    });
  });
  // Kept for longer than a busy machine needs from one call to the next.
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return upstream;
}

/** Responds with JSON. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Script {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

/** The same response, this much later. */
export function late(ms: number, script: Script): Script {
  return async (response, request) => {
    await delay(ms);
    await script(response, request);
  };
}

/** Streams the given pieces, each in its own turn of the event loop. */
export function pieces(texts: readonly string[], headers: Record<string, string> = {}): Script {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    for (const text of texts) {
      response.write(text);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}

/** One event of a stream. */
export function event(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
